#!/bin/bash
# What must be seen on a Hopper GPU, in stages, each usable alone:
#
#   tools/gpu_check.sh [build] [test] [cases] [proof] [property] [sanitize] [stress] [parity] [examples] [bench NAME...]
#
# Without arguments: build test sanitize. proof: cases, property, bench accuracy, bench any_problem.
#
# Works without a network, a virtual environment or a package installation: it builds in place. HG_CMAKE_ARGS is passed
# on (-DHG_LIBRARY=<libhopper_gemm.so built elsewhere> skips the kernels). Every GPU program has its own process and time
# limit, so that a hang or a sticky error takes nothing else along. Output also goes to ${OUT:-gpu_check_out}.
set -uo pipefail
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3}
OUT=${OUT:-gpu_check_out}
export PYTHONPATH=$PWD PYTHONUNBUFFERED=1
mkdir -p "$OUT"
results=()

# step NAME SECONDS COMMAND...: runs it under a limit, tees to $OUT/NAME.log, keeps a summary line.
step() {
  local name=$1 limit=$2 begin=$SECONDS
  shift 2
  echo "=== $name: $*"
  timeout -k 5 "$limit" "$@" 2>&1 | tee "$OUT/$name.log"
  local status=${PIPESTATUS[0]}
  case $status in
    0) results+=("ok      $name ($((SECONDS - begin)) s)") ;;
    124 | 137) results+=("TIMEOUT $name (over $limit s)") ;;
    *) results+=("FAILED  $name (exit $status)") ;;
  esac
  return "$status"
}
skip() { results+=("skipped $1: $2"); }

describe() {
  nvidia-smi --query-gpu=name,driver_version,power.limit --format=csv,noheader || return 1
  nvcc --version | tail -n 2 || true
  git rev-parse HEAD 2>/dev/null || true
  $PYTHON - <<'PY'
import sys, torch
print("Python", sys.version.split()[0], "torch", torch.__version__, "CUDA", torch.version.cuda)
sys.exit(0 if torch.cuda.is_available() else "torch sees no GPU")
PY
}

build() {
  HG_CMAKE_ARGS="-DHG_CUDA=ON ${HG_CMAKE_ARGS:-}" step build 590 $PYTHON setup.py -q build_ext --inplace || return 1
  cp build/*/kernels.csv "$OUT/" 2>/dev/null || true
  step info 60 $PYTHON -c "
from hopper_gemm import _C
import sys
print(_C.build_info(), _C.device_info(0), len(_C.kernels()), 'kernels')
sys.exit(not _C.device_info(0)['available'])"
}

run_tests() {
  step smoke 120 $PYTHON tools/gpu_smoke.py
  if ! $PYTHON -c "import pytest" 2>/dev/null; then skip tests "no pytest"; return; fi
  HOPPER_GEMM_RECORD=$OUT/correctness.json \
    step tests 300 $PYTHON -m pytest -q -p no:cacheprovider --maxfail=20 -m gpu tests/test_gpu_*.py tests/test_row_stores.py tests/test_no_other_library.py
}

# Inputs of public reports, in six processes at once where pytest can.
cases() {
  local workers=""
  $PYTHON -c "import xdist" 2>/dev/null && workers="-n 6"
  step cases 240 $PYTHON -m pytest -q -p no:cacheprovider --maxfail=40 $workers -m gpu tests/cases
}

# Any product against float64, 6,000 times or 230 seconds long; recorded as it goes.
property() {
  HOPPER_GEMM_PROPERTY=$OUT/property.json \
    step property 290 $PYTHON -m pytest -q -p no:cacheprovider -m gpu tests/test_property.py
}

sanitize() {
  local tool
  tool=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
  if [ -z "$tool" ]; then skip sanitize "no compute-sanitizer"; return; fi
  if ! timeout -k 5 60 "$tool" $PYTHON -c "import torch; torch.zeros(1, device='cuda')" >"$OUT/sanitize_probe.log" 2>&1; then
    skip sanitize "compute-sanitizer does not run here: $(grep -m1 -i -E 'error|not supported' "$OUT/sanitize_probe.log")"
    return
  fi
  step memcheck 300 "$tool" --tool memcheck --error-exitcode 9 $PYTHON tools/gpu_smoke.py --shapes 1
  for check in synccheck racecheck; do
    step $check 200 "$tool" --tool $check --error-exitcode 9 $PYTHON tools/gpu_smoke.py --shapes 1 --one-per-schedule
  done
  $PYTHON tools/sanitize_record.py "$OUT" "$OUT/sanitize.json"
}

# Eight streams at once, STRESS_SECONDS (120) long.
stress() {
  step stress $((${STRESS_SECONDS:-120} + 60)) $PYTHON tools/stress.py --seconds "${STRESS_SECONDS:-120}" --json "$OUT/stress.json"
}

# Golden data for the emulator, from a binary built by `tests/parity/card.sh build`.
parity() { step parity 120 tests/parity/card.sh run "$OUT/parity.golden.xz"; }

# Training and decoding with torch's linear layers and with ours.
examples() {
  for name in train_transformer decode_loop; do
    step "$name" 240 $PYTHON "examples/$name.py" --json "$OUT/$name.json"
  done
}

# A program of benchmarks/, or a suite of shapes shipped with the package, by its name: `schedules` with all schedules,
# `suite_layouts` the suite layouts with the kernels that are chosen by themselves. BENCH_ARGS: more arguments.
bench() {
  if [ -f "benchmarks/$1.py" ]; then
    step "bench_$1" 540 $PYTHON "benchmarks/$1.py" --json "$OUT/$1.json" ${BENCH_ARGS:-}
  elif [ "${1#suite_}" != "$1" ]; then
    step "bench_$1" 540 $PYTHON benchmarks/suite.py --suite "${1#suite_}" --json "$OUT/$1.json" ${BENCH_ARGS:-}
  else
    step "bench_$1" 540 $PYTHON -m hopper_gemm bench --suite "$1" --schedule all --seconds 480 --json "$OUT/$1.json" ${BENCH_ARGS:-}
  fi
}

describe 2>&1 | tee "$OUT/machine.log"
[ "${PIPESTATUS[0]}" = 0 ] || { echo "gpu_check: no usable GPU"; exit 1; }
[ $# -gt 0 ] || set -- build test sanitize
while [ $# -gt 0 ]; do
  case $1 in
    build) build || { printf '%s\n' "${results[@]}"; exit 1; } ;;
    test) run_tests ;;
    cases) cases ;;
    property) property ;;
    proof)
      cases
      property
      bench accuracy
      bench any_problem ;;
    sanitize) sanitize ;;
    stress) stress ;;
    parity) parity ;;
    sessions) step sessions 540 $PYTHON tools/record_sessions.py "$OUT/sessions.json" ;;
    examples) examples ;;
    bench)
      shift
      [ $# -gt 0 ] || { echo "gpu_check: bench needs the name of a suite"; exit 2; }
      bench "$1" ;;
    *) echo "gpu_check: unknown stage '$1': build, test, cases, proof, property, sanitize, stress, parity, sessions, examples, bench NAME"; exit 2 ;;
  esac
  shift
done
echo "=== summary"
printf '%s\n' "${results[@]}" | tee "$OUT/summary.txt"
! grep -q -E '^(FAILED|TIMEOUT)' "$OUT/summary.txt"
