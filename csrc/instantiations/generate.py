"""Manifest -> sources in the build folder: kernels for nvcc and for the emulator, four to a file, and the registry.

Run by CMake at configure time. A file is rewritten only when its text changed, and stale ones are deleted, so a new
manifest row compiles one new file. Prints nothing; writes sources.cmake with the lists of files.
"""

import argparse
import importlib
import re
import sys
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KERNELS_PER_FILE = 4


def load_manifest(path):
    """By file path, as a module of a package of that folder without its __init__: importing the package itself would import
    torch and an extension that is not built yet."""
    package = types.ModuleType("hopper_gemm_unbuilt")
    package.__path__ = [str(path.parent)]
    sys.modules[package.__name__] = package
    return importlib.import_module(f"{package.__name__}.{path.stem}")


def config_text(row):
    """A braced KernelConfig initialiser: members by name, in the order of core/config.h."""
    swizzle = {16: "none", 32: "b32", 64: "b64", 128: "b128"}
    return (
        f"{{.schedule = Schedule::{row.schedule}, .a_type = DataType::{row.a_type}, .b_type = DataType::{row.b_type}, "
        f".accumulator = DataType::{row.accumulator},\n"
        f"    .a_major = Major::{row.a_major}, .b_major = Major::{row.b_major}, "
        f".tile_m = {row.tile_m}, .tile_n = {row.tile_n}, .tile_k = {row.tile_k},\n"
        f"    .cluster_m = {row.cluster_m}, .cluster_n = {row.cluster_n}, "
        f".stages = {row.stages}, .consumers = {row.consumers},\n"
        f"    .a_swizzle = Swizzle::{swizzle[row.a_swizzle]}, .b_swizzle = Swizzle::{swizzle[row.b_swizzle]}, "
        f".store = Store::{row.store}, .mmas_in_flight = {row.mmas_in_flight}, "
        f".output = OutputOrder::{row.output}, .cluster_k = {row.cluster_k}, .promote_k = {row.promote_k}, "
        f".fused_epilogue = {str(row.fused_epilogue).lower()}}}"
    )


def file_groups(kernels):
    """{file stem: names}. The layouts of one tile share a file; the rest are packed by schedule."""
    groups = {}
    for name, row in kernels.items():
        stem = re.sub(r"_[tn]{2}_", "_", name, count=1)
        groups.setdefault((row.schedule, stem), []).append(name)
    files, loose = {}, {}
    for (schedule, stem), names in groups.items():
        if len(names) == KERNELS_PER_FILE:
            files[stem] = names
        else:
            loose.setdefault(schedule, []).extend(names)
    for schedule, names in loose.items():
        for start in range(0, len(names), KERNELS_PER_FILE):
            files[f"{schedule}_{start // KERNELS_PER_FILE:02d}"] = names[start : start + KERNELS_PER_FILE]
    return files


def kernel_file(names, kernels, namespace, pointer, result, watchdog_stem=None):
    """One translation unit. The namespace keeps host stubs and emulated kernels of one name apart."""
    lines = [
        "// Generated from hopper_gemm/manifest.py by csrc/instantiations/generate.py.",
        '#include "hopper_gemm/kernel/gemm.h"',
        "",
        f"namespace hopper_gemm::{namespace} {{",
    ]
    for name in names:
        lines += [
            f"struct {name} {{",
            f"  static constexpr KernelConfig config = {config_text(kernels[name])};",
            "};",
            f"static_assert(config_rule({name}::config) == ConfigRule::valid,",
            f'              "{name} breaks a rule of core/config.h");',
            f"{result} function_{name}{pointer(name)}",
            "",
        ]
    if watchdog_stem:
        lines += [
            "// Every file has its own copy of the device pointer that a stuck wait reports to.",
            f"int watchdog_{watchdog_stem}(unsigned long long* word) {{",
            "  return static_cast<int>(cudaMemcpyToSymbol(arch::watchdog::report, &word, sizeof(word)));",
            "}",
        ]
    return "\n".join([*lines, f"}}  // namespace hopper_gemm::{namespace}", ""])


