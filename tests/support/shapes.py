"""The shapes of the correctness tests."""

from __future__ import annotations

from .operands import Shape


def _shapes(text: str) -> tuple[Shape, ...]:
    return tuple(Shape(*(int(x) for x in word.split("x"))) for word in text.split())


# For the emulator: small, and each for a reason.
EMULATOR = _shapes(
    """
    64x64x64
    72x136x40 13x24x8 65x129x72
    1x40x24 40x1x16
    16x8x8 24x16x16 8x32x24
    130x70x200
    """
)
# More tiles than the emulator's CTAs.
EMULATOR_MANY_TILES = Shape(200, 264, 72)

# For the GPU: tile, stage, wave and cluster edges, and ragged ones around them.
GPU = _shapes(
    """
    64x64x64 128x128x64 128x256x64 256x128x128 64x256x32 192x192x96
    1x1x1 1x1x8 1x8x8 8x1x8 1x128x64 128x1x64 1x1000x136 777x1x264 1x4096x512
    8x8x8 16x16x16 24x24x24 40x56x8 100x200x16 130x250x24 257x129x40 63x65x72
    127x255x63 129x257x65 250x500x33 33x17x129 511x513x511
    104x104x104 16x104x64 192x200x136 1000x1000x1000 1752x472x584
    384x640x320 1152x1152x64 1280x2560x64 129x4100x72 2049x515x200
    2048x2048x64 3000x136x8 136x3000x16
    512x512x4096 64x96x8192 130x130x16384
    2304x1280x256 2047x2049x1032
    """
)
