"""The machine code check: its parser and loops on small listings, and the library that was built."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CHECK = ROOT / "tools" / "check_sass.py"
spec = importlib.util.spec_from_file_location("check_sass", CHECK)
check_sass = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_sass)

NAME = "bf16_bf16_f32_tn_128x128x64_c1x1_s5_{}_{}"


def listing(*instructions):
    """Code from instruction texts; a predicate is written first, as in SASS. Addresses are 0x00, 0x10, ..."""
    lines = [f"        /*{16 * i:04x}*/                   {text} ;   /* 0x00 */\n" for i, text in enumerate(instructions)]
    ((name, code),) = check_sass.functions(["\t\tFunction : some_kernel\n", *lines])
    return code


LOOP = ("UTMALDG.3D [UR8], [UR4]", "HGMMA.64x128x16.F32.BF16 R24, gdesc[UR4], R24", "@P0 BRA 0x10", "UTMASTG.3D [UR4]", "ACQBULK", "EXIT")
FP8 = "e4m3_e5m2_f32_tn_128x128x128_c1x1_s5_tma_tma_p128"
FP8_LOOP = (LOOP[0], "QGMMA.64x128x32.F32.E4M3.E5M2 R24, gdesc[UR4], R24", *LOOP[2:])
PROMOTED = (*FP8_LOOP[:2], "FADD R2, R2, R24", *FP8_LOOP[2:])


def test_mangled_names_are_read():
    line = "\t\tFunction : _ZN11hopper_gemm11gemm_kernelINS_8compiled9my_kernelEEEvNS_10GemmParamsE\n"
    assert [name for name, _ in check_sass.functions([line])] == ["my_kernel"]


def test_loops_are_cycles_not_address_ranges():
    # The slow path of a wait lies after EXIT and jumps back: the MEMBAR between is in no loop with HGMMA.
    code = listing("@!P1 BRA 0x60", "HGMMA.64x128x16.F32.BF16 R24", "@P0 BRA 0x0", "MEMBAR.ALL.GPU", "EXIT", "NOP", "NOP", "BRA 0x10")
    (loop,) = check_sass.loops(code)
    assert loop == {0, 1, 2, 6, 7}


def test_a_kernel_that_is_itself_passes():
    assert check_sass.findings(FP8, listing(*PROMOTED)) == []
    assert check_sass.findings(NAME.format("tma", "tma"), listing(*LOOP)) == []
    assert check_sass.findings(NAME.format("pingpong", "tma"), listing("USETMAXREG.DEALLOC.CTAPOOL 0x28", "NOP", *LOOP[:2], "@P0 BRA 0x20", *LOOP[3:])) == []


def test_sums_of_slices_begin_with_all_their_loads():
    name = "_ZN11hopper_gemm17add_slices_kernelINS_8SliceSumILNS_11OutputOrderE0ELi4EEEEEvNS_10GemmParamsE"
    loads = ["@P0 LDG.E R1, desc[UR4][R2.64]"] * 16
    assert check_sass.findings(name, listing("ACQBULK", *loads, "FADD R2, R2, R1", "EXIT")) == []
    (text,) = check_sass.findings(name, listing("ACQBULK", *loads[1:], "FADD R2, R2, R1", loads[0], "EXIT"))
    assert text.startswith("15 loads before the first sum")
    assert check_sass.findings(name, listing(*loads, "FADD R2, R2, R1", "EXIT")) == ["lacks ACQBULK (griddepcontrol.wait)"]


@pytest.mark.parametrize(
    ("name", "code", "word"),
    [
        (NAME.format("tma", "tma"), ("USETMAXREG.DEALLOC.CTAPOOL 0x28", *LOOP), "USETMAXREG"),
        (NAME.format("cooperative", "tma"), LOOP, "lacks USETMAXREG"),
        (NAME.format("tma", "direct"), LOOP, "UTMASTG"),
        (NAME.format("tma", "tma"), (*LOOP[:4], "EXIT"), "lacks ACQBULK"),
        (NAME.format("multistage", "tma"), LOOP, "LDGSTS"),
        (NAME.format("tma", "tma"), ("LDGSTS.E.BYPASS.128 [R1]", *LOOP), "has LDGSTS"),
        (NAME.format("tma", "tma").replace("128x128x64", "128x256x64"), LOOP, "expected N = 256"),
        (NAME.format("tma", "tma").replace("c1x1", "c2x1"), LOOP, "MULTICAST"),
        (NAME.format("tma", "tma"), (*LOOP[:2], "NOP", *LOOP[3:]), "no loop"),
        (NAME.format("tma", "tma"), (*LOOP[:2], "MEMBAR.ALL.GPU", "@P0 BRA 0x10", *LOOP[3:]), "MEMBAR.ALL.GPU at 0x20"),
        ("unheard_of", LOOP, "not one of the manifest's"),
        (FP8, LOOP, "lacks QGMMA"),
        (FP8, FP8_LOOP, "no loop adds up"),
        (FP8.replace("e4m3_e5m2", "e4m3_e4m3"), PROMOTED, "other types than e4m3 and e4m3"),
        (FP8.replace("128x128x128", "128x224x128"), PROMOTED, "expected N = 112"),
        (FP8.replace("e4m3_e5m2_f32", "s8_s8_s32"), LOOP, "lacks IGMMA"),
        (NAME.format("tma", "tma").replace("bf16_bf16", "tf32_tf32"), LOOP, "other types than tf32 and tf32"),
    ],
)
def test_each_finding_can_happen(name, code, word):
    assert word in " ".join(check_sass.findings(name, listing(*code)))


def test_the_library_that_was_built():
    from hopper_gemm import _C

    library = ROOT / "hopper_gemm" / "lib" / "libhopper_gemm.so"
    compiled = sum(record["compiled"] for record in _C.kernels())
    if not library.exists() or not compiled:
        pytest.skip("this build has no kernels for the GPU")
    if check_sass.find_cuobjdump() is None:
        pytest.skip("no cuobjdump: pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm")
    done = subprocess.run([sys.executable, CHECK, library, "--count", str(compiled)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
