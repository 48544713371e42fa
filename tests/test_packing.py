"""Operands no kernel reads in place: packed by our own kernel, bit by bit, and nothing outside them is read.

Sources lie in poisoned buffers: a read outside shows as a wrong value or as an out-of-bounds finding of the emulator.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.guards import Guarded
from support.reference import Reference, same_bits

import hopper_gemm
from hopper_gemm import _extension, errors, matmul, prepack
from hopper_gemm.explanation import explain

BF16 = torch.bfloat16
SCHEDULES = [s.value for s in hopper_gemm.Schedule]
DTYPES = {1: torch.uint8, 2: torch.int16, 4: torch.int32}
_C = _extension.load()


def ints(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(-2, 3, shape, generator=torch.Generator().manual_seed(seed)).to(BF16)


def exact(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a.double() @ b.double()).to(BF16)


def copy(source: torch.Tensor, target: torch.Tensor, padded: int = 0, seed: int = 0) -> None:
    _C.copy_emulated([(source, target, padded, 0)], seed)


@st.composite
def sources(draw) -> torch.Tensor:
    """A matrix, or a batch of them, of any strides in a buffer of random bytes."""
    bytes_of = draw(st.sampled_from([1, 2, 4]))
    rows, columns, batch = draw(st.integers(1, 150)), draw(st.integers(1, 150)), draw(st.sampled_from([1, 1, 3]))
    step, pad, offset = draw(st.integers(1, 3)), draw(st.integers(0, 20)), draw(st.integers(0, 17))
    row_major = draw(st.booleans())
    pitch = (columns if row_major else rows) * step + pad
    strides = (pitch, step) if row_major else (step, pitch)
    zero = draw(st.sampled_from([None, None, 0, 1]))
    strides = tuple(0 if d == zero else s for d, s in enumerate(strides))
    distance = draw(st.sampled_from([0, 7, rows * columns]))
    info = torch.iinfo(DTYPES[bytes_of])
    generator = torch.Generator().manual_seed(draw(st.integers(0, 99)))
    span = offset + (batch - 1) * distance + (rows - 1) * strides[0] + (columns - 1) * strides[1] + 1
    data = torch.randint(info.min, info.max, (span,), generator=generator, dtype=DTYPES[bytes_of])
    return data.as_strided((batch, rows, columns), (distance, *strides), offset)


@settings(max_examples=120, deadline=None, derandomize=True, database=None)
@given(sources(), st.booleans(), st.integers(0, 50))
def test_any_strides_are_packed_bit_by_bit_and_padded_with_zeros(source, transposed, seed):
    if transposed:
        source = source.mT
    batch, rows, columns = source.shape
    whole = 16 // source.element_size()
    pitch = -(-columns // whole) * whole
    buffer = torch.full((batch, rows, pitch), 77, dtype=source.dtype)
    copy(source, buffer[..., :columns], pitch, seed)
    assert torch.equal(buffer[..., :columns], source) and not buffer[..., columns:].any()


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(sources(), st.integers(0, 50))
def test_a_result_is_copied_to_any_strides_and_nowhere_else(target, seed):
    _, rows, columns = target.shape
    target = target[0]
    if 0 in target.stride():
        target = target.clone()
    whole = 16 // target.element_size()
    result = torch.zeros(rows, -(-columns // whole) * whole, dtype=target.dtype)[:, :columns]
    result.random_(-100 if target.dtype != torch.uint8 else 0, 100)
    span = torch.full((target.storage_offset() + target.untyped_storage().nbytes() + 64,), 99, dtype=target.dtype)
    view = span.as_strided(target.shape, target.stride(), target.storage_offset())
    expected = span.clone()
    expected.as_strided(target.shape, target.stride(), target.storage_offset()).copy_(result)
    copy(result, view, 0, seed)
    assert torch.equal(span, expected)


@pytest.mark.parametrize("columns", [1, 7, 8, 9, 16, 27, 42, 64, 65, 100, 128, 130, 256, 257])
@pytest.mark.parametrize("rows", [1, 63, 511, 513])
def test_tiles_have_the_more_rows_the_shorter_these_are(rows, columns):
    """A tile has 512 pieces of 8 columns: 512 rows of one piece, 16 rows of 32."""
    pieces = -(-columns // 8)
    source = ints(rows, columns + 3, seed=columns)[:, 1 : columns + 1]
    target = torch.full((rows + 2, 8 * pieces), 77, dtype=BF16)
    copy(source, target[1:-1, :columns], 8 * pieces, rows)
    assert torch.equal(target[1:-1, :columns], source) and not target[1:-1, columns:].any()
    assert bool((target[[0, -1]] == 77).all())


@pytest.mark.parametrize("bytes_of", DTYPES)
@pytest.mark.parametrize(("rows", "columns", "offset"), [(1, 5, 1), (2, 3, 0), (40, 42, 3), (513, 13, 1), (70, 129, 7), (9, 257, 15), (3, 2049, 1)])
def test_words_across_the_end_of_a_row_are_read_where_the_next_row_begins(rows, columns, offset, bytes_of):
    """Of dense rows; what lies before and behind the matrix is not read, and of the next row nothing gets into the padding."""
    dtype, pieces = DTYPES[bytes_of], -(-columns * bytes_of // 16)
    data = torch.randint(1, 100, (offset + rows * columns,), dtype=dtype)
    target = torch.full((rows, pieces * 16 // bytes_of), 77, dtype=dtype)
    source = data[offset:].view(rows, columns)
    copy(source, target[:, :columns], target.shape[1])
    assert torch.equal(target[:, :columns], source) and not target[:, columns:].any()


def test_dense_rows_take_fewer_loads_than_those_with_gaps():
    def steps(gap: int) -> int:
        target = torch.zeros(512, 48, dtype=BF16)
        return _C.copy_emulated([(ints(512, 42 + gap)[:, :42], target[:, :42], 48, 0)])["steps"]

    assert steps(0) < 0.95 * steps(1)


@pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")
def test_pieces_are_cut_only_where_words_lie_across_the_ends_of_adjacent_rows(tmp_path):
    """Cutting costs slices and rows of whole words a tenth and gains nothing there (docs/notes/failed_ideas.md)."""
    root, program = Path(__file__).parents[1], tmp_path / "pack_rule"
    sources = ["tests/cpp/pack_rule.cpp", "csrc/dispatch/pack_job.cpp", "csrc/emulator/footprint.cpp"]
    subprocess.run(["g++", "-std=c++20", "-Iinclude", "-Icsrc/emulator", *sources, "-o", str(program)], cwd=root, check=True)
    assert subprocess.run([program], capture_output=True, text=True, check=True).stdout == "111000000\n"


def test_short_rows_take_as_few_threads_as_they_need():
    """What the emulator steps through: 8 CTAs for 512 rows of 6 pieces, 32 for rows of 32."""

    def steps(columns: int) -> int:
        source, target = ints(512, columns), torch.zeros(512, 256, dtype=BF16)
        return _C.copy_emulated([(source, target[:, :columns], -(-columns // 8) * 8, 0)])["steps"]

    assert steps(42) < 0.35 * steps(256)


def test_up_to_four_batch_dimensions_and_more_by_several_launches():
    source = torch.arange(2 * 3 * 2 * 2 * 5 * 9, dtype=torch.int32).view(5, 2, 3, 9, 2, 2).permute(1, 2, 4, 5, 0, 3)
    target = torch.zeros(2, 3, 2, 2, 5, 12, dtype=torch.int32)
    copy(source, target[..., :9], 12)
    assert torch.equal(target[..., :9], source)
    a = ints(2, 2, 1, 2, 2, 5, 7).permute(0, 3, 2, 1, 4, 5, 6)
    with hopper_gemm.emulator():
        assert torch.equal(matmul(a, ints(7, 5)), exact(a, ints(7, 5)))


def test_what_a_copy_cannot_be():
    x, y = torch.zeros(4, 4), torch.zeros(4, 4)
    for bad in ((x, y[:3]), (x, y.to(BF16)), (x[0], y[0]), (x.double(), y.double())):
        with pytest.raises(ValueError, match="copy|copies"):
            copy(*bad)
    with pytest.raises(ValueError, match="one or two"):
        _C.copy_emulated([(x, y, 0, 0)] * 3)
    with pytest.raises(RuntimeError, match="CUDA tensors"):
        _C.copy([(x, y, 0, 0)])


LAYOUTS = {
    "odd pitch": lambda rows, columns: ints(rows, columns + 1)[:, :columns],
    "offset": lambda rows, columns: ints(rows, columns + 8)[:, 1 : columns + 1],
    "both strides over 1": lambda rows, columns: ints(2 * rows, 3 * columns)[::2, ::3],
    "transposed, odd pitch": lambda rows, columns: ints(columns, rows + 3)[:, :rows].t(),
    "rows expanded": lambda rows, columns: ints(1, columns).expand(rows, columns),
    "columns expanded": lambda rows, columns: ints(rows, 1).expand(rows, columns),
    "one element": lambda rows, columns: ints(1, 1, seed=3).expand(rows, columns),
    "overlapping rows": lambda rows, columns: ints(rows * 8 + columns, 1).as_strided((rows, columns), (8, 1)),
    "starts anywhere": lambda rows, columns: ints(rows * columns + 5, 1)[5:].view(rows, columns),
}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_operands_of_any_layout(layout, schedule):
    make = LAYOUTS[layout]
    plain_a, plain_b = ints(70, 88, seed=1), ints(88, 96, seed=2)
    for a, b in ((make(70, 88), plain_b), (plain_a, make(88, 96)), (make(70, 88), make(88, 96))):
        with hopper_gemm.emulator():
            assert torch.equal(matmul(a, b, schedule=schedule), exact(a, b))


def test_operands_that_are_the_same_memory():
    x = ints(65, 65)
    with hopper_gemm.emulator():
        y = ints(64, 64)
        for a, b in (
            (x, x), (x, x.t()), (x[:, :33], x[:33]), (x[:33, 1:], x[1:, 2:]),
            (y, y), (y, y.t()), (y[:48], y[:, 8:].contiguous()), (y[:32, :32], y[32:, 16:]), (y[8:, :24], y[16:40]),
        ):  # fmt: skip
            for schedule in SCHEDULES:
                assert torch.equal(matmul(a, b, schedule=schedule), exact(a, b))


def test_neighbours_that_are_nan_never_meet_the_padding():
    for k in (1, 7, 9, 63, 65):
        a = torch.full((40, k + 2), float("nan"), dtype=BF16)
        b = torch.full((k + 2, 34), float("nan"), dtype=BF16)
        a[:, 1 : k + 1], b[1 : k + 1, 1:33] = ints(40, k), ints(k, 32)
        inside = a[:, 1 : k + 1], b[1 : k + 1, 1:33]
        with hopper_gemm.emulator():
            assert torch.equal(matmul(*inside), exact(*inside))


OUTS = {
    "every second column": lambda buffer: buffer[2:42, 3:99:2],
    "every second column of the transpose": lambda buffer: buffer[3:99:2, 2:42].t(),
    "every third row": lambda buffer: buffer[:120:3, 5:53],
    "both": lambda buffer: buffer[1:121:3, 1:97:2],
    "odd pitch": lambda buffer: buffer[:40, :48],
}


@pytest.mark.parametrize("out_dtype", [BF16, torch.float32])
@pytest.mark.parametrize("where", OUTS)
def test_out_of_any_strides(where, out_dtype):
    a, b = ints(40, 61), ints(61, 48)
    buffer = torch.full((123, 125), -7.0, dtype=out_dtype)
    out = OUTS[where](buffer)
    expected = buffer.clone()
    OUTS[where](expected).copy_(exact(a, b))
    with hopper_gemm.emulator():
        assert matmul(a, b, out=out) is out
    assert torch.equal(buffer, expected)


def test_a_packed_product_has_the_bits_of_the_aligned_one():
    a, b = torch.randn(70, 131).to(BF16), torch.randn(131, 77).to(BF16)
    aligned_b = torch.zeros(131, 80, dtype=BF16)[:, :77].copy_(b)
    aligned_a = torch.zeros(70, 136, dtype=BF16)[:, :131].copy_(a)
    for seed in range(4):
        with hopper_gemm.emulator(seed=seed):
            assert same_bits(matmul(a, b), matmul(aligned_a, aligned_b))
    assert Reference(a, b).problem_with(matmul_on_emulator(a, b)) == ""


def matmul_on_emulator(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    with hopper_gemm.emulator():
        return matmul(a, b)


def test_prepacked_weights_are_read_in_place():
    b = ints(63, 90)[:, 1::2]
    with hopper_gemm.emulator():
        packed = prepack(b)
        assert torch.equal(packed, b) and packed.data_ptr() != b.data_ptr()
        assert prepack(packed) is packed and prepack(ints(64, 64)) is not None
        a = ints(20, 64)[:, :63]
        text = str(explain(a, packed))
        assert "packs" not in text and "packs   b" in str(explain(a, b))
        assert torch.equal(matmul(a, packed), exact(a, b))
        batch = ints(3, 17, 5)
        assert torch.equal(prepack(batch), batch) and "packs" not in str(explain(ints(3, 4, 24)[..., :17], prepack(batch)))
    with pytest.raises(errors.DeviceError):
        prepack(b)
    with hopper_gemm.emulator():
        for bad, text in ((ints(3, 3)[0], "right operand"), (ints(3, 3).short(), "int16"), (ints(3, 3).bool(), "bool")):
            with pytest.raises(TypeError, match=text):
                prepack(bad)
        with pytest.raises(errors.AutogradError, match="detach"):
            prepack(b.float().requires_grad_())
        with torch.no_grad():
            assert torch.equal(prepack(b.float().requires_grad_()), b.float())


@pytest.mark.parametrize("dtype", [torch.int8, torch.float32, torch.float8_e4m3fn])
def test_types_that_kernels_read_along_k_are_prepacked_so(dtype):
    b = torch.randint(-3, 4, (64, 48)).to(dtype)
    with hopper_gemm.emulator():
        packed = prepack(b)
    assert packed.stride(0) == 1 and torch.equal(packed.float(), b.float())
    assert packed.stride(1) * b.element_size() % 16 == 0 and packed.data_ptr() % 16 == 0


def test_explain_says_what_is_packed():
    with hopper_gemm.emulator():
        text = str(explain(ints(100, 63), ints(63, 80), out=ints(100, 160)[:, ::2]))
        plain = explain(ints(104, 64), ints(64, 80))
    assert "packs   a to aligned memory first and the result to out at the end: a workspace of 0.0 MB" in text
    assert "packs" not in str(plain) and plain.predicted_us == plain.plan.chosen.us


def test_the_guard_bands_of_a_strided_product_hold():
    guarded = Guarded(50, 33, BF16, "cpu", aligned=False)
    a, b = ints(50, 31)[:, ::2], ints(16, 33)
    with hopper_gemm.emulator():
        matmul(a, b, out=guarded.view)
    assert torch.equal(guarded.view, exact(a, b)) and guarded.damage() == ""


def test_a_repeated_operand_is_packed_once():
    a, b = ints(1, 5, 7).expand(3, 5, 7), ints(1, 7, 4, seed=1).expand(3, 7, 4)
    with hopper_gemm.emulator():
        for x, y in ((a, b), (a, b[0]), (a[0], b), (a, ints(3, 7, 4)), (ints(3, 5, 7), b), (a.expand(2, 3, 5, 7), b)):
            assert torch.equal(matmul(x, y), exact(x, y))
