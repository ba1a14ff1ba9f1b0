"""Writes in place between forward and backward: after them a gradient is what it would have been, or is refused.

The rows of the operator table (`test_gradients.py`) are called on results that are then written to, one input or output
after the other. What torch allows is allowed, but for the rows in COSTLIER, where torch saves one more copy.
"""

import functools
import types
from pathlib import Path

import numpy as np
import pytest

import pullback

from . import test_gradients as table

COSTLIER = {
    "kron": "torch does not notice writes here, and gives the gradient of other values",
}


@functools.cache
def rows(library):
    """The table's calls, made for a library."""
    if library is pullback:
        return table
    source = Path(table.__file__).read_text(encoding="utf-8")
    for ours, theirs in (
        ("import pullback as torch", "import torch"), ("import pullback.nn", "import torch.nn"),
        ("from pullback.autograd", "from torch.autograd"),
    ):  # fmt: skip
        assert ours in source
        source = source.replace(ours, theirs)
    module = types.ModuleType("table_for_torch")
    exec(compile(source, "table_for_torch", "exec"), vars(module))
    return module


def row(library, name):
    """A call, and its inputs."""
    made = rows(library)
    if name in made.CALLS:
        call, shapes, domain, _ = made.CALLS[name]
    else:
        call, shapes, domain = library, [(3,)], made.UNARY[name][0]
        for part in name.split("."):
            call = getattr(call, part)
    low, high = made.DOMAINS[domain]
    generator = np.random.default_rng(0)
    return call, [generator.uniform(low, high, shape).astype(np.float32) for shape in shapes]


def flat(result):
    return [part for one in result for part in flat(one)] if isinstance(result, (tuple, list)) else [result]


class Called:
    """One call on results of leaves, of which those in the bit set `mask` need gradients."""

    def __init__(self, library, call, arrays, mask, create_graph=False):
        self.library, self.create_graph = library, create_graph
        self.leaves = [library.tensor(array, requires_grad=bool(mask >> i & 1)) for i, array in enumerate(arrays)]
        self.inputs = [leaf.clone() for leaf in self.leaves]
        library.manual_seed(0)
        self.outputs = flat(call(*self.inputs))
        self.roots = [one for one in self.outputs if one.requires_grad]

    def write(self, place):
        """Other values for an input, or for an output if negative."""
        written = self.inputs[place] if place >= 0 else self.outputs[-1 - place]
        with self.library.no_grad():
            if written.dtype == self.library.bool:
                written.logical_not_()
            else:
                written.mul_(0.5) if written.is_floating_point() or written.is_complex() else written.zero_()

    def gradients(self):
        wanted = [leaf for leaf in self.leaves if leaf.requires_grad]
        ones = [self.library.ones_like(root) for root in self.roots]
        return self.library.autograd.grad(
            self.roots, wanted, ones, allow_unused=True, create_graph=self.create_graph
        )  # fmt: skip

    def is_refused(self, place):
        """Whether a write here is noticed; None for views of several, on which torch has another complaint."""
        try:
            self.write(place)
            self.gradients()
        except RuntimeError as error:
            if "modified by an inplace" not in str(error):
                return None
            return True
        return False


def masks(count):
    return sorted({(1 << count) - 1, *(1 << i for i in range(count))})


NAMES = [*table.UNARY, *table.CALLS]


@pytest.mark.parametrize("name", NAMES)
def test_gradients_after_a_write_are_right_or_refused(name):
    call, arrays = row(pullback, name)
    for mask in masks(len(arrays)):
        for create_graph in (False, True):
            plain = Called(pullback, call, arrays, mask, create_graph)
            if not plain.roots:
                continue
            want = plain.gradients()
            for place in (*range(len(arrays)), *range(-len(plain.outputs), 0)):
                written = Called(pullback, call, arrays, mask, create_graph)
                try:
                    written.write(place)
                    found = written.gradients()
                except RuntimeError as error:
                    if not any(words in str(error) for words in ("inplace", "in-place", "more than one element")):
                        raise
                    continue
                for one, other in zip(found, want, strict=True):
                    assert (one is None) is (other is None)
                    if one is not None:
                        assert pullback.allclose(one, other, equal_nan=True), (mask, place)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in COSTLIER])
