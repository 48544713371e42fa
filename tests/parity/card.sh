#!/bin/bash
# Runs the parity suite on a Hopper GPU and writes the golden data:
#
#   tests/parity/card.sh build          here or anywhere with nvcc: build/parity/card (needs no GPU)
#   tests/parity/card.sh run [FILE]     on the card: FILE (parity.golden.xz) and parity.probes.txt from build/parity/card
#
# Then put both into tests/golden/ and run tests/test_emulator_parity.py.
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
    timeout -k 5 60 $binary "$raw"
    ${PYTHON:-python3} tests/parity/golden.py pack "$raw" "$out"
    # Which elements of a row a transfer may start at, one process each.
    for what in load store; do
      for k in 0 1 2 3 4 8 12 16 -4 -8; do
        printf '%s %s ' $what $k
        timeout -k 5 20 $binary /dev/null $what $k 2>&1 | tail -n 1
      done
    done | tee "${out%.golden.xz}.probes.txt"
    ;;
  *) sed -n 2,8p "$0"; exit 2 ;;
esac
