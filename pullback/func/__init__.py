"""`torch.func`: functions that take functions. Gradients, Jacobians and batches of any nesting.

`grad`, `vjp`, `jacrev` run backwards (`reverse.py`), `jvp` and `jacfwd` forwards (`forward.py`), as does `linearize`
(`linear.py`); `vmap` runs over batches (`batching.py`); `functional_call` and `stack_module_state` (`modules.py`) make
functions of modules; `rearrange` (`patterns.py`) is about axes. Ours, and reached from the top of the package: `taylor`
(`series.py`), `sparse_jacobian` and `sparse_hessian` (`sparse_jacobians.py`, `sparsity.py`). `older.py` is what
`functorch` had.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core.basics.on_demand import names_on_demand
from .batching import chunk_vmap as chunk_vmap
from .batching import vmap
from .forward import hessian, jacfwd, jvp
from .linear import linearize
from .modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from .reverse import grad, grad_and_value, jacrev, vjp
from .wrapping import debug_unwrap, functionalize

if TYPE_CHECKING:
    from .patterns import rearrange as rearrange

__all__ = [
    "debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev",
    "jvp", "linearize", "rearrange", "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap",
]  # fmt: skip

names_on_demand(__name__, names={".patterns": "rearrange"})
