"""Products of DTensors, and tensor-parallel plans with our Linear: two processes with gloo on the emulator, or with NCCL on
two GPUs."""

from __future__ import annotations

import contextlib
import os
import tempfile

import pytest
import torch
import torch.distributed as dist
import torch.distributed.tensor.parallel  # here, so that the forked workers need not

import hopper_gemm
from hopper_gemm import matmul
from hopper_gemm.nn import Linear

BF16 = torch.bfloat16


TWO_GPUS = pytest.param(
    "cuda", marks=[pytest.mark.gpu, pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")]
)
on_both = pytest.mark.parametrize("device", ["cpu", TWO_GPUS])


def ints(*shape: int, seed: int = 0) -> torch.Tensor:
    values = torch.randint(-2, 3, shape, generator=torch.Generator().manual_seed(seed), device="cpu")
    return values.to(torch.get_default_device(), BF16)


def run(program, device: str, world: int = 2) -> None:
    """`program(mesh)` in `world` processes, whose tensors are on `device` by default."""
    method = "fork" if device == "cpu" else "spawn"  # a process that has used CUDA cannot hand it on
    with tempfile.NamedTemporaryFile() as store:
        torch.multiprocessing.start_processes(_worker, (program, device, world, store.name), world, start_method=method)


def _worker(rank: int, program, device: str, world: int, store: str) -> None:
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if device == "cuda":
        torch.cuda.set_device(rank)
    backend = "gloo" if device == "cpu" else "nccl"
    dist.init_process_group(backend, init_method=f"file://{store}", rank=rank, world_size=world)
    try:
        mesh = dist.device_mesh.init_device_mesh(device, (world,))
        with hopper_gemm.emulator() if device == "cpu" else contextlib.nullcontext(), torch.device(device):
            program(mesh)
    finally:
        dist.destroy_process_group()


def _every_placement(mesh) -> None:
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

    a, b, bias, c = ints(16, 32), ints(32, 48, seed=1), ints(48, seed=2), ints(16, 48, seed=3)
    want = a.double() @ b.double()
    cases = [
        (Replicate(), Replicate(), Replicate()),
        (Shard(0), Replicate(), Shard(0)),
        (Replicate(), Shard(1), Shard(1)),
        (Shard(1), Shard(0), Partial()),
    ]
    for of_a, of_b, of_result in cases:
        da, db = distribute_tensor(a, mesh, [of_a]), distribute_tensor(b, mesh, [of_b])
        y = matmul(da, db)
        assert isinstance(y, DTensor) and y.placements == (of_result,), (y.placements, of_result)
        assert torch.equal(y.full_tensor(), want.to(BF16))
        dbias, dc = distribute_tensor(bias, mesh, [Replicate()]), distribute_tensor(c, mesh, [Replicate()])
        y = matmul(da, db, bias=dbias, c=dc, beta=1.0)
        assert torch.equal(y.full_tensor(), (want + bias.double() + c.double()).to(BF16)), (of_a, of_b)
        y = matmul(da, db, bias=dbias, activation="relu")
        assert torch.equal(y.full_tensor(), (want + bias.double()).relu().to(BF16)), (of_a, of_b)


@on_both
def test_products_of_sharded_matrices(device):
    run(_every_placement, device)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = Linear(32, 64, dtype=BF16)
        self.down = Linear(64, 32, dtype=BF16)
        with torch.no_grad():
            for index, parameter in enumerate(self.parameters()):
                parameter.copy_(ints(*parameter.shape, seed=index))

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


def _tensor_parallel(mesh) -> None:
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    x = ints(8, 32, seed=9)
    alone = Block()
    alone(x).float().sum().backward()
    sharded = parallelize_module(Block(), mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    assert type(sharded.up) is Linear and sharded.up.weight.to_local().shape == (32, 32)
    y = sharded(x)
    assert torch.allclose(y.double(), alone(x).double(), rtol=2**-6, atol=4)
    y.float().sum().backward()
    for p, q in zip(alone.parameters(), sharded.parameters()):
        assert torch.allclose(q.grad.full_tensor().double(), p.grad.double(), rtol=2**-6, atol=2), p.shape


@on_both
def test_a_tensor_parallel_plan(device):
    run(_tensor_parallel, device)


def _sequences(mesh) -> None:
    from torch.distributed.tensor import Shard, distribute_tensor

    x, layer = ints(2, 6, 32), Linear(32, 24, dtype=BF16)
    want = layer(x)
    for parameter in ("weight", "bias"):
        whole = getattr(layer, parameter)
        setattr(layer, parameter, torch.nn.Parameter(distribute_tensor(whole.detach(), mesh, [Shard(0)])))
    y = layer(distribute_tensor(x, mesh))
    assert y.placements == (Shard(2),), y.placements
    assert torch.equal(y.full_tensor(), want)
    y.float().sum().backward()
    ones = torch.ones(12, 24, dtype=torch.float64)
    assert torch.equal(layer.weight.grad.full_tensor(), (ones.t() @ x.double().flatten(0, 1)).to(BF16))


@on_both
def test_a_layer_on_a_batch_of_sequences(device):
    run(_sequences, device)
