"""A `Layout` says what an operation does to axes. `vmap` and Jacobians of many losses read it, from the field `batch`.

Rules are named by the place where they stand, and imported when they are first needed. An operation on single elements
needs no layout: its `kind` says it. Any other that has none runs example by example, which is right and slow.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from ..core.basics.on_demand import import_place

Rule = Callable[..., Any]


def _found(place: Rule | str) -> Rule:
    """A function, or the one at "module:name" of the package, which is imported when it is first needed."""
    found: Rule = import_place(place) if isinstance(place, str) else place
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
    "transforms.arrays.batching_rules:batch_elementwise", "treat_elementwise"
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
    return Layout(_AXES + "rule_for_axes", "treat_along_axes", dict.fromkeys(names, "axis"))


def shaped(rows: str | None = None, **kinds: str) -> Layout:
    """One array, and parameters that are each an 'axis' (or several), a 'shape', an 'index', or have a 'zero' per axis."""
    return Layout(_AXES + "rule_for_parameters", rows, kinds)


ALL_ALONG: Layout = Layout(
    _AXES + "batch_several_along_axis", "treat_along_axes"
)  # several arrays of the same axes, and the axis that `axis` gives

# one array
SAME: Layout = Layout(
    _AXES + "batch_unchanged", "treat_elementwise"
)  # elements stay where they are, whatever their dtype
LEADING: Layout = Layout(
    _LAYERS + "leading", "treat_row_wise"
)  # the last axes alone are looked at, the same number in all arrays
LAST_AXES: Layout = Layout(_AXES + "batch_unchanged")  # the same, of one matrix
SQUEEZED: Layout = shaped("treat_row_wise", axes="axis", axis="axis")
RESHAPED: Layout = Layout(_AXES + "batch_reshape", "treat_reshape")
PERMUTED: Layout = Layout(_AXES + "batch_permute", "treat_permute")
EXPANDED: Layout = Layout(_AXES + "batch_expand", "treat_expand")
REPEATED: Layout = Layout(_AXES + "batch_repeat")
PADDED: Layout = shaped(before="zero", after="zero")
OF_SHAPE: Layout = shaped(shape="shape")
DIAGONAL: Layout = shaped(axis1="axis", axis2="axis", shape="shape")
DIAGONAL_REPLACED: Layout = Layout(_AXES + "batch_replace_diagonal")
WINDOWS: Layout = Layout(_AXES + "batch_windows")
WINDOWS_JOINED: Layout = Layout(_AXES + "batch_join_windows")
MEDIAN_OF_ALL: Layout = Layout(_AXES + "batch_median")
TRACE: Layout = Layout(_AXES + "batch_trace")
PSEUDO_INVERSE: Layout = Layout(_AXES + "batch_pseudo_inverse")
UNKNOWN_SHAPE: Layout = Layout(_GENERAL + "refuse_dynamic_shape")  # it depends on values

# basic and other indices
SLICED: Layout = shaped("treat_index", index="index")  # `index` has an entry for each axis
INSERTED: Layout = shaped("treat_row_wise", index="index")
PLACED: Layout = shaped(index="index", shape="shape")
REPLACED: Layout = Layout(_AXES + "batch_replace_slice")
PICKED: Layout = Layout(_INDICES + "batch_index", "treat_index", own_index=_INDICES + "batch_own_index")
PUT: Layout = Layout(_INDICES + "batch_index", own_index=_INDICES + "batch_own_index")
GATHERED: Layout = Layout(_PLACES + "batch_along_with_indices", "treat_along_axes")
SCATTERED: Layout = Layout(_PLACES + "batch_along_with_indices")
TAKEN: Layout = Layout(_PLACES + "batch_take")
PUT_FLAT: Layout = Layout(_PLACES + "batch_put")
SLICES_FILLED: Layout = Layout(_PLACES + "batch_fill_slices")
SLICES_AT: Layout = Layout(_PLACES + "batch_slices")
SEARCHED: Layout = Layout(_PLACES + "batch_search_sorted")
FOUND_AMONG: Layout = Layout(_PLACES + "batch_isin")
FILLED: Layout = Layout(_AXES + "batch_masked_fill", "treat_elementwise")
FILLED_WITH: Layout = Layout(_AXES + "batch_fill_all")

# memory
STRIDED: Layout = Layout(_MEMORY + "batch_strided")
RESTRIDED: Layout = Layout(_MEMORY + "batch_restrided")
WRITTEN: Layout = Layout(_MEMORY + "batch_write_strided")
COPIED_INTO: Layout = Layout(_AXES + "batch_copy_into")

# products
PRODUCT: Layout = Layout(_AXES + "batch_matmul", "treat_product")
PRODUCT_OF_STACKS: Layout = Layout(_AXES + "batch_matmul", "treat_row_wise")
PRODUCT_WITH_VECTOR: Layout = Layout(_AXES + "batch_matmul", "treat_times_vector")
PRODUCT_OF_VECTORS: Layout = Layout(_AXES + "batch_matmul")
TIMES_TRANSPOSED: Layout = Layout(_AXES + "batch_times_transposed")
TRANSPOSED_TIMES: Layout = Layout(_AXES + "batch_transposed_times")
VDOT: Layout = Layout(_AXES + "batch_vdot")
PRODUCT_ADDED: Layout = Layout(_AXES + "batch_add_product", "treat_product")
PRODUCTS_ADDED: Layout = Layout(_AXES + "batch_add_products")
LAYER: Layout = Layout(_AXES + "batch_linear", "treat_linear")
CONTRACTION: Layout = Layout(_AXES + "batch_contraction")
MATRICES: Layout = Layout(_AXES + "batch_matrices")  # two operands, whose axes before the last two broadcast
MATRIX_AND_VECTOR: Layout = Layout(_AXES + "batch_matrix_and_vector")
BLOCKS: Layout = Layout(_AXES + "batch_block_diagonal")
DISTANCE: Layout = Layout(_AXES + "batch_distance")

# layers
SAMPLES: Layout = Layout(_LAYERS + "samples")  # arrays of samples: the first axis is theirs
CONVOLVED: Layout = Layout(_LAYERS + "convolved", "treat_convolution")
CONVOLVED_WEIGHT: Layout = Layout(_LAYERS + "convolved_weight")
CONVOLVED_KEEPING: Layout = Layout(_GENERAL + "example_by_example", "treat_sample_by_sample")
CHANNELS: Layout = Layout(_LAYERS + "channels_normalized")  # statistics of axis 1 over everything else
GIVEN_CHANNELS: Layout = Layout(_LAYERS + "channels_normalized", "treat_sample_by_sample")
GROUPS: Layout = Layout("ops.normalization:grouped", "treat_sample_by_sample")
LAST_NORMALIZED: Layout = Layout(_LAYERS + "normalized", "treat_last_axes")  # as many of the last axes as `axes` says
ATTENTION: Layout = Layout(_LAYERS + "attended", "treat_attention")
ROWS_OF_TABLE: Layout = Layout(_LAYERS + "looked_up", "treat_lookup")
SPARSE_ROWS_OF_TABLE: Layout = Layout(_LAYERS + "looked_up")
COLLECTED: Layout = Layout(_LAYERS + "collected")
BAGS: Layout = Layout(_GENERAL + "example_by_example", "treat_bags")
STEP: Layout = Layout(_GENERAL + "example_by_example", "treat_recurrent_cell")  # of a recurrent cell
STEPS: Layout = Layout("transforms.arrays.recurrence_rules:batch_recurrence")
ELEMENTWISE_LOSS: Layout = Layout(_LAYERS + "elementwise_loss", "treat_unreduced_loss")
CLASSES: Layout = Layout(_LAYERS + "class_loss", "treat_unreduced_row_loss")
PLACED_CLASSES: Layout = Layout(_LAYERS + "placed_classes")
