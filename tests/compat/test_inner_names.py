"""Names of torch's inner modules that packages import: they exist, and those that compute give torch's results."""

import collections
import importlib
import subprocess
import sys
import time

import pytest

import pullback
from pullback.shell.torch_names.lookup import find_torch_name

torch = pytest.importorskip("torch")


def at(t, dotted):
    """`torch.a.b` of a library: modules of torch are imported, ours are found where they live."""
    if t is pullback:
        return find_torch_name(dotted)
    module, _, name = dotted.rpartition(".")
    return getattr(importlib.import_module(module), name)


def search_line(t):
    def objective(x, step, direction):
        moved = (x + step * direction).detach().requires_grad_()
        value = ((moved - 3) ** 2).sum() + (moved**4).sum() / 10
        (gradient,) = t.autograd.grad(value, moved)
        return float(value.detach()), gradient

    x, direction = t.tensor([0.0, 1.0], dtype=t.float64), t.tensor([1.0, 0.5], dtype=t.float64)
    value, gradient = objective(x, 0.0, direction)
    search = at(t, "torch.optim.lbfgs._strong_wolfe")
    value, gradient, step, evaluations = search(objective, x, 5.0, direction, value, gradient, gradient.dot(direction))
    return [value, *gradient.tolist(), float(step), evaluations]


def checks(t):
    outcomes = []
    for name in ["_check", "_check_index", "_check_value", "_check_type", "_check_not_implemented"]:
        getattr(t, name)(True, lambda: "never made")
        try:
            getattr(t, name)(False, lambda: "made")
        except Exception as error:
            outcomes.append((type(error).__name__, str(error)))
    return outcomes


def flat_buffers(t):
    tensors = [t.arange(3.0), t.ones(2, 2)]
    flat = at(t, "torch._utils._flatten_dense_tensors")(tensors)
    back = at(t, "torch._utils._unflatten_dense_tensors")(flat, tensors)
    return flat.tolist(), [part.tolist() for part in back]


def conditions(t):
    x = t.tensor([1.0, -2.0])
    chosen = at(t, "torch.cond")(x.sum() > 0, lambda v: v + 1, lambda v: v - 1, (x,))
    return chosen.tolist(), t.sym_max(2, 3), t.sym_int(2.5), t.sym_not(True), t._shape_as_tensor(t.ones(2, 3)).tolist()


def tuples(t):
    as_tuple = at(t, "torch.autograd.functional._as_tuple")
    unpack = at(t, "torch.autograd.functional._tuple_postprocess")
    return as_tuple(3), as_tuple((1, 2)), unpack(((1,), (2,)), (True, False)), unpack((5,), False)


def parsed(t):
    parse = at(t, "torch._C._nn._parse_to")
    answers = [parse("cpu"), parse(t.float64), parse("cpu", t.float16, True), parse(t.ones(1)), parse(device="cpu")]
    return [tuple(map(str, answer)) for answer in answers]


def of_checkpoint(t):
    tools = at(t, "torch.utils.checkpoint.detach_variable"), at(t, "torch.utils.checkpoint.get_device_states")
    x = t.ones(2, requires_grad=True) * 2
    (leaf, other) = tools[0]((x, 3))
    return leaf.is_leaf, leaf.requires_grad, other, tools[1](x)


def swapped(t):
    module, one = t.nn.BatchNorm1d(2), t.ones(2)
    module.extra = t.zeros(2)
    swap = at(t, "torch.nn.utils._named_member_accessor.swap_tensor")
    previous = [swap(module, name, one).tolist() for name in ("weight", "running_mean", "extra")]
    at(t, "torch.nn.utils._named_member_accessor.set_tensor")(module, "new", one)
    kept = [getattr(module, name) is one for name in ("weight", "running_mean", "extra", "new")]
    outcomes = []
    for name, tensor in [("nothing", one), ("a.b", one), ("", one), ("weight", 3), ("eps", one)]:
        try:
            swap(module, name, tensor)
        except Exception as error:
            outcomes.append((type(error).__name__, str(error)))
    return previous, kept, outcomes


def nodes_of_trees(t):
    def of(name):
        return at(t, f"torch.utils._pytree.{name}")

    kinds = "dict list tuple ordereddict defaultdict deque namedtuple".split()
    pair = collections.namedtuple("Pair", "a b")
    flat = [
        list(of("_namedtuple_flatten")(pair(1, 2))[0]),
        of("_dict_flatten")({"a": 1}),
        of("_list_unflatten")((1, 2), None),
    ]
    asked = [of("is_structseq_instance")(each) for each in (time.localtime(), pair(1, 2), (1, 2), 3)]
    return flat, asked, [callable(of(f"_{kind}_{verb}")) for kind in kinds for verb in ("flatten", "unflatten")]


def switches(t):
    function = at(t, "torch._jit_internal.boolean_dispatch")(
        "both", 1, False, lambda x, both=False: (x, x), lambda x, both=False: x, "here", "mine"
    )
    info = at(t, "torch._jit_internal.boolean_dispatched")[function]
    return (
        function(1),
        function(1, True),
        function(1, both=True),
        function(1, both=False),
        function.__name__,
        info["index"],
    )


