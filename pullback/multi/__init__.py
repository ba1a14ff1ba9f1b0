"""Losses that are vectors: their Jacobian from an ordinary graph, and ways to make one gradient of several.

losses = torch.stack([loss_a, loss_b])
rows = pullback.jacobian(losses, parameters)            # one batched pass over the graph that is there
pullback.multi.backward(losses, aggregator=UPGrad())    # fills .grad with an aggregate of the rows
"""

from .aggregation import (
    IMTLG,
    MGDA,
    Aggregator,
    AlignedMTL,
    CAGrad,
    Constant,
    DualProj,
    Mean,
    PCGrad,
    Random,
    Sum,
    UPGrad,
)
from .jacobians import backward, gramian, jacobian, jacobian_matrix, leaves_of

__all__ = [
    "Aggregator", "AlignedMTL", "CAGrad", "Constant", "DualProj", "IMTLG", "MGDA", "Mean", "PCGrad", "Random", "Sum",
    "UPGrad",
    "backward", "gramian", "jacobian", "jacobian_matrix", "leaves_of",
]  # fmt: skip