def test_writes_that_torch_allows_are_allowed(name):
    torch = pytest.importorskip("torch")
    ours, arrays = row(pullback, name)
    theirs, _ = row(torch, name)
    for mask in masks(len(arrays)):
        sample = Called(torch, theirs, arrays, mask)
        if not sample.roots:
            continue
        for place in (*range(len(arrays)), *range(-len(sample.outputs), 0)):
            if Called(torch, theirs, arrays, mask).is_refused(place) is False:
                assert Called(pullback, ours, arrays, mask).is_refused(place) is False, (mask, place)


F = pullback.nn.functional
INDICES = {  # calls of a matrix and a vector of integers
    "x[i]": lambda x, i: x[i],
    "x[:, i]": lambda x, i: x[:, i],
    "x[i, 0]": lambda x, i: x[i, 0],
    "x[i, j]": lambda x, i: x[i, i],
    "x[i] = y": lambda x, i: (y := x * 1, y.__setitem__(i, x[0] * 2), y)[2],
    "x[:, i] = y": lambda x, i: (y := x * 1, y.__setitem__((slice(None), i), x[:, :3] * 2), y)[2],
    "index_put": lambda x, i: x.index_put((i,), x[:3] * 2),
    "index_put_": lambda x, i: (x * 1).index_put_((i,), x[:3] * 2, accumulate=True),
    "index_select": lambda x, i: x.index_select(0, i),
    "index_add": lambda x, i: x.index_add(0, i, x[:3] * 2),
    "index_copy": lambda x, i: x.index_copy(0, i, x[:3] * 2),
    "index_fill": lambda x, i: x.index_fill(0, i, 3.0),
    "index_reduce": lambda x, i: x.index_reduce(0, i, x[:3] * 2, "prod"),
    "gather": lambda x, i: x.gather(0, i[:, None]),
    "scatter": lambda x, i: x.scatter(0, i[:, None], x[:3] * 2),
    "scatter_add": lambda x, i: x.scatter_add(0, i[:, None], x[:3] * 2),
    "take": lambda x, i: x.take(i),
    "embedding": lambda x, i: F.embedding(i, x),
    "embedding_bag": lambda x, i: F.embedding_bag(i[None], x),
    "nll_loss": lambda x, i: F.nll_loss(x[:3], i),
    "cross_entropy": lambda x, i: F.cross_entropy(x[:3], i),
    "multi_margin_loss": lambda x, i: F.multi_margin_loss(x[:3], i),
}


@pytest.mark.parametrize("name", INDICES)
def test_an_index_that_is_written_later(name):
    call = INDICES[name]
    for create_graph in (False, True):
        found = []
        for written in (False, True):
            x = (pullback.arange(12.0) + 1).reshape(4, 3).requires_grad_()
            index = pullback.tensor([1, 2, 1])
            loss = (call(x, index) ** 2).sum()
            try:
                if written:
                    index.zero_()
                found += pullback.autograd.grad(loss, x, create_graph=create_graph)
            except RuntimeError as error:
                assert "modified by an inplace operation" in str(error)
        assert all(pullback.equal(found[0], other) for other in found[1:])


@pytest.mark.parametrize("given", ["mask", "array"])
def test_masks_and_numpy_arrays_may_be_written_after_they_were_an_index(given):
    x = pullback.arange(4.0, requires_grad=True)
    index = x.detach() > 1 if given == "mask" else np.array([2, 3])
    y = x[index] ** 2
    z = x * 1
    z[index] = x[index] * 3
    index[...] = 0
    (y.sum() + z.sum()).backward()
    assert x.grad.tolist() == [1, 1, 4 + 3, 6 + 3]


