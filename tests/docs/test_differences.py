"""What the page on differences says that Pullback does; each row of it that a line can show is shown here."""

import numpy as np
import pytest

import pullback

# Words of a row's first column, and an expression that is true if the row's last column is.
SHOWN = [
    ("backward(gradient=...)", "(w * w).backward(gradient=[1, 2, 3]) is None and w.grad.tolist() == [2, 8, 18]"),
    ("memory of `gradient`", "(w * 1).backward(x) is None and w.grad.data_ptr() != x.data_ptr()"),
    ("np.sin(t)", "np.concatenate([np.sin(w), np.ones(2) + t.ones(2)]).requires_grad"),
    ("t * ndarray", "(w * np.arange(3)).dtype == t.float32 and (x * np.arange(3)).dtype == t.float64"),
    ("t < ndarray", "(x < np.arange(3)).tolist() == [False] * 3 and (np.ones(3) + x).tolist() == [2, 3, 4]"),
    ("torch.exp(1.0)", "t.exp(0.0) == 1 and t.exp([0.0, 0.0]).tolist() == [1, 1]"),
    ("x[::-1]", "x[::-1].tolist() == [3, 2, 1]"),
    ("x[1:].copy_(x[:-1])", "x[1:].copy_(x[:-1]).tolist() == [1, 2]"),
    ("from_numpy(array[::-1])", "t.from_numpy(np.arange(3)[::-1]).tolist() == [2, 1, 0]"),
    ("x.size", "x.size == 3 and x.size() == (3,)"),
    ("igamma", "(t.igamma(w, x).sum().backward(), w.grad.isfinite().all())[1]"),
    ("inside `grad`, `jvp`", "t.func.grad(lambda a: (a * t.ones(3).requires_grad_()).sum())(x).tolist() == [1, 1, 1]"),
    ("arithmetic of uint16", "(x.to(t.uint16) + x.to(t.uint16)).dtype == t.uint16"),
    ("x == 300", "not (t.tensor([44], dtype=t.uint8) == 300) and t.tensor([1], dtype=t.uint8) >= -1"),
    ("float16 * 1j", "(x.half() * 1j).dtype == t.complex64"),
    (
        "label_smoothing",
        "t.nn.functional.cross_entropy(w, t.tensor(0), label_smoothing=0.1).grad_fn.name() == 'NllLossBackward0'",
    ),
    ("conjugation", "not (x * 1j).conj().is_conj()"),
    ("topk(sorted=False)", "t.tensor([1, 1, 1]).sort(descending=True).indices.tolist() == [0, 1, 2]"),
]
REFUSED = [("untyped_storage().resize_", "x.untyped_storage().resize_(100)"), ("devices", "t.ones(2, device='mps')")]


def names() -> dict:
    x = pullback.tensor([1.0, 2.0, 3.0])
    return {"t": pullback, "np": np, "x": x, "w": x.clone().requires_grad_()}


def rows(words: str) -> list[str]:
    from tools.coverage import PAGE

    lines = PAGE.with_name("differences.md").read_text("utf-8").splitlines()
    return [line for line in lines if words in line.split(" | ")[0]]


@pytest.mark.parametrize(("words", "expression"), SHOWN, ids=[row[0] for row in SHOWN])
def test_what_differs_does(words: str, expression: str) -> None:
    assert rows(words)
    assert eval(expression, names())


@pytest.mark.parametrize(("words", "expression"), REFUSED, ids=[row[0] for row in REFUSED])
def test_what_is_refused(words: str, expression: str) -> None:
    assert rows(words)
    with pytest.raises(RuntimeError):
        eval(expression, names())
