"""Products under the names of torch and torch.nn.functional, as one module to import in their place."""

from .products import addmm, baddbmm, bmm, linear, scaled_matmul

__all__ = ["addmm", "baddbmm", "bmm", "linear", "scaled_matmul"]
