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
    timeout 120 $binary "$raw"
    ${PYTHON:-python3} tests/parity/golden.py pack "$raw" "$out"
    ;;
  *) sed -n 2,8p "$0"; exit 2 ;;
esac
