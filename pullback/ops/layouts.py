"""A `Layout` says what an operation does to axes. `vmap` and Jacobians of many losses read it, from the field `batch`.

Rules are named by the place where they stand, and imported when they are first needed. An operation on single elements
needs no layout: its `kind` says it. Any other that has none runs example by example, which is right and slow.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from ..core.basics.on_demand import imported

Rule = Callable[..., Any]


def _found(place: Rule | str) -> Rule:
    """A function, or the one at "module:name" of the package, which is imported when it is first needed."""
    found: Rule = imported(place) if isinstance(place, str) else place
    return found


class Layout:
    """Describes what an operation does to axes: how to run it on inputs that have an axis of examples in front."""

    def __init__(
        self,
        rule: Rule | str,
        rows: str | None = None,
        kinds: dict[str, str] | None = None,
        *,
        own_index: Rule | str | None = None,
        always: bool = False,
    ) -> None:
        self._rule: Rule | str = rule
        self._rows: str | None = rows
        self._own_index: Rule | str | None = own_index
        self._kinds: dict[str, str] | None = kinds  # what parameters are: an 'axis', a 'shape', an 'index', ...
        self.always: bool = always  # the rule is asked even where no input is a batch

    @cached_property
    def rule(self) -> Rule:
        """The rule for a batch: `rule(op, values, flags, params, size)`, see `transforms/arrays/batching_rules.py`."""
        found = _found(self._rule)
        return found(**self._kinds) if self._kinds else found

    @cached_property
    def rows(self) -> Rule | None:
        """How the samples of a batch stay apart in a Jacobian of many losses (`multi/treatments.py`); None if they may mix."""
        return None if self._rows is None else _found(f"multi.treatments:{self._rows}")

    @cached_property
    def own_index(self) -> Rule | None:
        """The rule where examples have parameters of their own; None if they are then taken one by one."""
        return None if self._own_index is None else _found(self._own_index)

    def __repr__(self) -> str:
        return f"<layout {self._rule} {self._kinds or ''}>"


ELEMENTWISE: Layout = Layout(
    "transforms.arrays.batching_rules:pointwise", "elementwise"
)  # operands broadcast against each other

_AXES, _LAYERS, _PLACES, _MEMORY = (
    "transforms.arrays.axis_rules:",
    "ops.batching:",
    "transforms.arrays.place_rules:",
    "transforms.arrays.memory_rules:",
)
_INDICES, _GENERAL = "transforms.arrays.index_rules:", "transforms.arrays.batching_rules:"


def along(*names: str) -> Layout:
    """One array, and axes that these parameters give; all others are alike."""
    return Layout(_AXES + "along", "along", dict.fromkeys(names, "axis"))


def shaped(rows: str | None = None, **kinds: str) -> Layout:
    """One array, and parameters that are each an 'axis' (or several), a 'shape', an 'index', or have a 'zero' per axis."""
    return Layout(_AXES + "moved", rows, kinds)


ALL_ALONG: Layout = Layout(_AXES + "joined", "along")  # several arrays of the same axes, and the axis that `axis` gives

# one array
SAME: Layout = Layout(_AXES + "unchanged", "elementwise")  # elements stay where they are, whatever their dtype
LEADING: Layout = Layout(
    _LAYERS + "leading", "row_wise"
)  # the last axes alone are looked at, the same number in all arrays
LAST_AXES: Layout = Layout(_AXES + "unchanged")  # the same, of one matrix
SQUEEZED: Layout = shaped("row_wise", axes="axis", axis="axis")
RESHAPED: Layout = Layout(_AXES + "reshape", "reshaped")
PERMUTED: Layout = Layout(_AXES + "permute", "reordered")
EXPANDED: Layout = Layout(_AXES + "expand", "expanded")
REPEATED: Layout = Layout(_AXES + "repeat")
PADDED: Layout = shaped(before="zero", after="zero")
OF_SHAPE: Layout = shaped(shape="shape")
DIAGONAL: Layout = shaped(axis1="axis", axis2="axis", shape="shape")
DIAGONAL_REPLACED: Layout = Layout(_AXES + "diagonal_replaced")
WINDOWS: Layout = Layout(_AXES + "windows")
WINDOWS_JOINED: Layout = Layout(_AXES + "windows_joined")
MEDIAN_OF_ALL: Layout = Layout(_AXES + "median")
TRACE: Layout = Layout(_AXES + "trace")
PSEUDO_INVERSE: Layout = Layout(_AXES + "pseudo_inverse")
UNKNOWN_SHAPE: Layout = Layout(_GENERAL + "refuse_dynamic_shape")  # it depends on values

# basic and other indices
SLICED: Layout = shaped("picked", index="index")  # `index` has an entry for each axis
INSERTED: Layout = shaped("row_wise", index="index")
PLACED: Layout = shaped(index="index", shape="shape")
REPLACED: Layout = Layout(_AXES + "replaced")
PICKED: Layout = Layout(_INDICES + "picked", "picked", own_index=_INDICES + "picked_by_batch")
PUT: Layout = Layout(_INDICES + "picked", own_index=_INDICES + "picked_by_batch")
GATHERED: Layout = Layout(_PLACES + "along_with_indices", "along")
SCATTERED: Layout = Layout(_PLACES + "along_with_indices")
TAKEN: Layout = Layout(_PLACES + "taken")
PUT_FLAT: Layout = Layout(_PLACES + "put_flat")
SLICES_FILLED: Layout = Layout(_PLACES + "slices_filled")
SLICES_AT: Layout = Layout(_PLACES + "slices_at")
SEARCHED: Layout = Layout(_PLACES + "searched")
FOUND_AMONG: Layout = Layout(_PLACES + "found_among")
FILLED: Layout = Layout(_AXES + "filled", "elementwise")
FILLED_WITH: Layout = Layout(_AXES + "filled_with")

# memory
STRIDED: Layout = Layout(_MEMORY + "strided")
RESTRIDED: Layout = Layout(_MEMORY + "restrided")
WRITTEN: Layout = Layout(_MEMORY + "written")
COPIED_INTO: Layout = Layout(_AXES + "copied_into")

# products
PRODUCT: Layout = Layout(_AXES + "multiplied", "product")
PRODUCT_OF_STACKS: Layout = Layout(_AXES + "multiplied", "row_wise")
PRODUCT_WITH_VECTOR: Layout = Layout(_AXES + "multiplied", "times_vector")
PRODUCT_OF_VECTORS: Layout = Layout(_AXES + "multiplied")
TIMES_TRANSPOSED: Layout = Layout(_AXES + "times_transposed")
TRANSPOSED_TIMES: Layout = Layout(_AXES + "transposed_times")
VDOT: Layout = Layout(_AXES + "vdot")
PRODUCT_ADDED: Layout = Layout(_AXES + "product_added", "product")
PRODUCTS_ADDED: Layout = Layout(_AXES + "batch_added")
LAYER: Layout = Layout(_AXES + "layer", "layer")
CONTRACTION: Layout = Layout(_AXES + "contraction")
MATRICES: Layout = Layout(_AXES + "matrices")  # two operands, whose axes before the last two broadcast
MATRIX_AND_VECTOR: Layout = Layout(_AXES + "matrix_and_vector")
BLOCKS: Layout = Layout(_AXES + "blocks")
DISTANCE: Layout = Layout(_AXES + "distance")

# layers
SAMPLES: Layout = Layout(_LAYERS + "samples")  # arrays of samples: the first axis is theirs
CONVOLVED: Layout = Layout(_LAYERS + "convolved", "planes")
CONVOLVED_WEIGHT: Layout = Layout(_LAYERS + "convolved_weight")
CONVOLVED_KEEPING: Layout = Layout(_GENERAL + "example_by_example", "sample_by_sample")
CHANNELS: Layout = Layout(_LAYERS + "channels_normalized")  # statistics of axis 1 over everything else
GIVEN_CHANNELS: Layout = Layout(_LAYERS + "channels_normalized", "sample_by_sample")
GROUPS: Layout = Layout("ops.normalization:grouped", "sample_by_sample")
LAST_NORMALIZED: Layout = Layout(_LAYERS + "normalized", "trailing")  # as many of the last axes as `axes` says
ATTENTION: Layout = Layout(_LAYERS + "attended", "attended")
ROWS_OF_TABLE: Layout = Layout(_LAYERS + "looked_up", "looked_up")
SPARSE_ROWS_OF_TABLE: Layout = Layout(_LAYERS + "looked_up")
COLLECTED: Layout = Layout(_LAYERS + "collected")
BAGS: Layout = Layout(_GENERAL + "example_by_example", "bagged")
STEP: Layout = Layout(_GENERAL + "example_by_example", "one_step")  # of a recurrent cell
STEPS: Layout = Layout("transforms.arrays.recurrence_rules:folded")
ELEMENTWISE_LOSS: Layout = Layout(_LAYERS + "elementwise_loss", "unreduced")
CLASSES: Layout = Layout(_LAYERS + "class_loss", "unreduced_rows")
PLACED_CLASSES: Layout = Layout(_LAYERS + "placed_classes")
