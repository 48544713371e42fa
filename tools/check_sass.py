"""Checks the machine code of every kernel in libhopper_gemm.so: does each schedule really do what its name says?

    python tools/check_sass.py hopper_gemm/lib/libhopper_gemm.so

Needs cuobjdump with nvdisasm beside it or on PATH (pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm).
Exit status: 0 all well, 1 findings, 2 no cuobjdump or no kernels.
"""

import argparse
import fnmatch
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from ptxas_gate import kernel_name

INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(@!?U?P\w+\s+)?([A-Z][\w.]*)([^;]*);")
NAME = re.compile(r"(\w+?)_(\w+?)_(?:f32|f16|s32)_[tn]{2}_(\d+)x(\d+)x(\d+)_c(\d+)x(\d+)_s\d+_(multistage|tma|warp_specialized|cooperative|pingpong)_(tma|direct)")
SUMS = re.compile(r"SliceSumI.*OutputOrderE\dELi(\d+)E")  # slices that are loaded together, by a thread of four elements
HELPER = re.compile(r"pack_kernel|add_slices_kernel")  # kernels that multiply nothing; not of the manifest, not counted
# The opcode of a wgmma, and how it names its types.
FLOATS, FP8, INTEGERS = "HGMMA", "QGMMA", "IGMMA"
MMA = {"bf16": FLOATS, "f16": FLOATS, "tf32": FLOATS, "e4m3": FP8, "e5m2": FP8, "s8": INTEGERS, "u8": INTEGERS}
TYPE_WORDS = {"bf16": ".BF16", "tf32": ".TF32", "e4m3": ".E4M3", "e5m2": ".E5M2", "s8": ".S8", "u8": ".U8"}
PROMOTED = re.compile(r"_(tma|direct)_p\d+")
HALVED = 208  # a promoting kernel of more columns multiplies them in halves (core/config.h: halves_columns)
TARGET = re.compile(r"0x([0-9a-f]+)\s*$")


def find_cuobjdump():
    """PATH, beside nvcc, or pip's wheels; None if there is none."""
    wheels = (Path(place) / "nvidia" / "cu13" / "bin" for place in sys.path)
    homes = (Path(os.environ[v]) / "bin" for v in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(v))
    folders = [*homes, Path("/usr/local/cuda/bin"), *wheels]
    return shutil.which("cuobjdump") or shutil.which("cuobjdump", path=os.pathsep.join(map(str, folders)))


def functions(lines):
    """Yields (kernel name, [(address, opcode, predicated, operands)]) of a `cuobjdump -sass` listing."""
    name, code = None, []
    for line in lines:
        if "Function :" in line:
            if name:
                yield name, code
            name, code = kernel_name(line.split(":", 1)[1].strip()), []
        elif match := INSTRUCTION.match(line):
            address, predicate, opcode, operands = match.groups()
            code.append((int(address, 16), opcode, predicate is not None, operands))
    if name:
        yield name, code


def successors(code):
    """Indices that may run after each instruction. Convergence barriers (BSSY, BSYNC) fall through."""
    index = {address: i for i, (address, *_) in enumerate(code)}
    edges = []
    for i, (_, opcode, predicated, operands) in enumerate(code):
        base = opcode.split(".")[0]
        target = TARGET.search(operands) if base in ("BRA", "BSSY", "CALL") else None
        following = [index[int(target.group(1), 16)]] if target and int(target.group(1), 16) in index else []
        conditional = predicated or base != "BRA" or "." in opcode or "P" in operands.split("0x")[0]
        leaves = base in ("EXIT", "RET", "BRX", "JMX") and not predicated
        if not leaves and conditional and i + 1 < len(code):
            following.append(i + 1)
        edges.append(following)
    return edges


def loops(code):
    """Strongly connected parts with a cycle: sets of instruction indices (Tarjan, without recursion)."""
    edges, order, low, place, on_stack, stack, found = successors(code), {}, {}, {}, set(), [], []
    for root in range(len(code)):
        work = [(root, iter(edges[root]))] if root not in order else []
        while work:
            node, rest = work[-1]
            if node not in order:
                order[node] = low[node] = len(order)
                place[node] = len(stack)
                stack.append(node)
                on_stack.add(node)
            for after in rest:
                if after not in order:
                    work.append((after, iter(edges[after])))
                    break
                if after in on_stack:
                    low[node] = min(low[node], order[after])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    start = place[node]
                    part = set(stack[start:])
                    del stack[start:]
                    on_stack -= part
                    if len(part) > 1:
                        found.append(part)
    return found


def _waits_between_loads(code, at_once):
    opcodes = [opcode.split(".")[0] for _, opcode, _, _ in code]
    loads = opcodes[: opcodes.index("FADD")].count("LDG") if "FADD" in opcodes else 0
    return [] if loads == 4 * at_once else [f"{loads} loads before the first sum, expected those of {at_once} slices: 4 each"]


