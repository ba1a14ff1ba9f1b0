"""Random programs of views, writes in place and reads, run on torch and on Pullback side by side.

A program is a list of steps drawn from a seed; each step names its operands by number, so both libraries run the very
same program. Compared after every step: the error's type, values, `requires_grad`, `is_leaf`, `_version`, whether a
tensor is a view, and the name of its node; at the end the gradients of all leaves.
"""

import random
import re
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import pullback  # noqa: E402

PROGRAMS = 600
STEPS = 9


# --- drawing programs: every step is (function of the library and the pool, text) ---


def draw_view(rng, shape):
    """A view step for a tensor of this shape, as a function and its text."""
    ndim = len(shape)
    choices = ["alias", "unsqueeze", "detach", "flatten_view", "expand", "squeeze", "squeeze_dim", "view_as"]
    choices += ["as_strided", "as_strided_at"]
    if ndim:
        choices += ["select", "slice", "narrow", "ellipsis", "none", "permute", "transpose", "split", "chunk", "unbind"]
        choices += ["step", "unfold", "last"]
    if ndim >= 2:
        choices += ["t", "T", "mT", "diagonal", "mixed", "movedim"]
    kind = rng.choice(choices)
    dim = rng.randrange(ndim) if ndim else 0
    size = shape[dim] if ndim else 1
    at = rng.randrange(size) if size else 0
    stop = rng.randint(at, size)
    order = rng.sample(range(ndim), ndim)
    other = rng.randrange(ndim) if ndim else 0
    lead = (slice(None),) * dim
    return kind, {
        "alias": lambda x: x[...],
        "unsqueeze": lambda x: x.unsqueeze(dim),
        "detach": lambda x: x.detach(),
        "flatten_view": lambda x: x.view(-1),
        "view_as": lambda x: x.view(x.shape[::-1]),
        "as_strided": lambda x: x.as_strided((2, 2), (2, 1)),
        "as_strided_at": lambda x: x.as_strided((3,), (1,), 1),
        "expand": lambda x: x.expand(2, *x.shape),
        "squeeze": lambda x: x.squeeze(),
        "squeeze_dim": lambda x: x.squeeze(dim),
        "select": lambda x: x.select(dim, at),
        "slice": lambda x: x[(*lead, slice(at, stop))],
        "step": lambda x: x[(*lead, slice(at, None, 2))],
        "narrow": lambda x: x.narrow(dim, at, stop - at),
        "ellipsis": lambda x: x[..., at % x.shape[-1]],
        "last": lambda x: x[-1],
        "none": lambda x: x[None, at % x.shape[0]],
        "mixed": lambda x: x[0, :, None],
        "permute": lambda x: x.permute(*order),
        "transpose": lambda x: x.transpose(dim, other),
        "movedim": lambda x: x.movedim(dim, other),
        "t": lambda x: x.t(),
        "T": lambda x: x.T,
        "mT": lambda x: x.mT,
        "diagonal": lambda x: x.diagonal(),
        "split": lambda x: x.split(max(1, size // 2), dim)[0],
        "chunk": lambda x: x.chunk(2, dim)[-1],
        "unbind": lambda x: x.unbind(dim)[at],
        "unfold": lambda x: x.unfold(dim, min(2, size), 2),
    }[kind]


def draw_write(rng, shape):
    ndim = len(shape)
    choices = ["mul_number", "add_tensor", "mul_tensor", "zero", "fill", "copy", "exp", "set_all", "masked_fill"]
    choices += ["iadd", "fill_tensor"]
    if ndim:
        choices += ["set_int", "set_slice", "set_mask", "add_slice", "set_tensor", "index_add", "scatter"]
    if ndim and shape[0]:  # torch looks at the bounds of index arrays last, Pullback first
        choices += ["set_index", "index_put", "index_fill"]
    if ndim >= 2:
        choices += ["set_mixed", "set_none", "t_"]
    choices += ["squeeze_", "unsqueeze_"]
    kind = rng.choice(choices)
    number = rng.randint(-2, 3) + 0.5
    at = rng.randrange(shape[0]) if ndim and shape[0] else 0

    def set_mask(lib, x, y):
        x[x > 0] = number

    def set_int(lib, x, y):
        x[at] = number

    def set_slice(lib, x, y):
        x[at:] = number

    def set_index(lib, x, y):
        x[lib.tensor([at, 0])] = number

    def set_tensor(lib, x, y):
        x[at] = y.sum()

    def set_all(lib, x, y):
        x[...] = y

    def add_slice(lib, x, y):
        x[:, None] += 1

    def set_mixed(lib, x, y):
        x[0, ..., 0] = y.mean()

    def set_none(lib, x, y):
        x[None, at] = number

    def iadd(lib, x, y):
        x += y

    index = [at]
    return kind, {
        "mul_number": lambda lib, x, y: x.mul_(number),
        "add_tensor": lambda lib, x, y: x.add_(y),
        "mul_tensor": lambda lib, x, y: x.mul_(y),
        "zero": lambda lib, x, y: x.zero_(),
        "fill": lambda lib, x, y: x.fill_(number),
        "fill_tensor": lambda lib, x, y: x.fill_(y.sum()),
        "copy": lambda lib, x, y: x.copy_(y),
        "exp": lambda lib, x, y: x.mul_(0.1).exp_(),
        "masked_fill": lambda lib, x, y: x.masked_fill_(x > 0, number),
        "index_add": lambda lib, x, y: x.index_add_(0, lib.tensor(index), x[index].detach().clone()),
        "index_fill": lambda lib, x, y: x.index_fill_(0, lib.tensor(index), number),
        "index_put": lambda lib, x, y: x.index_put_((lib.tensor([at, at]),), y.sum(), not expanded(x)),
        "scatter": lambda lib, x, y: x.scatter_(0, lib.zeros(x.shape, dtype=lib.int64), number),
        "t_": lambda lib, x, y: x.t_(),
        "squeeze_": lambda lib, x, y: x.squeeze_(),
        "unsqueeze_": lambda lib, x, y: x.unsqueeze_(0),
        "set_mask": set_mask, "set_int": set_int, "set_slice": set_slice, "set_index": set_index, "set_all": set_all,
        "add_slice": add_slice, "set_mixed": set_mixed, "set_none": set_none, "iadd": iadd, "set_tensor": set_tensor,
    }[kind]  # fmt: skip


def expanded(x):
    """Adding to an element that is many at once is deprecated in torch, and gives what its loops make of it."""
    return any(n > 1 and step == 0 for n, step in zip(x.shape, x.stride(), strict=True))


def draw_read(rng):
    kind = rng.choice(["double", "product", "clone", "sum", "sigmoid", "gather"])
    return kind, {
        "double": lambda lib, x, y: x * 2,
        "product": lambda lib, x, y: x * y,
        "clone": lambda lib, x, y: x.clone(),
        "sum": lambda lib, x, y: x.sum() + y,
        "sigmoid": lambda lib, x, y: lib.sigmoid(x),
        "gather": lambda lib, x, y: x[lib.tensor([0, 0] if x.numel() else [], dtype=lib.int64)],
    }[kind]


# --- running a step on both ---


def attempt(function):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(), None
    except Exception as error:  # whatever torch raises is what we want to see
        return None, error


def node_name(tensor):
    return None if tensor.grad_fn is None else re.sub(r"^torch::autograd::", "", tensor.grad_fn.name())


def state(tensor):
    return {
        "shape": tuple(tensor.shape), "requires_grad": tensor.requires_grad, "version": tensor._version,
        "view": tensor._is_view(),
    }  # fmt: skip


def usable(tensor):
    """False for the outputs of split and the like whose base was written: torch refuses even to name their node."""
    return attempt(lambda: tensor.grad_fn)[1] is None


class Sides:
    """The pool of tensors of one program, on both libraries."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        numbers = np.random.default_rng(seed)
        self.pools = ([], [])
        self.text = []
        self.leaves = []
        for shape in [(3,), (2, 3), (3, 1, 2)][: self.rng.randint(1, 3)]:
            values = numbers.normal(size=shape)
            requires_grad = self.rng.random() < 0.7
            for lib, pool in zip((torch, pullback), self.pools, strict=True):
                pool.append(lib.tensor(values, dtype=lib.float64, requires_grad=requires_grad))
            if requires_grad:
                self.leaves.append(len(self.pools[0]) - 1)
                if self.rng.random() < 0.8:
                    self.add("double", [pool[-1] * 1 for pool in self.pools])

    def add(self, text, results):
        self.text.append(f"t{len(self.pools[0])} = {text}")
        for pool, result in zip(self.pools, results, strict=True):
            pool.append(result)

    def both(self, text, function, *numbers, result):
        wanted, wanted_error = attempt(lambda: function(torch, *[self.pools[0][n] for n in numbers]))
        if wanted_error is not None and "some elements of the input tensor" in str(wanted_error):
            return  # operands that overlap: NumPy copies what it must, torch refuses
        got, got_error = attempt(lambda: function(pullback, *[self.pools[1][n] for n in numbers]))
        label = f"{text}({', '.join(f't{n}' for n in numbers)})"
        assert type(wanted_error) is type(got_error), self.story(f"{label}: {wanted_error!r} against {got_error!r}")
        if wanted_error is not None:
            self.text.append(f"{label} raises {type(wanted_error).__name__}")
            first = str(wanted_error).split(".")[0].split("(")[0][:60]
            same = not LEAF_OR_VIEW.search(str(wanted_error)) or first in str(got_error)
            assert same, self.story(f"{label}: {wanted_error} against {got_error}")
        elif result:
            self.add(label, (wanted, got))
        else:
            self.text.append(label)

    def step(self):
        rng = self.rng
        number = rng.randrange(len(self.pools[0]))
        shape = tuple(self.pools[0][number].shape)
        draw = rng.random()
        if draw < 0.42:
            kind, function = draw_view(rng, shape)
            self.both(kind, lambda lib, x: function(x), number, result=True)
        elif draw < 0.85:
            kind, function = draw_write(rng, shape)
            other = rng.randrange(len(self.pools[0]))
            if other != number and self.share_memory(number, other):
                return  # what torch gives for operands that overlap depends on the order of its loops
            if rng.random() < 0.15 and kind not in ("t_", "squeeze_", "unsqueeze_"):
                self.both(f"no_grad {kind}", _without_grad(function), number, other, result=False)
            else:
                self.both(kind, function, number, other, result=False)
        else:
            kind, function = draw_read(rng)
            self.both(kind, function, number, rng.randrange(len(self.pools[0])), result=True)

    def share_memory(self, number, other):
        first, second = (self.pools[0][n].untyped_storage().data_ptr() for n in (number, other))
        return first == second

    def compare(self):
        for number, (wanted, got) in enumerate(zip(*self.pools, strict=True)):
            assert state(wanted) == state(got), self.story(f"t{number}: {state(wanted)} against {state(got)}")
            if usable(wanted):
                nodes = node_name(wanted), node_name(got), wanted.is_leaf, got.is_leaf
                assert nodes[0] == nodes[1] and nodes[2] == nodes[3], self.story(f"t{number}: {nodes}")
            np.testing.assert_allclose(
                got.detach().numpy(), wanted.detach().numpy(), rtol=1e-9, err_msg=self.story(f"t{number}")
            )

    def compare_gradients(self):
        outcomes = []
        for lib, pool in zip((torch, pullback), self.pools, strict=True):
            outcomes.append(attempt(lambda lib=lib, pool=pool: _gradients(lib, pool, self.leaves)))
        (wanted, wanted_error), (got, got_error) = outcomes
        if wanted_error is not None and TORCH_ONLY.search(str(wanted_error)):
            # An in-place operation that saves its result has a copy of it here, and zeros may be written to an expanded
            # tensor: more programs have a gradient.
            assert got_error is None or type(got_error) is RuntimeError, self.story(repr(got_error))
            return 0
        assert type(wanted_error) is type(got_error), self.story(f"backward: {wanted_error!r} against {got_error!r}")
        if wanted_error is not None:
            return 0
        for leaf, a, b in zip(self.leaves, wanted, got, strict=True):
            assert (a is None) == (b is None), self.story(f"gradient of t{leaf}: {a} against {b}")
            if a is not None:
                story = self.story(f"gradient of t{leaf}")
                np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-8, atol=1e-10, err_msg=story)
        return 1

    def story(self, what):
        return "\n".join([what, *self.text])


TORCH_ONLY = re.compile("modified by an inplace operation|more than one element of the written-to")
LEAF_OR_VIEW = re.compile("leaf Variable|is a view and is being")


def _without_grad(function):
    def run(lib, x, y):
        with lib.no_grad():
            return function(lib, x, y)

    return run


def _gradients(lib, pool, leaves):
    total = sum((x * x).sum() for x in pool if x.requires_grad)
    if not isinstance(total, lib.Tensor):
        return [None] * len(leaves)
    total.backward()
    return [pool[leaf].grad for leaf in leaves]


@pytest.mark.parametrize("block", range(10))
def test_random_programs(block):
    compared = 0
    for seed in range(block * PROGRAMS // 10, (block + 1) * PROGRAMS // 10):
        sides = Sides(seed)
        for _ in range(STEPS):
            sides.step()
            sides.compare()
        compared += sides.compare_gradients()
    assert compared > PROGRAMS // 10 * 0.5  # most programs must get as far as a gradient


BEGINNINGS = {
    "a slice": lambda t, b: b[:2],
    "a view": lambda t, b: b.view(2, 2),
    "of a view": lambda t, b: b.view(2, 2)[1],
    "one of several": lambda t, b: b.unbind()[1],
    "part of a split": lambda t, b: b.split(2)[1],
    "a transpose": lambda t, b: b.view(2, 2).T,
    "diagonal": lambda t, b: b.view(2, 2).diagonal(),
}


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("name", BEGINNINGS)
def test_a_view_follows_a_base_that_begins_to_require_grad(name, recorded):
    """Torch says that such a view requires grad, and then loses its gradient."""
    flags = []
    for t in (torch, pullback):
        base = t.zeros(4)
        with t.set_grad_enabled(recorded):
            view = BEGINNINGS[name](t, base)
        flags.append(
            [view.requires_grad, base.requires_grad_().requires_grad, view.requires_grad, view.detach().requires_grad]
        )
    assert flags[0] == flags[1] == [False, True, True, False]
    (view * pullback.arange(1.0, view.numel() + 1).reshape(view.shape)).sum().backward()
    expected = pullback.zeros(4, requires_grad=True)
    again = BEGINNINGS[name](pullback, expected)
    (again * pullback.arange(1.0, view.numel() + 1).reshape(view.shape)).sum().backward()
    assert base.grad.tolist() == expected.grad.tolist()


def test_views_of_other_dtypes_and_of_detached_tensors_do_not_follow():
    base = pullback.zeros(4)
    numbers, detached = base.view(pullback.int32), base.detach()
    base.requires_grad_()
    assert not numbers.requires_grad and not (numbers + 1).requires_grad and not detached.requires_grad
