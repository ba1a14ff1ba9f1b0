"""`Tensor.explain`, which imports `pullback.explaining` when it is first called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.tensor import Tensor
from .registry import public

if TYPE_CHECKING:
    from ..explaining import Explanation


@public(function=False, direct=True)
def explain(input: Tensor, gradient: Any = None, **options: Any) -> Explanation:
    """Show step by step what `backward(gradient)` would do from here; see `pullback.explain`."""
    from ..explaining import explain as explain_pass

    return explain_pass(input, gradient, **options)
