"""`profile`: the command line of ncu, what is read from its output, and its refusals, with a pretended ncu."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest

from hopper_gemm import errors, profiling
from hopper_gemm.bench.suites import Case
from hopper_gemm.selector import Card

CASE = Case(4096, 4096, 4096)
PROGRAM = """#!{python}
import json, sys
if "--query-metrics" in sys.argv:
    print("gpu__time_duration  Counter  time\\nsmsp__cycles_elapsed  Counter  x\\ndram__bytes_read  Counter  x")
    sys.exit()
json.dump(sys.argv, open({record!r}, "w"))
open(sys.argv[sys.argv.index("--log-file") + 1], "w").write({log!r})
sys.exit({status})
"""
LOG = (
    "==PROF== Connected to process 1\n"
    '"ID","Kernel Name","dram__bytes_read.sum","gpu__time_duration.sum","launch__registers_per_thread",'
    '"smsp__cycles_elapsed.avg.per_second"\n'
    '"","","byte","ns","register/thread","hz"\n'
    '"0","gemm_kernel","67,108,864","215,300","168","1,500,000,000"\n'
)


@pytest.fixture
def ncu(tmp_path, monkeypatch):
    monkeypatch.setattr(profiling, "card_of", lambda index: Card())

    def make(log=LOG, status=0):
        path = tmp_path / "ncu"
        path.write_text(PROGRAM.format(python=sys.executable, record=str(tmp_path / "argv.json"), log=log, status=status))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return make


def test_metrics_are_read_scaled_and_explained(ncu, tmp_path):
    found = profiling.profile_product(CASE, "pingpong", None, ncu=ncu())
    values = {line.name: line.value for line in found.lines}
    assert values["time"] == "215 us" and values["SM clock"] == "1,500 MHz" and values["registers"] == "168"
    assert values["tensor pipe busy"] == "78.7 %"  # 2 * 4096^3 in 215.3 us at 132 * 4096 FLOP a cycle
    assert values["DRAM read"] == "67.1 MB" and values["L2 hit rate"] == "-"  # this ncu does not know it
    assert all(line.meaning for line in found.lines) and "_pingpong_" in found.kernel
    argv = json.loads((tmp_path / "argv.json").read_text())
    assert argv[argv.index("--clock-control") + 1] == "none"
    assert argv[argv.index("--kernel-name") + 1] == "regex:gemm_kernel"
    assert argv[-7:] == ["hopper_gemm.profiling", "4096", "4096", "4096", "bf16", "tn", found.kernel]
    assert "lts__t_sector_hit_rate.pct" not in argv[argv.index("--metrics") + 1]


def test_a_report_is_kept_if_asked_for(ncu, tmp_path):
    found = profiling.profile_product(CASE, "auto", None, ncu=ncu(), report=tmp_path / "r.ncu-rep")
    argv = json.loads((tmp_path / "argv.json").read_text())
    assert argv[argv.index("--export") + 1] == str(tmp_path / "r.ncu-rep") and "r.ncu-rep" in found.notes[-1]


def test_refusals_say_what_to_do(ncu, tmp_path):
    with pytest.raises(errors.DeviceError, match="NVreg_RestrictProfilingToAdminUsers"):
        profiling.profile_product(CASE, "auto", None, ncu=ncu("==ERROR== ERR_NVGPUCTRPERM\n", 1))
    with pytest.raises(errors.DeviceError, match="did not profile.*something else"):
        profiling.profile_product(CASE, "auto", None, ncu=ncu("==ERROR== something else\n", 1))
    with pytest.raises(errors.DeviceError, match="was not found.*--ncu"):
        profiling.profile_product(CASE, "auto", None, ncu=Path("/nonexistent/ncu"))


def test_the_kernels_entry_has_the_name_that_is_filtered_for():
    entry = Path(__file__).parents[1] / "include" / "hopper_gemm" / "kernel" / "gemm.h"
    assert "gemm_kernel(" in entry.read_text()
