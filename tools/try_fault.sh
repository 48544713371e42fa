#!/bin/bash
# Applies any patch (of include/ or csrc/dispatch/) to a copy, runs the schedules of the must-fail suite in the emulator
# and prints what it finds:
#
#   tools/try_fault.sh x.patch [--kernels a,b] [--seeds N]
set -euo pipefail
[ $# -ge 1 ] || { sed -n 2,6p "$0"; exit 2; }
exec "${PYTHON:-python3}" "$(dirname "$0")/../tests/faults/try_fault.py" "$@"