def clipped(t):
    return at(t, "torch.distributions.transforms._clipped_sigmoid")(t.tensor([-200.0, 0.5, 200.0])).tolist()


def attention_by_steps(t):
    def step(name):
        return at(t, f"torch.nn.functional.{name}")

    q, other = t.arange(12.0).reshape(2, 3, 2) / 7, t.ones(4, 3, 2)
    weight, bias = t.arange(12.0).reshape(6, 2) / 5, t.arange(6.0)
    packed = step("_in_projection_packed")
    cases = [(q, q, q), (q, other, other), (q, other, other + 1)]
    parts = [[part.tolist() for part in packed(*case, weight, bias)] for case in cases]
    parts.append([part.tolist() for part in step("_in_projection")(q, other, other, *weight.chunk(3), *bias.chunk(3))])
    mask = step("_canonical_mask")(t.tensor([True, False]), "mask", None, "other", t.float64)
    sizes = step("_pair")(3), step("_list_with_default")([None, 5], [7, 8, 9])
    facts = step("_mha_shape_check")(q, other, other, None, None, 1), str(mask.dtype), mask.tolist()
    return (
        parts,
        sizes,
        facts,
        str(step("_none_or_dtype")(q)),
        step("_none_or_dtype")(None),
        step("_Reduction").get_enum("sum"),
    )


def attention_refused(t):
    outcomes, x = [], t.ones(1, 2)
    calls = {"_verify_batch_size": ([1, 3, 1],), "_none_or_dtype": (3,), "_list_with_default": ([1, 2], [3]),
             "_in_projection": (x, x, x, x, x, x), "_mha_shape_check": (x, x, x, None, t.ones(1), 1)}  # fmt: skip
    for name, args in calls.items():
        try:
            at(t, f"torch.nn.functional.{name}")(*args)
        except Exception as error:
            outcomes.append((type(error).__name__, str(error)))
    return outcomes


def written_after_torchs_optimizers(t):
    def helper(name):
        return at(t, f"torch.optim.optimizer.{name}")

    class Halving(t.optim.Optimizer):
        def __init__(self, params, differentiable=False):
            super().__init__(params, {"differentiable": differentiable})

        @helper("_use_grad_for_differentiable")
        def step(self):
            for param in self.param_groups[0]["params"]:
                told.append(t.is_grad_enabled())
                self.param_groups[0]["params"] = [param * 0.5]

    told, grads = [], [t.ones(2, dtype=t.complex64), t.ones(1)]
    for differentiable in (False, True):
        Halving([t.ones(2, requires_grad=True)], differentiable).step()
    params = [t.ones(2, dtype=t.complex64), t.ones(1)]
    helper("_view_as_real")(params, grads)
    numbers = helper("_get_value")(t.tensor(2.0)), helper("_get_value")(3), tuple(helper("_to_scalar")(t.ones(1)).shape)
    chosen = (
        helper("_default_to_fused_or_foreach")(params, False, False),
        helper("_default_to_fused_or_foreach")(params, True),
    )
    docs = [bool(helper(f"_{name}_doc")) for name in "params foreach fused capturable differentiable maximize".split()]
    shapes = [tuple(each.shape) for each in params + grads]
    return told, shapes, numbers, chosen, docs, str(helper("_get_scalar_dtype")()), helper("_stack_if_compiling")([1])


def compilers(t):
    marked = t._disable_dynamo(lambda n: n + 1), t._disable_dynamo(recursive=False)(lambda n: n + 2)
    supported = at(t, "torch._dynamo.is_dynamo_supported")()
    return [function(1) for function in marked], at(t, "torch.utils._triton.has_triton")(), supported


def questions_to_trees(t):
    def of(name):
        return at(t, f"torch.utils._pytree.{name}")

    tree = {"a": [1, 2.5], "b": (3,)}
    answers = [of(f"tree_{name}_only")(int, lambda n: n > 1, tree) for name in ("all", "any")]
    return answers, of("arg_tree_leaves")(tree, 4, c=[5])


