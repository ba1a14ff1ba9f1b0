"""`rearrange`: shapes, elements, gradients and errors are torch's."""

import pytest

import pullback

torch = pytest.importorskip("torch")

PATTERNS = [
    ("a b c -> c b a", {}), ("a b c -> (a b) c", {}), ("a b c -> b (c a)", {}), ("a b c -> (c b a)", {}),
    ("(h k) b c -> k b (h c)", {"k": 2}), ("a b (c d) -> d c b a", {"c": 2}), ("a b (c d) -> (d a) b c", {"c": 2, "d": 2}),
    ("a b c -> a 1 b () c", {}), ("... -> (...)", {}), ("a ... -> ... a", {}), ("... c -> c (...)", {}),
    ("a ... c -> (c a) ...", {}), ("a ... -> a (...)", {}), ("a1 b_2 C->C b_2 a1", {"a1": 2}), ("a (b)c -> c a b", {}),
]  # fmt: skip
REFUSED = [
    ("a b -> b a", {}), ("a b c d -> a b c d", {}), ("a b c d ... -> a b c d ...", {}), ("a a c -> a c", {}),
    ("a b c -> a b", {}), ("a b c -> a b c d", {"d": 2}), ("a b c", {}), ("a -> b -> c", {}), ("a b 4 -> b a", {}),
    ("a _ c -> a _ c", {}), ("a b_ c -> c b_ a", {}), ("a (b c -> a b c", {}), ("a b) c -> a b c", {}),
    ("a ((b) c) -> a b c", {}), ("a .. b -> a b", {}), ("a ... b ... -> a ... b", {}), ("a b c -> a ... b c", {}),
    ("a ... -> a", {}), ("a b c -> a b c", {"z": 2}), ("a b c -> a b c", {"a": 5}), ("a,b c -> a b c", {}),
    ("(...) -> ...", {}), ("1a b c -> 1a b c", {}), ("a b (c d) -> a b c d", {}), ("a b (c d) -> a b c d", {"c": 3}),
    ("a b (c d) -> a b c d", {"c": 2, "d": 3}),
]  # fmt: skip


@pytest.mark.parametrize("pattern, sizes", PATTERNS)
def test_elements_and_gradients(pattern, sizes):
    answers = []
    for t in (torch, pullback):
        x = t.arange(24.0).reshape(2, 3, 4).requires_grad_()
        y = t.func.rearrange(x, pattern, **sizes)
        weights = t.arange(24.0).reshape(y.shape)
        (gradient,) = t.autograd.grad(y, x, weights)
        answers.append((tuple(y.shape), y.tolist(), gradient.tolist()))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("pattern, sizes", REFUSED)
def test_patterns_that_make_no_sense(pattern, sizes):
    errors = []
    for t in (torch, pullback):
        with pytest.raises(Exception) as error:  # noqa: PT011
            t.func.rearrange(t.ones(2, 3, 4), pattern, **sizes)
        errors.append((error.type.__name__, str(error.value)[:15]))
    assert errors[0] == errors[1]


def test_axes_of_size_one_are_of_size_one():
    """Torch sums over an axis that is called 1 and is longer."""
    x = pullback.arange(6).reshape(1, 3, 2)
    assert pullback.func.rearrange(x, "1 a b -> b a").tolist() == x[0].T.tolist()
    with pytest.raises(Exception, match="sizes do not match"):
        pullback.func.rearrange(x, "a b 1 -> b a")


def test_lists_batches_and_nothing():
    rows = [pullback.arange(3), pullback.arange(3) + 3]
    assert pullback.func.rearrange(rows, "row column -> (column row)").tolist() == [0, 3, 1, 4, 2, 5]
    x = pullback.arange(24).reshape(2, 3, 4)
    turned = pullback.vmap(lambda v: pullback.func.rearrange(v, "a b -> b a"))(x)
    assert turned.tolist() == x.mT.tolist()
    assert pullback.func.rearrange(pullback.tensor(2.0), "->").shape == ()
    assert pullback.func.rearrange(pullback.zeros(0, 3), "(a b) c -> a (b c)", b=2).shape == (0, 6)
    view = pullback.func.rearrange(x, "a b c -> b a c")
    view[0, 1, 2] = -1
    assert x[1, 0, 2] == -1
