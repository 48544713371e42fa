"""Every refusal: its type, that it says got / expected / what to do, and that nothing was written."""

from __future__ import annotations

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import hopper_gemm
from hopper_gemm import Config, errors, matmul

BF16 = torch.bfloat16


def ones(*shape: int, dtype: torch.dtype = BF16) -> torch.Tensor:
    return torch.ones(shape, dtype=dtype)


def refused(kind: type[Exception], *args, words: tuple[str, ...] = (), **kwargs) -> str:
    """The text of the refusal, which must be of our own kind and hold all the words."""
    with hopper_gemm.emulator(), pytest.raises(kind) as caught:
        matmul(*args, **kwargs)
    assert isinstance(caught.value, errors.HopperGemmError)
    text = str(caught.value)
    for word in words:
        assert word in text, (word, text)
    assert len(text) > 30
    return text


# --- what the arguments are


@pytest.mark.parametrize("a, b", [((10, 15), (14, 32)), ((2, 5), (3, 7)), ((256, 17), (16, 32)), ((1, 1), (2, 1))])
def test_inner_sizes_differ(a, b):
    refused(ValueError, ones(*a), ones(*b), words=(f"K is {a[1]}", f"{b[0]} in b", "(..., M, K)"))


def test_a_weight_stored_transposed_is_recognised():
    assert "b.mT" in refused(ValueError, ones(8, 64), ones(32, 64))


@pytest.mark.parametrize("a, b", [((), (4, 4)), ((4, 4), ()), ((), ())])
def test_numbers_are_no_operands(a, b):
    refused(ValueError, ones(*a), ones(*b), words=("0 dimensions", "(..., M, K)", "alpha="))


@pytest.mark.parametrize("a, b", [((2, 3, 4, 32), (20, 8)), ((3, 4), (4, 5, 3)), ((7,), (8, 4)), ((8, 4), (5,)), ((3,), (4,))])
def test_inner_sizes_of_vectors_and_batches(a, b):
    refused(ValueError, ones(*a), ones(*b), words=(f"K is {a[-1]}", str(a), str(b)))


@pytest.mark.parametrize("a, b", [((2, 4, 8), (3, 8, 4)), ((2, 3, 4, 8), (2, 2, 8, 4))])
def test_batches_that_do_not_broadcast(a, b):
    refused(ValueError, ones(*a), ones(*b), words=("broadcast", str(a[:-2]), str(b[:-2])))


@pytest.mark.parametrize("value", [None, 3.0, [[1.0]]])
def test_not_a_tensor(value):
    refused(TypeError, value, ones(8, 8), words=("a is not a tensor", type(value).__name__))
    refused(TypeError, ones(8, 8), value, words=("b is not a tensor",))


def test_a_sparse_tensor():
    refused(TypeError, ones(8, 8).to_sparse(), ones(8, 8), words=("dense", "sparse"))


@pytest.mark.parametrize(
    "dtype", [torch.int64, torch.bool, torch.complex64, torch.float64, torch.int32, torch.float8_e4m3fnuz]
)
def test_dtypes_without_a_kernel(dtype):
    a = torch.ones(32, 32).to(dtype)
    refused(TypeError, a, a, words=(str(dtype), "bfloat16", "float16", "dtype"))


def test_mixed_dtypes():
    refused(TypeError, ones(8, 8), ones(8, 8, dtype=torch.float16), words=("dtype", "bfloat16", "torch.float16"))


# --- where they are


def test_cpu_tensors_without_the_emulator():
    with pytest.raises(RuntimeError) as caught:
        matmul(ones(8, 8), ones(8, 8))
    assert isinstance(caught.value, errors.DeviceError)
    for word in ("CUDA", "CPU", "hopper_gemm.emulator()", "HOPPER_GEMM_EMULATE=1"):
        assert word in str(caught.value)
    with pytest.raises(errors.DeviceError):  # also where the 16-byte rule would refuse them
        matmul(ones(4, 4), ones(4, 4))


def test_mixed_devices_are_all_named():
    with FakeTensorMode(allow_non_fake_inputs=True):
        on = {d: torch.empty(64, 64, dtype=BF16, device=d) for d in ("cuda:0", "cuda:1", "cpu")}
        pairs = [
            ((on["cuda:0"], on["cuda:1"]), {}, ("cuda:0", "cuda:1")),
            ((on["cuda:0"], on["cpu"]), {}, ("cuda:0", "cpu")),
            ((on["cuda:0"], on["cuda:0"]), {"out": on["cuda:1"]}, ("a on cuda:0", "out on cuda:1")),
            ((on["cuda:0"], on["cuda:0"]), {"out": on["cpu"]}, ("out on cpu", "device")),
        ]
        for tensors, kwargs, words in pairs:
            with pytest.raises(RuntimeError) as caught:
                matmul(*tensors, **kwargs)
            for word in words:
                assert word in str(caught.value)


