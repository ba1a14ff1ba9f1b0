"""What is known of an operation stands on its `Op`, as a field of its constructor: what is no field is refused at once."""

import ast
import importlib
import pkgutil
from pathlib import Path

import numpy as np
import pytest

import pullback
from pullback.core import views
from pullback.core.op import FIELDS, Op, elementwise, fused, linear, op
from pullback.core.tape import apply
from pullback.func import series
from pullback.kernels.thresholds import FACTOR_SIDE_BY_SIDE
from pullback.ops import layouts, matmul, shape
from pullback.ops.layouts import Layout
from pullback.shell.torch_names import aten
from pullback.shell.torch_names.aten import name_of
from tests.ops.operations import operations


def test_constructors_share_their_fields():
    """Each takes what `Op` takes, and hands it on."""
    known = {"view": True, "keeps_params": True}
    for make in (elementwise, linear, op):
        made = make("KnownBackward0", lambda x: x, x=lambda: 1, **known)
        assert made.view and made.rare.keeps_params
    made = fused("KnownBackward0", lambda x: (x, x), inputs=("x",), joint=lambda g: (g,))
    assert made.first_only and made.outputs == 0 and {"first_only", "outputs", "joint"} <= FIELDS


@pytest.mark.parametrize("make", [elementwise, linear, op])
@pytest.mark.parametrize(
    "wrong", [{"viw": True}, {"kinds": "op"}, {"unseen_inputs": (1,)}, {"pushfoward": lambda t: t}]
)
@pytest.mark.parametrize("forward", [lambda x: x, np.sin])
def test_unknown_fields_are_refused(make, wrong, forward):
    (name,) = wrong
    with pytest.raises(TypeError, match=f"{name}.* field"):
        make("WrongBackward0", forward, x=lambda: 1, **wrong)


def test_rules_are_of_inputs_that_are_named():
    with pytest.raises(TypeError, match="'y' of WrongBackward0"):
        op("WrongBackward0", np.zeros_like, inputs=("x",), y=lambda g: g)


def test_autocast_is_one_of_three():
    """What is cast is said by the operation, not by the name of its node, which others may share."""
    assert op("MmBackward0", lambda x: x, x=lambda g: g).autocast == "as given"
    assert (matmul.mm.autocast, matmul.vm.autocast, shape.unsafe_reshape.autocast) == ("short", "short", "as given")
    with pytest.raises(TypeError, match="autocast of WrongBackward0 is 'half'.*'full'"):
        op("WrongBackward0", lambda x: x, x=lambda g: g, autocast="half")
    with pytest.raises(TypeError, match="large of WrongBackward0 is 'blocks'.*'by blocks'"):
        op("WrongBackward0", lambda x: x, x=lambda g: g, large="blocks")


def test_operations_and_plans_have_no_other_attributes():
    """What is no field is refused: nothing can be noted on an operation, or on what was planned for it, from outside."""
    made = op("MmBackward0", lambda x: x, x=lambda g: g)
    for thing in (made, made.plan(1, 1), made.plan(1, 1).repeats):
        with pytest.raises(AttributeError, match="other"):
            thing.other = 1


def test_no_registry_of_operations_stands_elsewhere():
    """What is known of an operation is no row of a table with its name, or itself, as a key: that would be missed in silence."""
    found = []
    known = [each for _, each in operations()]
    names = {each.name for each in known} | {each.node_name for each in known}
    for module in pkgutil.walk_packages(pullback.__path__, "pullback."):
        if not module.name.rpartition(".")[2].startswith("__") and not module.name.startswith(NOT_ABOUT_OPERATIONS):
            for name, value in vars(importlib.import_module(module.name)).items():
                holds_them = isinstance(value, dict) and all(isinstance(each, Op) for each in value.values())
                if (
                    isinstance(value, (dict, set, frozenset, tuple, list))
                    and not name.startswith("__")
                    and not holds_them
                ):
                    keys = [key for key in value if isinstance(key, Op) or isinstance(key, str) and key in names]
                    if len(keys) > 1 and f"{module.name}.{name}" not in NOT_ABOUT_OPERATIONS:
                        found.append((f"{module.name}.{name}", keys))
    assert not found


# Modules that load what is not installed, and names of modules that are called as operations are.
NOT_ABOUT_OPERATIONS = ("pullback.testing", "pullback.shell.cli", "pullback.nn.modules", "pullback.nn._module_names")


def test_names_that_fields_give_lead_somewhere():
    known = [each for _, each in operations()]
    assert {each.rare.series for each in known} == {None, *series.RECURRENCES}
    assert {each.rare.taken_apart for each in known} == {None, *aten.PARTS}
    assert {len(each.inputs) for each in known if each.kind == "affine"} == {3}


