"""Names for the types in signatures: what a value is, and what may be done with it.

Most modules import them under `TYPE_CHECKING`; those whose signatures programs may look up import them as they are. A name
for Any stands where values of several kinds behave alike and no annotation of Python's says so: there the comment is the
definition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

# --- arrays and what is computed from them ---

# numpy.ndarray, a NumPy scalar in place of an array without dims, or an array of another kind: batched, another library's
Array: TypeAlias = Any
# the same in formulas and rules: they say nothing that NumPy's arrays do not know, and checkers hold them to that
NumPyArray: TypeAlias = np.ndarray
# what an operation is applied to: a tensor, an array, a number, or None where an input is left out
Operand: TypeAlias = Any
Operands: TypeAlias = tuple[Operand, ...]
# what an operation gives: a tensor or an array, as its operands are; a tuple of them if it has several outputs
Result: TypeAlias = Any
Shape: TypeAlias = tuple[int, ...]
Axes: TypeAlias = tuple[int, ...]  # of an array, counted from 0
Number: TypeAlias = complex  # of Python's: an int or a float, too
DType: TypeAlias = np.dtype[Any]
Params: TypeAlias = dict[str, Any]  # the parameters of an operation, by name

# --- derivatives ---

# what is carried back: an array, in a recorded pass a tensor; or a short form of an array (`mostly_zeros.py`), None where
# nothing has arrived, a list or tuple with one for each output of a node that has several
Cotangent: TypeAlias = Any
Gradient: TypeAlias = Any  # the same, of one input or one leaf
Formula: TypeAlias = Callable[..., Any]  # (*arrays, **params) -> Result
Rule: TypeAlias = Callable[..., Any]  # (cotangent, *what its parameters name) -> Gradient
Rules: TypeAlias = dict[str, Rule | None]  # by input; None for one that has no gradient
# (cotangent, saved values, params) -> a gradient for each input
Pull: TypeAlias = Callable[[Cotangent, Any, Any], Any]

Tangent: TypeAlias = Any  # what is carried forward beside a value: a tensor, or None where nothing changes

# --- graphs ---

SaveCode: TypeAlias = Any  # an input's number, -1 - an output's, ("shape", input number), or a name such as "arrays"
Source: TypeAlias = Any  # of a rule's argument: the position (int) of a saved value, or the name (str) of a parameter
Saved: TypeAlias = tuple[Any, ...]  # by save code: tensors, arrays, shapes, and what hooks have packed
Values: TypeAlias = Sequence[Any]  # the same, as rules take them
Edge: TypeAlias = Any  # the `Node` or, of a leaf, the `Anchor` that a cotangent goes to; None where none is wanted
Edges: TypeAlias = tuple[Edge, ...]
Slots: TypeAlias = tuple[int, ...]  # for each edge, which output of that node is meant
Root: TypeAlias = tuple[Edge, int]  # an edge and the number of the output
Reach: TypeAlias = set[Any]  # the edges that cotangents are sent to
# (operation, parameters) for each view on the way from a base, with the shape before it where a transpose is needed
Steps: TypeAlias = tuple[Any, ...]

# what a pass has found: (gradients of leaves, those nobody else refers to, nodes that ran, the sweep if it was not ordinary);
# gradients as tensors, by leaf; DONE where they are written already; None where it takes another kind of pass
Found: TypeAlias = Any

# --- what programs give to `backward` and `grad` ---

Output: TypeAlias = Any  # a tensor or a `GradientEdge`
Outputs: TypeAlias = tuple[Output, ...]
Targets: TypeAlias = Any  # one of these or several: a list, a tuple or, of inputs, a dict
Weight: TypeAlias = Any  # of an output: a tensor or what makes one; None for the weight 1 of a single element

# --- functions of programs ---

Function: TypeAlias = Callable[..., Any]
Hook: TypeAlias = Callable[..., Any]
HookPair: TypeAlias = tuple[Any, ...]  # two functions, that pack a saved tensor and get it back
Arguments: TypeAlias = tuple[Any, ...]  # by position
Keywords: TypeAlias = dict[str, Any]  # by name
Axis: TypeAlias = int | tuple[int, ...] | None  # of NumPy's functions: several axes, or None for all of them
Index: TypeAlias = Any  # what stands in brackets: a number, a slice, None, ..., an array, or a tuple of these
# which dims of values are batches: a number, None where there is none, or tuples, lists and dicts of these as values are nested
Dims: TypeAlias = Any