def test_a_gpu_that_is_not_hopper_or_none(monkeypatch):
    from hopper_gemm import device

    device.card_of.cache_clear()
    monkeypatch.setattr(device, "device_info", lambda i: {"available": False, "reason": "capability 8.0"})
    with pytest.raises(RuntimeError) as caught:
        device.card_of(0)
    for word in ("cuda:0", "capability 8.0", "Hopper", "sm_90", "emulator"):
        assert word in str(caught.value)
    device.card_of.cache_clear()


# --- how they lie in memory: packed, never refused (tests/test_packing.py)


def test_the_stride_of_a_size_1_dimension_is_ignored():
    row = torch.arange(64, dtype=torch.float32).to(BF16).as_strided((1, 64), (63, 1))
    column = torch.ones(64, dtype=BF16).as_strided((64, 1), (1, 77))
    with hopper_gemm.emulator():
        assert float(matmul(row, column)) == float(row.double().sum().bfloat16())


# --- out


@pytest.mark.parametrize("shape", [(32, 47), (48, 32), (32 * 48,), (0,), (1, 32, 48), (33, 48)])
def test_out_of_the_wrong_shape_is_not_resized(shape):
    out = torch.full(shape, 7.0, dtype=BF16)
    refused(ValueError, ones(32, 64), ones(64, 48), out=out, words=("shape", str(tuple(shape)), "(32, 48)"))
    assert tuple(out.shape) == tuple(shape) and bool((out == 7).all())


def test_out_of_a_dtype_no_kernel_writes():
    out = torch.full((32, 48), 7, dtype=torch.int32)
    refused(TypeError, ones(32, 64), ones(64, 48), out=out, words=("dtype torch.int32", "torch.float32"))
    assert bool((out == 7).all())


def test_out_and_out_dtype_disagree():
    out = torch.full((32, 48), 7.0, dtype=torch.float32)
    words = ("torch.float32", "out_dtype=torch.bfloat16")
    refused(TypeError, ones(32, 64), ones(64, 48), out=out, out_dtype=BF16, words=words)


@pytest.mark.parametrize("value", [torch.float64, torch.int8])
def test_out_dtypes_without_a_kernel(value):
    refused(TypeError, ones(8, 8), ones(8, 8), out_dtype=value, words=(str(value), "torch.bfloat16"))


def test_out_dtype_that_is_no_dtype():
    refused(TypeError, ones(8, 8), ones(8, 8), out_dtype="bf16", words=("'bf16'", "torch.bfloat16"))


def test_expanded_out():
    refused(ValueError, ones(64, 64), ones(64, 64), out=ones(1, 64).expand(64, 64), words=("overlaps itself", "expand"))
    rows = ones(1000).as_strided((10, 64), (8, 1))
    refused(ValueError, ones(10, 64), ones(64, 64), out=rows, words=("overlaps itself", "strides (8, 1)"))
    batch = ones(4, 8).expand(3, 4, 8)
    refused(ValueError, ones(3, 4, 8), ones(8, 8), out=batch, words=("overlaps itself", "expand"))


def test_out_is_an_input_or_overlaps_one():
    base = torch.randint(-2, 3, (64, 64)).to(BF16)
    before = base.clone()
    buffer = ones(100, 64)
    cases = [
        (base, base.t(), base),
        (ones(64, 64), base, base),
        (buffer[:64], ones(64, 64), buffer[36:]),
        (buffer[:64], ones(64, 64), buffer[36:].t()),
    ]
    for a, b, out in cases:
        refused(ValueError, a, b, out=out, words=("overlap", "out="))
    assert torch.equal(base, before)


def test_column_blocks_of_one_buffer_do_not_overlap():
    buffer = torch.ones(64, 192, dtype=BF16)
    with hopper_gemm.emulator():
        y = matmul(buffer[:, :64], buffer[:, 64:128], out=buffer[:, 128:])
    assert bool((y == 64).all()) and bool((buffer[:, :128] == 1).all())


# --- options


