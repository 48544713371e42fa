"""Hypothesis strategies over everything a product may be: types, memory, sizes, epilogues, schedules, batches."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import hypothesis
from hypothesis import strategies as st

from hopper_gemm.registry import Kernel

from . import features
from .memory import Layout
from .problems import FP8, INT8, Product, Term, for_kernel

EDGES = (1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 129, 191, 192, 193, 255, 256, 257)
FLOATS = ("bf16", "fp16", "fp32")
ACTIVATIONS = (None, "relu", "gelu", "gelu_tanh", "silu", "sigmoid")


def sizes(largest: int) -> st.SearchStrategy[int]:
    """Mostly small and at the edges of tiles; zero now and then."""
    edges = [e for e in EDGES if e <= largest]
    eights = st.integers(1, largest // 8).map(lambda i: 8 * i)
    return st.one_of(st.sampled_from(edges), eights, st.integers(1, largest), st.integers(0, min(40, largest)))


@st.composite
def layouts(draw: st.DrawFn, *, operand: bool = True) -> Layout:
    """A contiguous matrix as often as one that TMA cannot read, with everything between."""
    row_major = draw(st.booleans())
    kind = draw(st.sampled_from(("contiguous", "aligned", "odd", "strided", "expanded" if operand else "odd")))
    if kind == "contiguous":
        return Layout(row_major)
    if kind == "aligned":
        return Layout(row_major, draw(st.sampled_from((0, 1))), draw(st.sampled_from((0, 16, 48))), whole=16)
    if kind == "expanded":
        return Layout(row_major, expand=draw(st.sampled_from(("rows", "columns", "batch"))))
    step = draw(st.integers(2, 3)) if kind == "strided" else 1
    return Layout(row_major, draw(st.sampled_from((0, 1, 2, 3, 5, 8, 13))), draw(st.integers(0, 17)), step)


@st.composite
def terms(draw: st.DrawFn, of: tuple[str, ...]) -> Term:
    layout = Layout(draw(st.booleans()), draw(st.sampled_from((0, 0, 1, 8))), draw(st.integers(0, 3)))
    return Term(draw(st.sampled_from(of)), draw(st.sampled_from(FLOATS)), layout)


@st.composite
def products(draw: st.DrawFn, largest: int = 300, rare: int = 0, dtypes: tuple[str, ...] = ()) -> Product:
    """One product.

    Args:
        largest: size of most dimensions.
        rare: now and then a dimension up to this.
        dtypes: input types; all that have kernels by default.
    """
    a_dtype = draw(st.sampled_from(dtypes or features.dtypes()))
    pairs = FP8 if a_dtype in FP8 else INT8 if a_dtype in INT8 else (a_dtype,)
    b_dtype = draw(st.sampled_from([d for d in pairs if features.has(d)]))
    m, n, k = (draw(sizes(largest)) for _ in range(3))
    if rare and draw(st.integers(0, 19)) == 0:
        which, value = draw(st.sampled_from("mnk")), draw(st.integers(largest, rare))
        m, n, k = (value if name == which else size for name, size in zip("mnk", (m, n, k)))
    fields = {"m": m, "n": n, "k": k, "a_dtype": a_dtype, "b_dtype": b_dtype}
    fields |= {"integers": draw(st.integers(0, 3)) == 0, "seed": draw(st.integers(0, 2**16))}
    fields |= {
        "a": draw(layouts()),
        "b": draw(layouts()),
        "out": draw(st.none() | layouts(operand=False)),
    }
    if draw(st.integers(0, 2)) == 0:
        fields |= draw(st.sampled_from(_BATCHES))
    scaled = a_dtype in FP8 and draw(st.booleans())
    if scaled:
        fields |= {"scale_a": draw(st.sampled_from(("tensor", "rows"))), "scale_b": draw(st.sampled_from(("tensor", "columns")))}
        fields |= {"a_batch": (), "b_batch": (), "scale_result": draw(st.sampled_from(("", "", "tensor")))}
    fields |= draw(_outputs(a_dtype, fields["out"] is not None))
    if a_dtype not in INT8:
        fields |= draw(_epilogues(scaled))
    fields |= draw(_choices(a_dtype, scaled))
    return Product(**fields)


_BATCHES = [
    {"a_batch": (3,), "b_batch": (3,)}, {"a_batch": (2,), "b_batch": ()}, {"a_batch": (), "b_batch": (4,)},
    {"a_batch": (1,), "b_batch": (5,)}, {"a_batch": (2, 1), "b_batch": (3,)}, {"a_batch": (0,), "b_batch": (1,)},
    {"a_batch": (2, 2), "b_batch": (2, 2)},
]  # fmt: skip


@st.composite
def _outputs(draw: st.DrawFn, a_dtype: str, named: bool) -> dict[str, object]:
    """An output type, which must be named if `out` is given."""
    if a_dtype in INT8:
        return {"out_dtype": "s32" if named else draw(st.sampled_from(("s32", None)))}
    known = [*FLOATS, *FP8]
    name = draw(st.sampled_from(known) if named else st.sampled_from([None, *known]))
    return {"out_dtype": name}


@st.composite
def _epilogues(draw: st.DrawFn, scaled: bool) -> dict[str, object]:
    fields: dict[str, object] = {}
    if draw(st.booleans()):
        fields["bias"] = draw(terms(("vector", "row") if scaled else ("vector", "row", "column")))
    if scaled or draw(st.booleans()):
        return fields
    fields["alpha"] = draw(st.sampled_from((1.0, 0.5, -2.0, 0.0)))
    if draw(st.booleans()):
        fields |= {"c": draw(terms(("full", "row", "column", "one"))), "beta": draw(st.sampled_from((0.0, 1.0, -0.5)))}
    if draw(st.booleans()):
        fields["activation"] = draw(st.sampled_from(ACTIVATIONS))
    if draw(st.integers(0, 2)) == 0:
        fields["residual"] = draw(terms(("full", "row", "column", "one")))
    return fields


@st.composite
def _choices(draw: st.DrawFn, a_dtype: str, scaled: bool) -> dict[str, object]:
    fields: dict[str, object] = {}
    named = sorted({k.schedule.value for k in features.usable_kernels() if k.input == features.KERNEL_INPUTS[a_dtype]})
    if not scaled and draw(st.booleans()):
        fields["schedule"] = draw(st.sampled_from(named))
    if a_dtype == "fp32":
        fields["precision"] = draw(st.sampled_from(("tf32", "tf32", "fp32")))
    if a_dtype in FP8:
        fields["use_fast_accum"] = draw(st.booleans())
    if a_dtype == "fp16" and "schedule" not in fields and draw(st.integers(0, 3)) == 0:
        fields["accumulate"] = "fp16"
    fields["static_b"] = draw(st.integers(0, 3)) == 0
    if "schedule" not in fields and not scaled:
        fields["batch_invariant"] = draw(st.integers(0, 5)) == 0
    return fields


@st.composite
def named(draw: st.DrawFn, kernels: list[Kernel], largest: int = 300) -> Product:
    """A product for a kernel named by config=, its operands lying as that kernel reads them."""
    kernel = draw(st.sampled_from(kernels))
    m, n, k = (max(1, draw(sizes(largest))) for _ in range(3))
    product = for_kernel(kernel, m, n, k, column_major=kernel.exchanges and n > 1 and draw(st.booleans()))

    def moved(layout: Layout) -> Layout:
        return replace(layout, pad=draw(st.sampled_from((0, 1))), offset=draw(st.sampled_from((0, 16, 48))))

    fields: dict[str, object] = {"a": moved(product.a), "b": moved(product.b)}
    padding, shift = draw(st.sampled_from((0, 1, 8))), draw(st.sampled_from((0, 3, 16)))
    fields["out"] = replace(product.out, pad=padding, offset=shift, whole=draw(st.sampled_from((1, 16))))
    fields |= draw(_outputs(product.a_dtype, True))
    fields |= {"integers": draw(st.integers(0, 3)) == 0, "seed": draw(st.integers(0, 2**16)), "static_b": draw(st.booleans())}
    if draw(st.integers(0, 3)) == 0:
        fields |= {"a_batch": (3,), "b_batch": (3,)}
    if product.a_dtype not in INT8 and not kernel.name.endswith("_unfused"):
        fields |= draw(_epilogues(False))
    return replace(product, **fields)


@st.composite
def deep(draw: st.DrawFn, deepest: int = 32768) -> Product:
    """Few tiles and so much K that it may be cut into slices."""
    product = draw(products(largest=160))
    return replace(product, k=256 * draw(st.integers(2, deepest // 256)), a_batch=(), b_batch=())


def endless(strategy: st.SearchStrategy[Product], seed: int, part: int = 10) -> Iterator[Product]:
    """Different products, all drawn afresh.

    From its eleventh example on hypothesis varies each one five times before it draws another, so `part` of them are a run.
    """
    seen: set[Product] = set()
    for run in itertools.count():
        found: list[Product] = []

        @hypothesis.seed(f"{seed}.{run}")
        @hypothesis.settings(
            max_examples=part, deadline=None, database=None, phases=[hypothesis.Phase.generate],
            suppress_health_check=list(hypothesis.HealthCheck),
        )  # fmt: skip
        @hypothesis.given(strategy)
        def add(product: Product) -> None:
            found.append(product)  # noqa: B023

        add()
        yield from dict.fromkeys(product for product in found if product not in seen)
        seen.update(found)
