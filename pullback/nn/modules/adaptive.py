"""`AdaptiveLogSoftmaxWithLoss`: softmax over many classes whose rare ones share small projections."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import pullback

from ...core.tensor import Tensor
from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    output: Any
    loss: Any


class AdaptiveLogSoftmaxWithLoss(Module):
    """Classes sorted by frequency: the first `cutoffs[0]` are scored directly, each later cluster through a
    projection that is `div_value` times narrower than the one before."""

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(set(cutoffs))
            or cutoffs[0] <= 0
            or cutoffs[-1] > n_classes - 1
            or any(int(cutoff) != cutoff for cutoff in cutoffs)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
                "order, where each value is between 1 and n_classes-1"
            )
        self.in_features: int = in_features
        self.n_classes: int = n_classes
        self.cutoffs: list[int] = [*cutoffs, n_classes]
        self.div_value: float = div_value
        self.head_bias: bool = head_bias
        self.shortlist_size: int = self.cutoffs[0]
        self.n_clusters: int = len(self.cutoffs) - 1
        self.head_size: int = self.shortlist_size + self.n_clusters
        self.head: Linear = Linear(in_features, self.head_size, bias=head_bias, device=device, dtype=dtype)
        self.tail: Any = ModuleList()
        for index, (low, high) in enumerate(pairwise(self.cutoffs)):
            width = int(in_features // (div_value ** (index + 1)))
            self.tail.append(
                Sequential(
                    Linear(in_features, width, bias=False, device=device, dtype=dtype),
                    Linear(width, high - low, bias=False, device=device, dtype=dtype),
                )
            )

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        self.head.reset_parameters()
        for narrow, widen in self.tail:
            narrow.reset_parameters()
            widen.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        self._check(input_, target_)
        batched = target_.dim() > 0
        input = input_ if batched else input_.unsqueeze(0)
        target = target_ if batched else target_.unsqueeze(0)
        if target.numel() and not (0 <= target.min().item() and target.max().item() < self.n_classes):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        head = F.log_softmax(self.head(input), dim=1)
        # The head scores a class of the shortlist, or the cluster that the class belongs to.
        column = target
        output = input.new_zeros(target.shape[0])
        for index, (low, high) in enumerate(pairwise(self.cutoffs)):
            mask = (target >= low) & (target < high)
            rows = mask.nonzero().flatten()
            if rows.numel() == 0:
                continue
            column = pullback.where(mask, self.shortlist_size + index, column)
            scores = F.log_softmax(self.tail[index](input.index_select(0, rows)), dim=1)
            picked = scores.gather(1, (target[rows] - low).unsqueeze(1)).squeeze(1)
            output = output.index_add(0, rows, picked)
        output = output + head.gather(1, column.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    @staticmethod
    def _check(input: Tensor, target: Tensor) -> None:
        if target.dim() == 1:
            if input.shape[0] != target.shape[0]:
                raise RuntimeError("Input and target should have the same size in the batch dimension.")
            if input.dim() != 2:
                raise RuntimeError(
                    f"1D target tensor expects 2D input tensors, but found inputs with size {input.size()}"
                )
        elif target.dim() == 0:
            if input.dim() != 1:
                raise RuntimeError(
                    f"0D target tensor expects 1D input tensors, but found inputs with size {input.size()}"
                )
        else:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")

    def log_prob(self, input: Tensor) -> Tensor:
        """Log probabilities of all classes."""
        return self._full_log_prob(input, self.head(input))

    def _full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        head = F.log_softmax(head_output, dim=1)
        parts = [head[:, : self.shortlist_size]]
        for index, cluster in enumerate(self.tail):
            column = self.shortlist_size + index
            parts.append(F.log_softmax(cluster(input), dim=1) + head[:, column : column + 1])
        return pullback.cat(parts, dim=1)

    def predict(self, input: Tensor) -> Tensor:
        """The likeliest class of each sample; clusters are scored only where the head prefers one."""
        head = self.head(input)
        output = pullback.argmax(head, dim=1)
        in_cluster = output >= self.shortlist_size
        if in_cluster.any():
            output[in_cluster] = pullback.argmax(self._full_log_prob(input[in_cluster], head[in_cluster]), dim=1)
        return output