@pytest.mark.parametrize("name", ["schedul", "transpose", "OUT"])
def test_unknown_keywords(name):
    with pytest.raises(TypeError) as caught:  # as Python's own: of no other kind
        matmul(ones(8, 8), ones(8, 8), **{name: "auto"})
    text = str(caught.value)
    assert type(caught.value) is TypeError and repr(name) in text and "out_dtype" in text
    assert name != "schedul" or "Did you mean 'schedule'?" in text


@pytest.mark.parametrize("value", ["", "AUTO ", "auto\n", "steam_k"])
def test_unknown_schedules(value):
    refused(ValueError, ones(8, 8), ones(8, 8), schedule=value, words=(repr(value), "'auto'", "'pingpong'"))


@pytest.mark.parametrize("value", [None, 3, b"auto", ["auto"]])
def test_schedules_of_another_type(value):
    refused(TypeError, ones(8, 8), ones(8, 8), schedule=value, words=("Schedule", repr(value)))


@pytest.mark.parametrize("value", ["bf16", 16, ["fp16"], torch.bfloat16])
def test_unknown_accumulators(value):
    refused(ValueError, ones(8, 8), ones(8, 8), accumulate=value, words=(repr(value), "'fp16'"))


def test_fp16_sums_of_bf16():
    refused(TypeError, ones(8, 8), ones(8, 8), accumulate="fp16", words=("fp16 inputs", "bfloat16"))


def test_a_schedule_without_fp16_sums():
    a = ones(64, 64, dtype=torch.float16)
    words = ("'multistage'", "accumulator", "64 x 64 x 64")
    refused(NotImplementedError, a, a, schedule="multistage", accumulate="fp16", words=words)


def test_an_impossible_config_gives_the_bytes():
    config = Config(tile=(128, 256, 64), stages=5)
    text = refused(ValueError, ones(64, 64), ones(64, 64), config=config, words=("impossible", "232448"))
    assert "49152" in text or "245760" in text


def test_an_impossible_kernel_name_gives_the_bytes():
    name = "bf16_bf16_f32_tt_128x256x64_c1x1_s5_cooperative_tma"
    refused(ValueError, ones(64, 64), ones(64, 64), config=name, words=("impossible", "232448"))


def test_a_possible_config_that_is_not_built_names_the_nearest():
    words = ("not in this build", "nearest built", "pingpong")
    refused(ValueError, ones(64, 64), ones(64, 64), config=Config(tile=(128, 104)), schedule="pingpong", words=words)
    name = "bf16_bf16_f32_tt_128x256x64_c1x1_s3_warp_specialized_direct"
    words = ("not in this build", "bf16_bf16_f32_tt_128x256x64_c1x1_s4_warp_specialized_tma")
    refused(ValueError, ones(64, 64), ones(64, 64), config=name, words=words)


def test_a_config_that_names_nothing():
    refused(ValueError, ones(8, 8), ones(8, 8), config="no_such_kernel", words=("names no kernel", "hopper_gemm list"))
    refused(ValueError, ones(8, 8), ones(8, 8), config="*_s99_*", words=("a glob that matches",))
    refused(TypeError, ones(8, 8), ones(8, 8), config=7, words=("Config", "7"))


def test_a_config_of_another_layout_or_type():
    name = "bf16_bf16_f32_tn_64x64x64_c1x1_s5_multistage_direct"
    refused(NotImplementedError, ones(8, 8), ones(8, 8), config=name, words=("another layout than tt", name))
    a = ones(8, 8, dtype=torch.float16)
    refused(NotImplementedError, a, a, config=name, words=("another input type than f16", name))


@pytest.mark.parametrize("kwargs", [{"tile": (128,)}, {"tile": "128x128"}, {"cluster": (1, 2, 3)}, {"tile": (1.5, 2)}])
def test_a_config_of_the_wrong_form(kwargs):
    with pytest.raises(TypeError, match="tuple of"):
        Config(**kwargs)


# --- autograd


@pytest.mark.parametrize("which", ["a", "b", "out"])
def test_inputs_that_require_grad(which):
    tensors = {"a": ones(8, 8), "b": ones(8, 8), "out": ones(8, 8)}
    tensors[which].requires_grad_()
    words = (f"requires_grad=True on {which}", "no_grad")
    refused(NotImplementedError, tensors["a"], tensors["b"], out=tensors["out"], words=words)
    with torch.no_grad(), hopper_gemm.emulator():
        y = matmul(tensors["a"], tensors["b"], out=tensors["out"])
    assert bool((y == 8).all())
