from typing import Any

import torch

def gemm(
    id: int, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor, raster: int, group: int, max_ctas: int
) -> None: ...
def gemm_emulated(
    id: int,
    a: torch.Tensor,
    b: torch.Tensor,
    out: torch.Tensor,
    raster: int,
    group: int,
    seed: int,
    sm_count: int,
    timed: bool,
    trace: bool,
) -> dict[str, Any]: ...
def kernels() -> list[dict[str, Any]]: ...
def config_error(config: dict[str, Any]) -> str: ...
def problem_error(id: int, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> str: ...
def launch_shape(
    id: int, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor, raster: int, group: int, max_ctas: int
) -> dict[str, Any]: ...
def device_info(index: int) -> dict[str, Any]: ...
def kernel_resources(id: int, device: int) -> dict[str, int]: ...
