"""A small byte-level transformer whose linear layers are torch's or this library's: what both examples run.

The two kinds take the same arguments, draw the same initial values and have the same state dict.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F

import hopper_gemm

VOCABULARY = 256  # bytes


@dataclass(frozen=True)
class Sizes:
    layers: int = 6
    width: int = 512
    heads: int = 8
    context: int = 256


class TorchLinear(torch.nn.Linear):
    """torch's layer, followed by its activation."""

    def __init__(self, *args, activation: str | None = None, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.activation = activation

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = super().forward(x)
        return F.gelu(y, approximate="tanh") if self.activation == "gelu_tanh" else y


LINEAR = {"torch": TorchLinear, "hopper_gemm": hopper_gemm.nn.Linear}


class Block(torch.nn.Module):
    def __init__(self, sizes: Sizes, linear: type[torch.nn.Linear], **kwargs) -> None:
        super().__init__()
        width = sizes.width
        self.heads = sizes.heads
        self.before_attention = torch.nn.LayerNorm(width, **kwargs)
        self.qkv = linear(width, 3 * width, bias=False, **kwargs)
        self.mix = linear(width, width, bias=False, **kwargs)
        self.before_mlp = torch.nn.LayerNorm(width, **kwargs)
        self.up = linear(width, 4 * width, activation="gelu_tanh", **kwargs)  # the activation is part of the kernel
        self.down = linear(4 * width, width, **kwargs)

    def forward(self, x: torch.Tensor, cache: Cache | None = None) -> torch.Tensor:
        batch, length, width = x.shape
        split = self.qkv(self.before_attention(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = split.permute(2, 0, 3, 1, 4)
        if cache is None:
            attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            attended = cache.attend(q, k, v)
        x = x + self.mix(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(self.up(self.before_mlp(x)))


class Transformer(torch.nn.Module):
    """`kind`: "torch" or "hopper_gemm"."""

    def __init__(self, sizes: Sizes, kind: str, **kwargs) -> None:
        super().__init__()
        self.sizes = sizes
        self.bytes = torch.nn.Embedding(VOCABULARY, sizes.width, **kwargs)
        self.positions = torch.nn.Embedding(sizes.context, sizes.width, **kwargs)
        self.blocks = torch.nn.ModuleList(Block(sizes, LINEAR[kind], **kwargs) for _ in range(sizes.layers))
        self.norm = torch.nn.LayerNorm(sizes.width, **kwargs)
        self.head = LINEAR[kind](sizes.width, VOCABULARY, bias=False, **kwargs)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.bytes(tokens) + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))

    def next(self, token: torch.Tensor, position: torch.Tensor, caches: list[Cache]) -> torch.Tensor:
        """Logits after one more token a sequence; `position` is a tensor, so that a CUDA graph can be replayed."""
        x = (self.bytes(token) + self.positions(position))[:, None]
        for block, cache in zip(self.blocks, caches):
            x = block(x, cache)
        return self.head(self.norm(x))[:, 0]


class Cache:
    """Keys and values of one block, of a fixed size: nothing is allocated while decoding."""

    def __init__(self, batch: int, sizes: Sizes, position: torch.Tensor, dtype: torch.dtype) -> None:
        shape = (batch, sizes.heads, sizes.context, sizes.width // sizes.heads)
        self.keys, self.values = (torch.zeros(shape, device=position.device, dtype=dtype) for _ in range(2))
        self.position = position
        self.slots = torch.arange(sizes.context, device=position.device)

    def attend(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        self.keys.index_copy_(2, self.position, k)
        self.values.index_copy_(2, self.position, v)
        visible = (self.slots <= self.position)[None, None, None]
        return F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=visible)
