"""Building without nvcc, what source archive and wheel hold, and that wheel and editable install work from another folder."""

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from test_build_cpp import tool

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import check_dist  # noqa: E402


def without_nvcc(**changes):
    """This environment without a way to nvcc."""
    folders = [f for f in os.environ["PATH"].split(os.pathsep) if not os.path.exists(os.path.join(f, "nvcc"))]
    hidden = ("CUDACXX", "CUDA_HOME", "CUDA_PATH")
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    return environment | {"PATH": os.pathsep.join(folders)} | changes


def configure(folder, *arguments, **changes):
    cmake, ninja = tool("cmake"), tool("ninja")
    if not cmake or not ninja:
        pytest.skip("needs cmake and ninja")
    command = [cmake, "-S", ROOT, "-B", folder, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}", f"-DPython_EXECUTABLE={sys.executable}"]
    command += ["-DHG_CUDA_ROOT=/nonexistent", "-DHG_KERNELS=bf16_*_tn_*_tma_tma", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=without_nvcc(**changes))
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def has_nvcc_wheels():
    return any((Path(place) / "nvidia" / "cu13" / "bin" / "nvcc").exists() for place in sys.path)


@pytest.mark.skipif(has_nvcc_wheels(), reason="nvcc comes from wheels here")
def test_without_nvcc_the_build_says_emulator_only(tmp_path):
    status, text = configure(tmp_path)
    assert status == 0 and "nvcc was not found" in text and "emulator only" in text
    assert not list(tmp_path.glob("generated/cuda/*"))


@pytest.mark.skipif(has_nvcc_wheels(), reason="nvcc comes from wheels here")
def test_insisting_on_cuda_without_nvcc_fails_with_the_cure(tmp_path):
    status, text = configure(tmp_path, "-DHG_CUDA=ON")
    assert status != 0 and "HG_CUDA=ON but nvcc was not found" in text and "CUDACXX" in text


def test_a_broken_nvcc_is_loud(tmp_path):
    status, text = configure(tmp_path, CUDACXX="/nonexistent/nvcc")
    assert status != 0 and "/nonexistent/nvcc" in text


def test_a_wrong_option_is_named(tmp_path):
    status, text = configure(tmp_path, "-DHG_CUDA=maybe")
    assert status != 0 and "HG_CUDA=maybe" in text


@pytest.mark.parametrize(
    "version, status, words",
    [("11.8.89", 1, "11.8.89 is too old: 13 is supported"), ("12.6.85", 1, "12.6.85 is accepted but untested")],
)
def test_an_old_nvcc_is_said_to_be_old(tmp_path, version, status, words):
    """find_nvcc.cmake with the language switched on by hand: only its judgement of the version is run."""
    text = (ROOT / "cmake" / "find_nvcc.cmake").read_text()
    judgement = text[text.index("if(CMAKE_CUDA_COMPILER_VERSION") : text.index("find_package(CUDAToolkit")]
    script = tmp_path / "judge.cmake"
    script.write_text(f"set(CMAKE_CUDA_COMPILER_VERSION {version})\n{judgement}\nmessage(FATAL_ERROR end)")
    done = subprocess.run([tool("cmake"), "-P", script], capture_output=True, text=True)
    assert done.returncode == status and words in " ".join(done.stderr.split())


def test_another_architecture_is_refused(tmp_path):
    status, text = configure(tmp_path, "-DCMAKE_CUDA_ARCHITECTURES=80")
    assert status != 0 and "CMAKE_CUDA_ARCHITECTURES=80" in text and "sm_90a" in text


def test_without_torch_the_build_says_what_to_install(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.metadata as m\nreal = m.version\n"
        "def version(name):\n    if name == 'torch': raise m.PackageNotFoundError(name)\n    return real(name)\nm.version = version\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "setup.py", "-q", "build_ext", "--build-lib", tmp_path / "lib"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.returncode != 0 and "has no torch: install it first (pip install torch==" in done.stderr


def test_the_version_is_the_same_everywhere():
    version = re.search(r'__version__ = "([^"]+)"', (ROOT / "hopper_gemm" / "_version.py").read_text()).group(1)
    assert f"VERSION {version} " in (ROOT / "CMakeLists.txt").read_text()
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()


ONE_KERNEL = "bf16_*_tn_64x128x64_*_tma_tma"
PRODUCT = (
    "import torch, hopper_gemm as h; print(h.__file__)\n"
    "a = torch.randn(72, 40).bfloat16(); b = torch.randn(24, 40).bfloat16().t()\n"
    "with h.emulator(): c = h.matmul(a, b)\n"
    "assert (c.double() - a.double() @ b.double()).abs().max() < 0.2\n"
    "assert not any(k.compiled for k in h.kernels())\n"
    "try: h.matmul(a, b)\n"
    "except RuntimeError as error: print(error)\n"
)


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """A folder with the source archive, its contents (src), and a wheel of one kernel made from them."""
    folder = tmp_path_factory.mktemp("packages")
    command = [sys.executable, "setup.py", "-q", "egg_info", "-e", folder, "sdist", "-d", folder]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    (folder / archive.name.removesuffix(".tar.gz")).rename(folder / "src")
    pip("wheel", "-w", folder, folder / "src")
    return folder


def pip(command, *arguments):
    """pip as a user would call it; the build folder is the usual one, so ccache knows the objects of any other clone."""
    environment = without_nvcc(HG_CMAKE_ARGS="-DHG_CUDA=OFF", HOPPER_GEMM_KERNELS=ONE_KERNEL)
    shared = ["-q", "--no-build-isolation", "--no-deps", "--no-index", "--disable-pip-version-check"]
    done = subprocess.run([sys.executable, "-m", "pip", command, *shared, *arguments], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr


def run_product(site, folder):
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    code = f"import site; site.addsitedir({str(site)!r})\n{PRODUCT}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    file, refusal = done.stdout.splitlines()[:2]
    assert "emulator" in refusal
    return Path(file)


def test_the_archives_hold_what_they_must(packages, capsys):
    assert check_dist.main([str(packages)]) == 0, capsys.readouterr().out
    assert check_dist.main([str(packages), "--most-mb", "0.1"]) == 1
    assert "at most 0.1" in capsys.readouterr().out


def test_an_installed_wheel_works_from_another_folder(packages, tmp_path):
    (wheel,) = packages.glob("*.whl")
    pip("install", "--target", tmp_path / "site", wheel)
    assert run_product(tmp_path / "site", tmp_path).is_relative_to(tmp_path / "site")
    done = subprocess.run([tmp_path / "site" / "bin" / "hopper-gemm", "--version"], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(tmp_path / "site")})  # fmt: skip
    assert done.returncode == 0 and done.stdout.startswith("hopper_gemm 0."), done.stderr


def test_an_editable_install_compiles_nothing_again(packages, tmp_path):
    objects = {p: p.stat().st_mtime_ns for p in (packages / "src" / "build").rglob("*.o")}
    pip("install", "--prefix", tmp_path / "prefix", "-e", packages / "src")
    (site,) = (tmp_path / "prefix").rglob("site-packages")
    assert run_product(site, tmp_path) == packages / "src" / "hopper_gemm" / "__init__.py"
    assert objects and objects == {p: p.stat().st_mtime_ns for p in objects}
