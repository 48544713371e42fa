from typing import Any

import torch

class Epilogue:
    def __init__(
        self,
        alpha: float,
        beta: float,
        c: torch.Tensor | None,
        bias: torch.Tensor | None,
        activation: str,
        residual: torch.Tensor | None,
        scale_a: torch.Tensor | None,
        scale_b: torch.Tensor | None,
        scale_result: torch.Tensor | None,
    ) -> None: ...

def gemm(
    id: int,
    a: torch.Tensor,
    b: torch.Tensor,
    out: torch.Tensor,
    raster: int,
    group: int,
    max_ctas: int,
    exchanged: bool = False,
    slices: int = 1,
    epilogue: Epilogue | None = None,
) -> None: ...
class Launches:
    def __init__(self, launch: Any = None) -> None: ...
    def remember(
        self,
        a: torch.Tensor,
        b: torch.Tensor,
        out: torch.Tensor | None,
        written: torch.Tensor,
        id: int,
        raster: int,
        group: int,
        max_ctas: int,
        exchanged: bool,
        slices: int,
        static_b: bool = False,
        epilogue: Epilogue | None = None,
        formulas: Any = None,
        keeps_out: bool = False,
    ) -> None: ...
    def clear(self) -> None: ...
    def __len__(self) -> int: ...
    @property
    def call(self) -> Any: ...

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
    protocol_only: bool = False,
    keep_findings: bool = False,
    exchanged: bool = False,
    slices: int = 1,
    epilogue: Epilogue | None = None,
) -> dict[str, Any]: ...
def kernels() -> list[dict[str, Any]]: ...
def config_error(config: dict[str, Any]) -> str: ...
def problem_error(
    id: int,
    a: torch.Tensor,
    b: torch.Tensor,
    out: torch.Tensor,
    exchanged: bool = False,
    epilogue: Epilogue | None = None,
) -> str: ...
def launch_shape(
    id: int,
    a: torch.Tensor,
    b: torch.Tensor,
    out: torch.Tensor,
    raster: int,
    group: int,
    max_ctas: int,
    exchanged: bool = False,
    slices: int = 1,
    epilogue: Epilogue | None = None,
) -> dict[str, Any]: ...
def device_info(index: int) -> dict[str, Any]: ...
def build_info() -> dict[str, Any]: ...
def watchdog_report() -> str: ...
def kernel_resources(id: int, device: int) -> dict[str, int]: ...
def copy(copies: list[tuple[torch.Tensor, torch.Tensor, int, int]]) -> None: ...
def copy_emulated(
    copies: list[tuple[torch.Tensor, torch.Tensor, int, int]], seed: int = 0, sm_count: int = 4, keep_findings: bool = False
) -> dict[str, Any]: ...
def product(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> dict[str, Any]: ...
def is_plain(*tensors: torch.Tensor | None) -> bool: ...
def is_recorded(*tensors: torch.Tensor | None) -> bool: ...
