#!/bin/bash
# Runs the parity suite on a Hopper GPU and writes the golden data:
#
#   tests/parity/card.sh build          here or anywhere with nvcc: build/parity/card (needs no GPU)
#   tests/parity/card.sh run [FILE]     on the card: FILE (parity.golden.xz) from build/parity/card
#
# Then put FILE into tests/golden/ and run tests/test_emulator_parity.py.
set -euo pipefail
cd "$(dirname "$0")/../.."
binary=build/parity/card
case ${1:-} in
  build)
    mkdir -p build/parity
    ${NVCC:-nvcc} -std=c++20 -O1 -gencode=arch=compute_90a,code=sm_90a --expt-relaxed-constexpr -Iinclude -Icsrc/dispatch \
      tests/parity/card.cu csrc/dispatch/gpu_tensor_map.cpp -o $binary
    ;;
  run)
    out=${2:-parity.golden.xz}
    raw=$(mktemp)
    # An illegal instruction ends a process: it is noted and the suite run again without that launch.
    PARITY_REFUSED=
    until said=$(PARITY_REFUSED=$PARITY_REFUSED timeout -k 5 60 $binary "$raw"); do
      [[ $said == refused\ * ]] || { echo "$said"; exit 1; }
      PARITY_REFUSED="$PARITY_REFUSED ${said#refused }"
    done
    echo "$said, refused:$PARITY_REFUSED"
    ${PYTHON:-python3} tests/parity/golden.py pack "$raw" "$out"
    ;;
  *) sed -n 2,8p "$0"; exit 2 ;;
esac