def test_layouts_have_rules():
    """A layout names its rules by the place where they stand: each is there."""
    places = {
        **dict(operations()),
        "replay": views.replay,
        "copied": views.copy_slices,
        "cleared": views.without_region,
    }
    places |= {name: op("AnyBackward0", lambda x: x, x=lambda g: g, batch=each) for name, each in LAYOUTS.items()}
    seen = {}
    for name, made in places.items():
        if made.batch is not None:
            seen[name] = made.batch
            assert callable(made.batch.rule), name
            assert made.batch.own_index is None or callable(made.batch.own_index), name
            assert made.batch.rows is None or callable(made.batch.rows), name
    assert len(seen) > 400
    with pytest.raises(AttributeError, match="nowhere"):
        _ = Layout("transforms.arrays.axis_rules:nowhere").rule
    with pytest.raises(AttributeError, match="nowhere"):
        _ = Layout("transforms.arrays.axis_rules:batch_unchanged", "nowhere").rows


LAYOUTS = {name: each for name, each in vars(layouts).items() if isinstance(each, Layout)}


def test_without_layout_examples_go_one_by_one():
    """It is said aloud, once, and the values are those of a loop. An `axis` alone does not make an operation batchable."""
    backwards = op("NoLayoutBackward0", lambda x, axis: np.flip(x, axis) * 2, x=None)
    assert backwards.batch is None
    x = pullback.arange(60.0).reshape(20, 3)
    with pytest.warns(UserWarning, match="performance drop.*batching rule for NoLayout.*20 times"):
        found = pullback.func.vmap(lambda row: apply(backwards, (row,), {"axis": 0}))(x)
    np.testing.assert_array_equal(found.numpy(), x.numpy()[:, ::-1] * 2)


@pytest.mark.parametrize("function", [pullback.unique, pullback.unique_consecutive])
def test_slices_that_differ_are_found_for_each_example(function):
    """They have an `axis`, but look at all slices along it together: the batch is not one more axis for them."""
    x = pullback.tensor([[[1.0, 2], [1, 2], [3, 4]], [[5, 6], [7, 8], [7, 8]]])
    found = pullback.func.vmap(lambda example: function(example, dim=0))(x)
    assert found.tolist() == [function(example, dim=0).tolist() for example in x]
    with pytest.raises(RuntimeError, match="different sizes"):
        pullback.func.vmap(lambda example: function(example, dim=0))(pullback.stack([x[0], x[0] + pullback.eye(3, 2)]))


def test_fields_are_given_to_the_constructor():
    """Nothing is written to an operation from outside when it has been made: all that is known of it stands in one place."""
    written = []
    for path in sorted(Path(pullback.__path__[0]).rglob("*.py")):
        waiting: list[ast.AST] = list(ast.parse(path.read_text()).body)
        while waiting:
            node = waiting.pop()
            if not isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Lambda)):
                waiting += ast.iter_child_nodes(node)
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Store)
                and node.attr in FIELDS | set(Op.__slots__) - {"name"}
            ):
                written.append(f"{path.name}:{node.lineno} {node.attr}")
    assert not written


def test_fields_of_few_have_values_for_all():
    made = op("PlainBackward0", lambda x, y: x, x=lambda g: g, y=None)
    assert (made.hidden_inputs, made.differentiable_inputs, made.rare.extras_from, made.rare.rebuild) == (
        (1,),
        1,
        1,
        None,
    )
    other = op(
        "OtherBackward0",
        lambda x, y: x,
        x=lambda g: g,
        y=None,
        hidden_inputs=(),
        extras_from=2,
        large="rules side by side",
    )
    assert (other.hidden_inputs, other.rare.extras_from, other.large_from, other.blocked) == (
        (),
        2,
        FACTOR_SIDE_BY_SIDE,
        False,
    )
    with pytest.raises(TypeError, match="no field extra_from"):
        Op("WrongBackward0", lambda x: x, rules={}, inputs=("x",), extra_from=2)


def test_names_below_autograd_follow_from_the_node_or_stand_on_the_operation():
    def named(node_name, in_place=False, **fields):
        return name_of(op(node_name, lambda x: x, x=lambda g: g, **fields), in_place)

    assert named("NativeLayerNormBackward0") == ("native_layer_norm", "default")
    assert named("BesselJ0Backward0") == ("special_bessel_j0", "default")
    assert named("SumBackward1") == ("sum", "default")
    assert named("SumBackward1", aten="sum.dim_IntList") == ("sum", "dim_IntList")
    assert named("PowBackward0", True, aten="pow.Tensor_Scalar") == ("pow_", "Scalar")
    assert (
        named("FillBackward2", aten="fill_.Scalar")
        == named("FillBackward2", True, aten="fill_.Scalar")
        == ("fill_", "Scalar")
    )
