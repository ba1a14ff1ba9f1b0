"""Losses that are vectors: their Jacobian from an ordinary graph, and ways to make one gradient of several.

losses = torch.stack([loss_a, loss_b])
rows = pullback.jacobian(losses, parameters)            # one batched pass over the graph that is there
pullback.multi.backward(losses, aggregator=UPGrad())    # fills .grad with an aggregate of the rows

Rows come from `jacobians.py`; where samples stay apart, from `rows.py`, which asks the layouts of operations what they do to
them. Aggregators are in `aggregation.py`, `columns.py` and `remembering.py`, the problems behind them in `solvers.py`;
`accumulation.py` keeps rows in `.jac`; `scalarization.py` makes one loss of several instead.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core.basics.on_demand import names_on_demand
from .accumulation import backward_to_jac, jac_to_grad, mtl_backward
from .aggregation import (
    IMTLG,
    MGDA,
    Aggregator,
    AlignedMTL,
    CAGrad,
    Constant,
    DualProj,
    FairGrad,
    Mean,
    NashMTL,
    PCGrad,
    Random,
    Sum,
    UPGrad,
    Weighting,
)
from .columns import ConFIG, GradDrop, Krum, TrimmedMean
from .jacobians import (
    backward,
    backward_batched,
    gramian,
    jacobian,
    jacobian_matrix,
    leaves_of,
    per_sample_gradients,
    per_sample_norms,
)
from .remembering import CRMOGM, PCD, ExcessMTL, GradVac, MoDo, SDMGrad

if TYPE_CHECKING:
    from . import scalarization as scalarization

__all__ = [
    "Aggregator", "AlignedMTL", "CAGrad", "CRMOGM", "ConFIG", "Constant", "DualProj", "ExcessMTL", "FairGrad", "GradDrop",
    "GradVac", "IMTLG", "Krum", "MGDA", "Mean", "MoDo", "NashMTL", "PCD", "PCGrad", "Random", "SDMGrad", "Sum",
    "TrimmedMean", "UPGrad", "Weighting",
    "backward", "backward_batched", "backward_to_jac", "gramian", "jac_to_grad", "jacobian", "jacobian_matrix", "leaves_of",
    "mtl_backward", "per_sample_gradients", "per_sample_norms",
]  # fmt: skip

# It needs `nn`, which few who need the rest need.
names_on_demand(__name__, modules=("scalarization",), shown=__name__)
