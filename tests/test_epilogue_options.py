"""The options of an epilogue against float64: every option in every schedule, store path, output order and split of K, and
what must not be read. Numbers are compared in the error model of support/error_model.py.
"""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.guards import Guarded
from support.operands import Shape, operands
from support.reference import Reference, same_bits

import hopper_gemm
from hopper_gemm import Schedule, addmm, baddbmm, errors, linear, matmul, scaled_matmul
from hopper_gemm.epilogue import Epilogue
from hopper_gemm.registry import all_kernels

BF16, HALF, F32 = torch.bfloat16, torch.float16, torch.float32
SCHEDULES = [s.value for s in Schedule]
ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu", "sigmoid")
NAN = float("nan")


def terms(m: int, n: int, seed: int = 0) -> dict[str, torch.Tensor]:
    """c of another type and stored by columns, a bias of bf16 at an odd offset, a residual broadcast from a column."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    return {"c": normal(n, m).half().t(), "bias": normal(n + 3).bfloat16()[3:], "residual": normal(m, 1)}


def run(shape: Shape, kind: torch.dtype = BF16, *, layout="tn", seed=0, out_dtype=None, aligned=True, column_major=False, **keywords):
    """One product on the emulator, checked against float64, between guard bands."""
    a, b = operands(shape, layout, kind, seed=seed)
    guarded = Guarded(shape.m, shape.n, out_dtype or kind, "cpu", aligned=aligned, column_major=column_major)
    values = {k: v for k, v in keywords.items() if k not in ("schedule", "config")}
    with hopper_gemm.emulator(seed=seed, sm_count=3):
        y = matmul(a, b, out=guarded.view, **keywords)
    assert Reference(a, b, **values).problem_with(y) == ""
    assert guarded.damage() == ""


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("aligned, out_dtype", [(True, BF16), (False, BF16), (True, HALF), (True, F32)])
def test_everything_at_once_on_every_store_path(schedule, aligned, out_dtype):
    for seed, shape in enumerate((Shape(72, 136, 40), Shape(133, 65, 72))):
        run(
            shape, schedule=schedule, aligned=aligned, out_dtype=out_dtype, seed=seed, alpha=0.5, beta=-1.5, activation="gelu",
            **terms(shape.m, shape.n),
        )  # fmt: skip


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation(schedule, activation):
    run(Shape(70, 72, 96), schedule=schedule, activation=activation, out_dtype=F32, alpha=0.25)


@pytest.mark.parametrize("name", ["c", "bias", "residual"])
@pytest.mark.parametrize("dtype", [BF16, HALF, F32])
@pytest.mark.parametrize("of", ["full", "row", "column", "one", "vector"])
def test_every_addend_of_every_type_and_shape(name, dtype, of):
    m, n = 67, 90
    shape = {"full": (m, n), "row": (1, n), "column": (m, 1), "one": (1, 1), "vector": (n,)}[of]
    values = {name: torch.randn(shape).to(dtype)} | ({"beta": 2.0} if name == "c" else {})
    for column_major in (False, True):  # with the operands exchanged a bias per column becomes one per row
        run(Shape(m, n, 24), column_major=column_major, **values)


@pytest.mark.parametrize("kernel", [k for k in all_kernels() if k.emulated and k.output == "column_major"], ids=lambda k: k.name)
def test_kernels_that_write_columns(kernel):
    dtype = {"bf16": BF16, "f16": HALF}.get(kernel.input)
    if dtype is None:
        pytest.skip("16-bit inputs")
    for shape in (Shape(5, 200, 136), Shape(16, 72, 264)):
        run(shape, dtype, layout=_exchanged(kernel.layout), config=kernel.name, activation="silu", beta=1.0, **terms(shape.m, shape.n))


def _exchanged(layout: str) -> str:
    swap = {"t": "n", "n": "t"}
    return swap[layout[1]] + swap[layout[0]]


@pytest.mark.parametrize("kernel", [k for k in all_kernels() if k.emulated and k.cluster_k > 1], ids=lambda k: k.name)
def test_kernels_that_split_k_over_a_cluster(kernel):
    dtype = BF16 if kernel.input == "bf16" else HALF
    shape = Shape(70, 90, 520)
    a, b = operands(shape, kernel.operand_layout, dtype)
    a, b = a / 16, b / 16
    values = {"alpha": 2.0, "beta": 1.0, "activation": "relu", **terms(shape.m, shape.n)}
    with hopper_gemm.emulator():
        y = matmul(a, b, config=kernel.name, out_dtype=F32, accumulate="fp16" if kernel.accumulator == "f16" else None, **values)
    exact = Reference(a, b, **values).exact
    assert (y.double() - exact).abs().max() < (2e-3 if kernel.accumulator == "f16" else 1e-4)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("m, n", [(65, 40), (1, 9), (7, 1)])
def test_no_k_at_all(schedule, m, n):
    a, b = torch.empty(m, 0, dtype=BF16), torch.empty(0, n, dtype=BF16)
    values = {"beta": 2.0, "activation": "sigmoid", **terms(m, n)}
    for out in (None, torch.full((m, n), NAN, dtype=BF16), torch.full((n, m), NAN, dtype=BF16).t()):
        with hopper_gemm.emulator():
            y = matmul(a, b, schedule=schedule, out=out, **values)
        assert Reference(a, b, **values).problem_with(y) == ""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_nothing_is_read_that_counts_zero(schedule):
    shape = Shape(40, 48, 32)
    a, b = operands(shape, "tn", BF16)
    with hopper_gemm.emulator():
        plain = matmul(a, b, schedule=schedule)
        for value in (NAN, float("inf")):
            c = torch.full((40, 48), value)
            assert same_bits(matmul(a, b, c=c, beta=0, schedule=schedule), plain)
            assert same_bits(addmm(c, a, b, beta=0.0), matmul(a, b))
        assert bool(matmul(a, b, c=torch.full((40, 48), NAN), beta=1, schedule=schedule).isnan().all())


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", ["c", "residual"])
@pytest.mark.parametrize("column_major, aligned", [(False, True), (False, False), (True, True)])
def test_out_may_be_an_addend(schedule, name, column_major, aligned):
    shape = Shape(200, 136, 40)
    a, b = operands(shape, "tn", BF16)
    guarded = Guarded(200, 136, BF16, "cpu", aligned=aligned, column_major=column_major)
    guarded.view.copy_(torch.randn(200, 136))
    before = guarded.view.clone()
    keywords = {"beta": 1.0} if name == "c" else {"activation": "relu"}
    with hopper_gemm.emulator(sm_count=2):
        matmul(a, b, out=guarded.view, schedule=schedule, **{name: guarded.view}, **keywords)
    assert Reference(a, b, **{name: before}, **keywords).problem_with(guarded.view) == "" and guarded.damage() == ""


def test_an_addend_whose_batches_do_not_follow_each_other_is_copied():
    a, b = torch.randint(-2, 3, (2, 3, 16, 64)).bfloat16(), torch.randint(-2, 3, (64, 32)).bfloat16()
    residual = torch.randint(-9, 9, (3, 2, 16, 32)).bfloat16().transpose(0, 1)
    with hopper_gemm.emulator():
        y = matmul(a, b, residual=residual)
    assert torch.equal(y, (a.double() @ b.double() + residual.double()).bfloat16())


def test_non_finite_values_go_through_as_in_torch():
    values = torch.tensor([NAN, float("inf"), float("-inf"), 0.0, -0.0, 1e30, -1e30, 100.0, -100.0])
    a, b = torch.zeros(len(values), 8, dtype=BF16), torch.zeros(8, 8, dtype=BF16)
    functional = torch.nn.functional
    torchs = {
        "relu": torch.relu, "gelu": functional.gelu, "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
        "silu": functional.silu, "sigmoid": torch.sigmoid,
    }  # fmt: skip
    for name, function in torchs.items():
        with hopper_gemm.emulator():
            y = matmul(a, b, bias=values[:, None], activation=name, out_dtype=F32)
        expected = function(values.double())[:, None].expand(-1, 8)
        assert torch.allclose(y.double(), expected, rtol=1e-6, atol=1e-30, equal_nan=True), name


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations_are_as_exact_as_torchs(activation):
    x = torch.linspace(-12, 12, 4096).reshape(64, 64)
    with hopper_gemm.emulator():
        zeros = torch.zeros(64, 8, dtype=BF16), torch.zeros(8, 64, dtype=BF16)
        y = matmul(*zeros, bias=x, activation=activation, out_dtype=F32).double()
    reference = Reference(*zeros, bias=x, activation=activation)
    assert reference.problem_with(y.float()) == ""
    torchs = Reference.__init__.__globals__["ACTIVATIONS"][activation](x).double()
    scale = x.double().abs().clamp(min=1)
    assert ((y - reference.exact).abs() / scale).max() <= 1.1 * ((torchs - reference.exact).abs() / scale).max() + 1e-7


def test_scales_per_tensor_row_and_column():
    a, b = operands(Shape(70, 40, 64), "tn", BF16)
    one, rows, columns = torch.tensor(0.25), torch.rand(70, 1), torch.rand(1, 40)
    bias = torch.randn(40)
    for scale_a, scale_b in itertools.product((one, rows, one.reshape(1, 1)), (one, columns)):
        for out in (None, torch.empty(40, 70, dtype=BF16).t()):
            with hopper_gemm.emulator():
                y = scaled_matmul(a, b, scale_a, scale_b, bias=bias, out=out)
            assert Reference(a, b, scale_a=scale_a, scale_b=scale_b, bias=bias).problem_with(y) == ""
    strided = torch.rand(70, 3)[:, 1:2]
    with hopper_gemm.emulator():
        assert Reference(a, b, scale_a=strided, scale_b=one).problem_with(scaled_matmul(a, b, strided, one)) == ""


@pytest.mark.skipif(not any(k.input == "e4m3" and k.emulated for k in all_kernels()), reason="no fp8 kernels in this build")
def test_scaled_products_agree_with_torchs():
    torch.manual_seed(0)  # 13-bit sums, times 2,500, exceed the last bound for about one seed in 50
    e4m3 = torch.float8_e4m3fn
    a, b = torch.randn(48, 64).to(e4m3), torch.randn(32, 64).to(e4m3).t()
    tensor, rows, columns = torch.tensor(0.5), torch.rand(48, 1), torch.rand(1, 32)
    bias = torch.randn(32).bfloat16()
    with hopper_gemm.emulator():
        for scales in ((tensor, tensor), (rows, columns)):
            ours = scaled_matmul(a, b, *scales, bias=bias, out_dtype=BF16)
            theirs = torch._scaled_mm(a, b, *scales, bias=bias, out_dtype=BF16)
            assert torch.allclose(ours.float(), theirs.float(), rtol=0.02, atol=0.05)
        ours = scaled_matmul(a, b, tensor, tensor, scale_result=torch.tensor(1e4), out_dtype=e4m3)
    exact = (0.25e4 * (a.double() @ b.double())).clamp(-448, 448)
    assert ((ours.double() - exact).abs() <= exact.abs() / 16 + 2).all() and bool((ours.float().abs() == 448).any())


def test_torchs_names_do_what_torchs_do():
    def half(*shape):
        return torch.randn(shape).half()

    x, w, bias = half(2, 3, 64), half(24, 64), half(24)
    p, q, c = half(3, 16, 64), half(3, 64, 24), half(3, 16, 24)
    with hopper_gemm.emulator():
        pairs = [
            (linear(x, w, bias), torch.nn.functional.linear(x.float(), w.float(), bias.float())),
            (linear(x[0, 0], w), torch.nn.functional.linear(x[0, 0].float(), w.float())),
            (addmm(bias, p[0], q[0], beta=2, alpha=3), torch.addmm(bias.float(), p[0].float(), q[0].float(), beta=2, alpha=3)),
            (baddbmm(c, p, q, beta=-1), torch.baddbmm(c.float(), p.float(), q.float(), beta=-1)),
            (baddbmm(bias, p, q), torch.baddbmm(bias.float(), p.float(), q.float())),
            (matmul(p, q, residual=c[:, :1]), p.float() @ q.float() + c[:, :1].float()),
            (matmul(half(2, 1, 8, 16) * 0, half(3, 16, 24), residual=c[:, :8]), c[:, :8].expand(2, 3, 8, 24).float()),
            (matmul(p[0], q[0, :, 0], bias=torch.ones(16)), p[0].float() @ q[0, :, 0].float() + 1),
        ]
        out = c.clone()
        assert baddbmm(out, p, q, out=out) is out
        pairs.append((out, c.float() + p.float() @ q.float()))
    for ours, torchs in pairs:
        assert ours.shape == torchs.shape
        assert torch.allclose(ours.float(), torchs, rtol=2e-3, atol=2e-2)


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_on_the_gpu(schedule):
    """Sizes of several waves, in place, without K and with every activation; the same call twice gives the same bits."""
    for seed, (shape, layout) in enumerate(((Shape(1031, 777, 264), "tn"), (Shape(2048, 1536, 512), "nt"), (Shape(300, 264, 0), "tn"))):
        a, b = operands(shape, layout, BF16, device="cuda", seed=seed)
        values = {name: tensor.cuda() for name, tensor in terms(shape.m, shape.n, seed).items()}
        for activation, dtype in itertools.product((None, *ACTIVATIONS), (BF16, F32)):
            keywords = {"alpha": 0.125, "beta": -2.0, "activation": activation, **values}
            y = matmul(a, b, schedule=schedule, out_dtype=dtype, **keywords)
            assert Reference(a, b, **keywords).problem_with(y) == "", (shape, activation, dtype)
            out = values["c"].to(dtype)
            matmul(a, b, schedule=schedule, out=out, **(keywords | {"c": out}))
            again = matmul(a, b, schedule=schedule, out_dtype=dtype, **(keywords | {"c": values["c"].to(dtype)}))
            assert same_bits(out, again), (shape, activation, dtype)


@settings(max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_options(data):
    m, n, k = (data.draw(st.integers(1, 90), name) for name in "mnk")

    def addend(name):
        if not data.draw(st.booleans(), name):
            return None
        shape = data.draw(st.sampled_from(((m, n), (m, 1), (1, n), (n,), (1, 1))))
        dtype = data.draw(st.sampled_from((BF16, HALF, F32)))
        step, transposed = data.draw(st.integers(1, 2)), data.draw(st.booleans())
        size = [step * s for s in shape]
        whole = torch.randn(size[::-1] if transposed else size).to(dtype)
        whole = whole.permute(*range(whole.dim())[::-1]) if transposed else whole
        return whole[tuple(slice(None, None, step) for _ in shape)]

    values = {name: addend(name) for name in ("c", "bias", "residual")}
    values = {name: tensor for name, tensor in values.items() if tensor is not None}
    values["alpha"] = data.draw(st.sampled_from((1.0, 0.5, -3.0, 0.0)))
    if "c" in values:
        values["beta"] = data.draw(st.sampled_from((1.0, -0.5, 0.0)))
    values["activation"] = data.draw(st.sampled_from((None, *ACTIVATIONS)))
    seed = data.draw(st.integers(0, 99))
    a, b = operands(Shape(m, n, k), data.draw(st.sampled_from(("tn", "nt"))), BF16, seed=seed)
    out = Guarded(m, n, data.draw(st.sampled_from((BF16, HALF, F32))), "cpu", aligned=seed % 2 == 0, column_major=seed % 3 == 0)
    with hopper_gemm.emulator(seed=seed, sm_count=2):
        y = matmul(a, b, out=out.view, schedule=data.draw(st.sampled_from(SCHEDULES)), **values)
    assert Reference(a, b, **values).problem_with(y) == "" and out.damage() == ""


REFUSALS = [
    ({"bias": torch.ones(70)}, errors.ShapeError, "bias does not broadcast", "pass bias[:, None]"),
    ({"c": torch.ones(3, 48), "beta": 1}, errors.ShapeError, "c does not broadcast", "(70, 48)"),
    ({"residual": torch.ones(2, 70, 48)}, errors.ShapeError, "residual does not broadcast", "(70, 48)"),
    ({"activation": "gelu_tahn"}, errors.OptionError, "unknown activation", "'gelu_tanh'"),
    ({"activation": torch.relu}, errors.OptionError, "unknown activation", "'sigmoid'"),
    ({"beta": 1}, errors.OptionError, "beta has nothing to multiply", "pass c"),
    ({"alpha": torch.tensor(2.0)}, errors.ArgumentError, "alpha is not a number", "scaled_matmul"),
    ({"bias": [1.0] * 48}, errors.ArgumentError, "bias is not a tensor", "list"),
    ({"bias": torch.ones(48, dtype=torch.int32)}, errors.DTypeError, "bias has a dtype", "torch.bfloat16"),
    ({"residual": torch.ones(70, 48).to_sparse()}, errors.ArgumentError, "residual is not a dense tensor", "to_dense"),
    ({"biass": torch.ones(48)}, TypeError, "unexpected keyword", "'bias'"),
]


@pytest.mark.parametrize("keywords, kind, what, fix", REFUSALS, ids=lambda x: next(iter(x)) if isinstance(x, dict) else "")
def test_refusals(keywords, kind, what, fix):
    a, b = operands(Shape(70, 48, 16), "tn", BF16)
    out = torch.full((70, 48), 7.0, dtype=BF16)
    with hopper_gemm.emulator(), torch.no_grad(), pytest.raises(kind) as caught:
        matmul(a, b, out=out, **keywords)
    text = str(caught.value)
    assert what.lower() in text.lower() and fix in text.replace("Pass", "pass"), text
    assert bool((out == 7).all())


def test_another_device_is_refused():
    with pytest.raises(errors.DeviceError, match=r"bias is on another device.*\.to\('cpu'\)"):
        Epilogue(bias=torch.ones(48, device="meta")).check((70, 48), torch.device("cpu"))


def test_refusals_of_shared_memory_and_scales():
    a, b = operands(Shape(70, 48, 16), "tn", BF16)
    buffer = torch.zeros(72, 48, dtype=BF16)
    with hopper_gemm.emulator():
        for keywords in ({"c": buffer[1:71], "beta": 1}, {"residual": buffer[2:]}, {"bias": buffer[3]}, {"c": buffer[:70].float(), "beta": 0}):
            if keywords.get("beta") == 0:
                matmul(a, b, out=buffer[:70], **keywords)
                continue
            with pytest.raises(errors.OverlapError, match="overlap in memory"):
                matmul(a, b, out=buffer[:70], **keywords)
        with pytest.raises(errors.ShapeError, match=r"reshape\(70, 1\)"):
            scaled_matmul(a, b, torch.ones(70), torch.ones(1, 48))
        with pytest.raises(errors.DTypeError, match="torch.float32"):
            scaled_matmul(a, b, torch.ones(70, 1, dtype=HALF), torch.ones(1, 48))
        with pytest.raises(errors.ShapeError, match="two matrices"):
            scaled_matmul(a[None], b[None], torch.ones(1), torch.ones(1))
        with pytest.raises(errors.ShapeError, match="takes two matrices"):
            addmm(buffer, a[None], b)
        with pytest.raises(errors.AutogradError, match="no derivative"):
            scaled_matmul(a.requires_grad_(), b, torch.ones(1), torch.ones(1))