def compiled_file(names, kernels, watchdog_stem):
    def pointer(name):
        return f"() {{ return reinterpret_cast<const void*>(&gemm_kernel<{name}>); }}"

    return kernel_file(names, kernels, "compiled", pointer, "const void*", watchdog_stem)


def emulated_file(names, kernels):
    def pointer(name):
        return f"(const GemmParams& params) {{ gemm_kernel<{name}>(params); }}"

    return kernel_file(names, kernels, "emulated", pointer, "void")


def registry_file(kernels, files, with_cuda, with_emulator, watchdog):
    """The table. Built inside a function at its first call: nothing for a linker to drop, no order of initialisation."""
    lines = [
        "// Generated from hopper_gemm/manifest.py by csrc/instantiations/generate.py.",
        '#include "registry.h"',
        "",
        "namespace hopper_gemm {",
        "namespace compiled {",
        *[f"const void* function_{name}();" for name in kernels if with_cuda],
        *[f"int watchdog_{stem}(unsigned long long* word);" for stem in files if watchdog],
        "}  // namespace compiled",
        "namespace emulated {",
        *[f"void function_{name}(const GemmParams& params);" for name in kernels if with_emulator],
        "}  // namespace emulated",
        "",
        "KernelTable kernel_table() {",
        "  static const KernelEntry entries[] = {",
    ]
    for name, row in kernels.items():
        compiled = f"compiled::function_{name}()" if with_cuda else "nullptr"
        emulated = f"emulated::function_{name}" if with_emulator else "nullptr"
        lines += [f'  {{"{name}", {config_text(row)},']
        lines += [f"   {compiled}, {emulated}, {'true' if row.automatic else 'false'}}},"]
    lines += [
        "  };",
        f"  return {{entries, {len(kernels)}}};",
        "}",
        "",
        "WatchdogTable watchdog_table() {",
        "  static constexpr WatchdogSetter setters[] = {",
        *[f"    compiled::watchdog_{stem}," for stem in files if watchdog],
        "    nullptr};",
        f"  return {{setters, {len(files) if watchdog else 0}}};",
        "}",
        "",
        "}  // namespace hopper_gemm",
        "",
    ]
    return "\n".join(lines)


def write_tree(folder, texts):
    """Makes `folder` hold exactly these files; unchanged ones keep their time."""
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    wanted = {folder / name for name in texts}
    for path in folder.rglob("*"):
        if path.is_file() and path not in wanted:
            path.unlink()


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder of the generated files; emptied of others")
    parser.add_argument("--manifest", type=Path, default=ROOT / "hopper_gemm" / "manifest.py")
    parser.add_argument("--manifests", default=None, help="lists to build, comma-separated (default: default)")
    parser.add_argument("--kernels", default=None, help="globs of kernel names, comma-separated (default: all)")
    parser.add_argument("--cuda", action="store_true")
    parser.add_argument("--emulator", action="store_true")
    parser.add_argument("--watchdog", action="store_true")
    options = parser.parse_args(arguments)

    kernels = load_manifest(options.manifest).selected(options.manifests, options.kernels)
    if not kernels:
        parser.error(
            f"no kernel is called {options.kernels!r} in manifest {options.manifests or 'default'!r}: "
            "the globs match names such as 'bf16_*_tn_*_pingpong_*'"
        )
    files = file_groups(kernels)
    watchdog = options.watchdog and options.cuda
    texts = {"registry.cpp": registry_file(kernels, files, options.cuda, options.emulator, watchdog)}
    for stem, names in files.items():
        if options.cuda:
            texts[f"cuda/{stem}.cu"] = compiled_file(names, kernels, stem if watchdog else None)
        if options.emulator:
            texts[f"emulated/{stem}.cpp"] = emulated_file(names, kernels)
    lists = {"HG_CUDA_SOURCES": "cuda/", "HG_EMULATED_SOURCES": "emulated/"}
    texts["sources.cmake"] = "".join(
        f"set({variable}\n" + "".join(f"  {options.out / path}\n" for path in texts if path.startswith(prefix)) + ")\n"
        for variable, prefix in lists.items()
    )
    write_tree(options.out, texts)


if __name__ == "__main__":
    main()