def test_what_torch_does_not_save_is_copied_only_when_it_is_written():
    x = pullback.rand(2, 3, requires_grad=True)
    logits = x * 1
    loss = F.cross_entropy(logits, pullback.tensor([0, 1]))
    assert loss.grad_fn.saved[0] is logits
    (want,) = pullback.autograd.grad(loss, x, retain_graph=True, create_graph=True)
    part = logits[:1]
    part.mul_(3)  # through a view, and recorded
    assert loss.grad_fn.saved[0] is not logits
    for create_graph in (False, True):
        found = pullback.autograd.grad(loss, x, retain_graph=True, create_graph=create_graph)[0]
        assert pullback.allclose(found, want)
    pullback.autograd.graph.increment_version(again := x * 1)
    loss = F.cross_entropy(again, pullback.tensor([0, 1]))
    pullback.autograd.graph.increment_version(again)  # written already, by somebody else: nothing to copy
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.parametrize("size", [4, 200])
@pytest.mark.parametrize("place", range(4))
def test_attention_may_be_followed_by_writes(place, size):
    def gradient(written, create_graph):
        pullback.manual_seed(0)
        leaves = [pullback.rand(1, 2, size, 8, requires_grad=True) for _ in range(3)]
        values = [leaf * 1 for leaf in leaves]
        values.append(F.scaled_dot_product_attention(*values))
        loss = values[3].sin().sum()
        if written:
            with pullback.no_grad():
                values[place][..., 0].zero_()
        return pullback.autograd.grad(loss, leaves, create_graph=create_graph)

    want = gradient(False, False)
    if place == 3:
        with pytest.raises(RuntimeError, match="output 0 of ScaledDotProduct"):  # of the sine, which saved it
            gradient(True, False)
        return
    for create_graph in (False, True):
        for one, other in zip(gradient(True, create_graph), want, strict=True):
            assert pullback.allclose(one, other, atol=1e-6)


def test_results_of_determinants_and_attention_may_be_written():
    x = (pullback.eye(3) * 2).requires_grad_()
    for call in (pullback.logdet, lambda x: pullback.linalg.slogdet(x)[1], pullback.sinc, pullback.erfinv,
                 pullback.special.ndtr, lambda x: F.scaled_dot_product_attention(x, x, x)):  # fmt: skip
        (want,) = pullback.autograd.grad((call(x * 0.3) * 2).sum(), x)
        for create_graph in (False, True):
            (found,) = pullback.autograd.grad(call(x * 0.3).mul_(2).sum(), x, create_graph=create_graph)
            assert pullback.allclose(found, want)


def test_nodes_that_are_gone_are_not_remembered():
    weight = pullback.ones(4, requires_grad=True)
    for _ in range(200):
        F.rms_norm(pullback.ones(2, 4), (4,), weight).sum().backward()
    assert len(weight._storage.readers) <= 8
    with pullback.no_grad():
        weight.mul_(2)
    assert weight._storage.readers is None


COPIED_BEFORE_WRITES = {
    "ndtr": lambda v: pullback.special.ndtr(v),
    "polar": lambda v: pullback.polar(v, v * 0.5).real,
    "rms_norm": lambda v: F.rms_norm(v, (2,)),
    "cross_entropy": lambda v: F.cross_entropy(v, pullback.tensor([0, 1])),
    "attention": lambda v: F.scaled_dot_product_attention(v, v, v),
}


@pytest.mark.parametrize("name", COPIED_BEFORE_WRITES)
@pytest.mark.parametrize("move", ["transpose_(0, 1)", "t_()", "swapaxes_(0, 1)", "unsqueeze_(0)"])
def test_copies_have_the_shape_that_was_saved(name, move):
    function = COPIED_BEFORE_WRITES[name]
    x = pullback.tensor([[1.0, 0.2], [0.4, 0.5]], requires_grad=True)
    (want,) = pullback.autograd.grad(function(x * x).sum(), x)
    moved = x * x
    loss = function(moved).sum()
    eval(f"moved.{move}")
    (found,) = pullback.autograd.grad(loss, x)
    assert pullback.allclose(found, want)