CASES = [
    attention_by_steps, attention_refused, written_after_torchs_optimizers, questions_to_trees, compilers,
    search_line, checks, flat_buffers, conditions, tuples, parsed, of_checkpoint, swapped, nodes_of_trees,
    switches, clipped,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_as_torch(case):
    expected, result = case(torch), case(pullback)
    assert result == pytest.approx(expected) if case in (search_line, clipped) else result == expected


NAMES = """
    torch._C._TensorMeta torch._C._functorch.is_batchedtensor torch._C.DispatchKeySet torch._C._log_api_usage_once
    torch._subclasses.fake_tensor.is_fake torch._tensor.Tensor torch._vmap_internals._vmap torch.cuda._initialized
    torch.autograd._is_checkpoint_valid torch.cuda.amp.grad_scaler.GradScaler torch.cuda.nvtx.range torch.functional.einsum
    torch.hub.HASH_REGEX torch._VF.lstm torch._VF.gru torch.nn.common_types._ratio_any_t torch.nn.common_types._size_any_opt_t
    torch.hub._get_torch_home torch.multiprocessing.pool.Pool torch.nn.modules.module._addindent
    torch.serialization.DEFAULT_PROTOCOL torch.storage.UntypedStorage torch.utils._pytree._get_node_type
    torch.utils.checkpoint.set_device_states torch.utils.data.dataloader._collate_fn_t
""".split()


@pytest.mark.parametrize("name", NAMES)
def test_the_name_exists(name):
    at(torch, name)
    find_torch_name(name)


def paths(t):
    tree = importlib.import_module("torch.utils._pytree" if t is torch else "pullback.utils._pytree")
    nested = {"a": [1, (2,)], "b": {"c": 3}, "size": t.ones(2, 3).shape}
    leaves, spec = tree.tree_flatten_with_path(nested)
    named = tree.tree_map_with_path(lambda path, leaf: (tree.keystr(path), leaf), nested)
    leaves_of_size = tree.tree_flatten(t.Size([2, 3]))[0], type(tree.tree_map(str, t.Size([2, 3]))).__name__
    return (
        leaves_of_size,
        str(leaves),
        str(spec),
        named,
        tree.key_get(nested, leaves[1][0]),
        tree._dict_flatten({"a": 1}),
    )


def test_paths_in_trees():
    assert paths(pullback) == paths(torch)


def test_weak_keys():
    from pullback.utils.weak import WeakIdKeyDictionary

    numbers, first, second = WeakIdKeyDictionary(), pullback.ones(2), pullback.ones(2)
    numbers[first], numbers[second] = 1, 2
    assert (numbers[first], numbers[second], len(numbers), first in numbers) == (1, 2, 2, True)
    del first
    assert list(numbers.values()) == [2] and next(iter(numbers)) is second


def test_names_of_captured_programs_under_the_alias():
    program = "\n".join(
        [
            "import torch",
            "from functorch.compile import aot_module",
            "from torch._ops import HigherOrderOperator, _OpNamespace",
            "from torch.ao.quantization.pt2e.export_utils import model_is_exported",
            "assert not isinstance(torch.ones(1), torch.masked.MaskedTensor)",
            "from torch._dynamo.utils import maybe_enable_compiled_autograd",
            "with maybe_enable_compiled_autograd(False): pass",
            "class Scan(HigherOrderOperator):",
            "    def __init__(self): super().__init__('scan')",
            "kept = Scan().py_impl('CPU')(len)",
            "double = torch.library.triton_op('mine::double', lambda x: x * 2, mutates_args=())",
            "try: import functorch.nothing",
            "except ModuleNotFoundError as error: missing = error.name",
            "print(kept is len, isinstance(torch.add, HigherOrderOperator), isinstance(torch.ops.aten, _OpNamespace))",
            "print(model_is_exported(torch.nn.ReLU()), torch.ops.mine.double(torch.ones(1)).item(), missing)",
        ]
    )
    done = subprocess.run([sys.executable, "-m", "pullback", "run", "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["True", "False", "True", "None", "2.0", "functorch.nothing"], done.stderr


PASSED_ON = """
torch.nn.functional.Tensor torch.nn.modules.module.Tensor torch.nn.init.Tensor
torch.nn.modules.linear.F torch.nn.modules.conv.Parameter torch.nn.modules.container.Parameter
torch.nn.modules.normalization.Size torch.optim.lr_scheduler.Optimizer torch.optim.sgd.Optimizer
torch.distributions.multivariate_normal.Distribution torch.distributions.half_normal.TransformedDistribution
torch.distributions.kl.Categorical torch.utils.data.dataloader.Dataset
torch.nn.modules.module.device
""".split()


def test_what_files_of_torch_pass_on_is_found_in_them():
    for dotted in PASSED_ON:
        theirs, ours = at(torch, dotted), find_torch_name(dotted)
        assert ours.__name__.replace("pullback", "torch") == theirs.__name__, dotted
    program = "\n".join(f"from {dotted.rpartition('.')[0]} import {dotted.rpartition('.')[2]}" for dotted in PASSED_ON)
    program += """
import torch
from torch.nn.modules.module import torch as same
assert same is torch and Tensor is torch.Tensor and Optimizer is torch.optim.Optimizer and not hasattr(torch.nn, "Tensor")
assert not hasattr(torch.nn.functional, "Sentence") and not hasattr(torch.nn.modules.linear, "add")
"""
    done = subprocess.run([sys.executable, "-c", f"import pullback; pullback.install_as_torch()\n{program}"],
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_gradcheck_is_a_function_and_the_module_it_is_in():
    code = (
        "import pullback; pullback.install_as_torch(); import torch; from torch.autograd import gradcheck as function;"
        "from torch.autograd.gradcheck import GradcheckError, gradcheck; assert function is gradcheck;"
        "assert torch.autograd.gradcheck(lambda x: x * x, (torch.ones(2, dtype=torch.float64, requires_grad=True),))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