def findings(name, code):
    """Sentences about one kernel; empty if its code does what its name says."""
    match = NAME.search(name)
    if HELPER.search(name):
        texts = [] if any(opcode == "ACQBULK" for _, opcode, _, _ in code) else ["lacks ACQBULK (griddepcontrol.wait)"]
        return texts + ([] if (sums := SUMS.search(name)) is None else _waits_between_loads(code, int(sums.group(1))))
    if match is None:
        return ["its name is not one of the manifest's"]
    a_type, b_type, _, tile_n = match.group(1, 2, 3, 4)
    cluster = int(match.group(6)) * int(match.group(7))
    schedule, store = match.group(8, 9)
    mma = MMA[a_type]
    opcodes = {opcode for _, opcode, _, _ in code}

    def has(prefix):
        return any(opcode == prefix or opcode.startswith(prefix + ".") for opcode in opcodes)

    uses_tma, specialized = schedule != "multistage", schedule in ("cooperative", "pingpong")
    expected = [
        (mma, True, "the tensor cores through wgmma"),
        ("ACQBULK", True, "the wait for the grid before this one, griddepcontrol.wait"),
        ("UTMALDG", uses_tma, "TMA loads"),
        ("LDGSTS", not uses_tma, "cp.async loads"),
        ("UTMASTG", store == "tma", "TMA stores"),
        ("UTMALDG.3D.MULTICAST", cluster > 1, "multicast loads"),
    ]
    if schedule != "warp_specialized":  # there it depends on the number of consumers
        expected.append(("USETMAXREG", specialized, "setmaxnreg"))
    texts = [
        f"{'lacks' if wanted else 'has'} {opcode} ({what})" for opcode, wanted, what in expected if has(opcode) != wanted
    ]
    issued = [opcode for opcode in opcodes if opcode.startswith(("HGMMA.", "QGMMA.", "IGMMA."))]
    types = TYPE_WORDS.get(a_type, "") + (TYPE_WORDS[b_type] if mma != FLOATS else "")
    if any(types not in opcode for opcode in issued):
        texts.append(f"wgmma of other types than {a_type} and {b_type}: {sorted(issued)}")
    shapes = {opcode.split(".")[1] for opcode in issued}
    halved = PROMOTED.search(name) is not None and int(tile_n) > HALVED
    mma_n = int(tile_n) // (2 if halved else 1)
    if any(not shape.startswith(f"64x{mma_n}x") for shape in shapes):
        texts.append(f"wgmma shapes {sorted(shapes)}, expected N = {mma_n} alone")
    loops_with_mma = [part for part in loops(code) if any(code[i][1].startswith(mma) for i in part)]
    if has(mma) and not loops_with_mma:
        texts.append(f"no loop contains {mma}")
    if re.search(r"_p\d+", name) and not any(code[i][1] == "FADD" for part in loops_with_mma for i in part):
        texts.append("no loop adds up what wgmma summed (FADD): nothing is promoted")
    for part in loops_with_mma:
        for i in sorted(part):
            if code[i][1].startswith("MEMBAR") and code[i][1].endswith("GPU"):
                texts.append(f"{code[i][1]} at {code[i][0]:#x} inside a loop with {mma}: a release at cluster or GPU scope")
    return texts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path)
    parser.add_argument("--kernels", default="*", help="glob of kernel names to report on")
    parser.add_argument("--count", type=int, help="how many kernels there must be")
    options = parser.parse_args()
    tool = find_cuobjdump()
    if tool is None:
        print("check_sass: no cuobjdump: pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm", file=sys.stderr)
        return 2
    environment = os.environ | {"PATH": os.pathsep.join([str(Path(tool).parent), os.environ["PATH"]])}
    ptx = subprocess.run([tool, "-lptx", options.library], env=environment, capture_output=True, text=True)
    bad = {"library": ["has PTX embedded: only SASS for sm_90a is meant to be there"]} if ".ptx" in ptx.stdout else {}
    count = 0
    with subprocess.Popen([tool, "-sass", options.library], env=environment, stdout=subprocess.PIPE, text=True) as process:
        for name, code in functions(process.stdout):
            if fnmatch.fnmatchcase(name, options.kernels):
                count += not HELPER.search(name)
                if texts := findings(name, code):
                    bad[name] = texts
    if process.returncode != 0:
        bad["cuobjdump"] = [f"exit status {process.returncode}: the listing may be cut short"]
    if options.count is not None and count != options.count:
        bad["listing"] = [f"{count} kernels, expected {options.count}"]
    for name, texts in bad.items():
        for text in texts:
            print(f"check_sass: {name}: {text}")
    print(f"check_sass: {count} kernels, {len(bad)} with findings")
    return 1 if bad else 0 if count else 2


if __name__ == "__main__":
    sys.exit(main())
