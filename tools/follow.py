"""What of the torch that is installed differs from pullback: names, signatures, texts of errors, and random bits.

`python -m tools.follow` prints it, for whatever version of torch there is: what to look at when a new one is out. The oracle of
the tests is another matter, and stays the version that the Makefile names.
"""

from __future__ import annotations

import inspect
import re
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

import pullback

from .coverage import NAMESPACES, excuse, is_internal, own_namespace, public_names, resolve

MISTAKES = """
T.ones(2, 3) @ T.ones(2, 3)
T.mm(T.ones(2, 3), T.ones(2, 3))
T.addmm(T.ones(2), T.ones(2, 3), T.ones(2, 3))
T.bmm(T.ones(2, 3, 4), T.ones(2, 3, 4))
T.dot(T.ones(2), T.ones(3))
T.ones(2) + T.ones(3)
T.ones(2, 3).view(4)
T.ones(2, 3).reshape(4, 2)
T.ones(2, 3)[5]
T.ones(2, 3)[0, 0, 0]
T.ones(2).sum(3)
T.cat([T.ones(2, 2), T.ones(2, 3)])
T.stack([T.ones(2), T.ones(3)])
T.arange(3).mean()
T.arange(3).std()
T.arange(3).softmax(0)
T.ones(2, requires_grad=True).backward()
T.ones(2).sum().backward()
T.ones(2, requires_grad=True).numpy()
T.ones(2, requires_grad=True).add_(1)
T.arange(3).requires_grad_()
T.tensor([[1, 2], [3]])
T.tensor('a')
T.zeros(-1)
T.ones(2).item()
bool(T.ones(2))
T.ones(2, 2).t_().view(-1, 3)
T.linalg.inv(T.ones(2, 2))
T.linalg.inv(T.ones(2, 3))
T.linalg.cholesky(-T.eye(2))
T.linalg.solve(T.ones(2, 2), T.ones(2))
T.nn.functional.linear(T.ones(2, 3), T.ones(4, 2))
T.nn.functional.conv2d(T.ones(1, 1, 2, 2), T.ones(1, 2, 1, 1))
T.nn.functional.conv2d(T.ones(1, 1, 2, 2), T.ones(1, 1, 3, 3))
T.nn.functional.cross_entropy(T.ones(2, 3), T.tensor([0, 5]))
T.nn.functional.nll_loss(T.ones(2, 3), T.tensor([0]))
T.nn.functional.embedding(T.tensor([5]), T.ones(3, 2))
T.nn.functional.dropout(T.ones(2), 2.0)
T.nn.functional.layer_norm(T.ones(2, 3), (2,))
T.nn.functional.max_pool2d(T.ones(1, 1, 1, 1), 2)
T.nn.functional.interpolate(T.ones(1, 1, 2), size=3, scale_factor=2)
T.nn.Linear(2, 3)(T.ones(2, 4))
T.nn.BatchNorm1d(3)(T.ones(2, 4))
T.nn.Linear(2, 2).load_state_dict({})
T.nn.Linear(2, 2).load_state_dict({'weight': T.ones(3, 3), 'bias': T.ones(2)})
T.nn.Module().nothing
T.optim.SGD([], lr=0.1)
T.optim.SGD([T.ones(1)], lr=-1)
T.optim.Adam([T.ones(1, requires_grad=True)], betas=(2.0, 0.9))
T.autograd.grad(T.ones(()), T.ones(()))
T.autograd.grad(T.ones((), requires_grad=True) * 2, T.ones((), requires_grad=True))
T.vmap(lambda x: x.item())(T.ones(2))
T.vmap(lambda x: x)(T.ones(()))
T.func.grad(lambda x: x)(T.ones(2))
T.func.jvp(lambda x: x, (T.ones(2),), (T.ones(3),))
T.multinomial(T.ones(2), 3)
T.randint(3, 3, (2,))
T.normal(0.0, -1.0, (2,))
T.distributions.Normal(0.0, -1.0)
T.utils.checkpoint.checkpoint(lambda x: x, T.ones(1))
T.einsum('ij,jk', T.ones(2, 3), T.ones(2, 3))
T.gather(T.ones(2, 2), 0, T.tensor([[5, 0]]))
T.ones(2, 2).scatter_(0, T.tensor([[0]]), T.ones(1, 1, 1))
T.where(T.ones(2), 1, 0)
T.ones(2).expand(3)
T.ones(2, 3).squeeze(5)
T.ones(2).to('nowhere')
T.load('no such file')
""".strip().splitlines()

DRAWS = """
T.rand(5)
T.randn(20)
T.randn(5, dtype=T.float64)
T.randint(10, (20,))
T.randperm(30)
T.bernoulli(T.full((20,), 0.3))
T.multinomial(T.arange(1.0, 9.0), 5)
T.multinomial(T.arange(1.0, 9.0), 20, True)
T.normal(T.zeros(20), 2.0)
T.empty(20).exponential_()
T.empty(20).uniform_(-1, 2)
T.empty(20).cauchy_()
T.empty(20).log_normal_()
T.empty(20).geometric_(0.3)
T.poisson(T.full((20,), 3.0))
T.distributions.Gamma(2.0, 3.0).sample((20,))
T.distributions.Beta(2.0, 3.0).sample((20,))
T.distributions.Dirichlet(T.ones(4)).sample()
T.nn.functional.dropout(T.ones(50), 0.3)
T.nn.Linear(4, 3).weight
T.nn.Conv2d(2, 3, 3).bias
T.nn.LSTM(3, 4).weight_hh_l0
T.nn.init.kaiming_normal_(T.empty(3, 4))
T.nn.init.trunc_normal_(T.empty(30))
T.rand(3, generator=T.Generator().manual_seed(7))
""".strip().splitlines()


def missing_names() -> Iterator[str]:
    """Public names of torch's that are not here, and not out of scope."""
    for namespace in NAMESPACES:
        own = own_namespace(namespace, pullback)
        for name in public_names(namespace, torch):
            dotted = f"{namespace}.{name}"
            if (own is None or not hasattr(own, name)) and not excuse(name) and not is_internal(resolve(torch, dotted)):
                yield dotted


def parameters(function: Any) -> list[tuple[str, str]] | None:
    """Names and defaults of what a function takes, if Python can tell; without those that begin with `_`."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if {one.kind.name for one in found} <= {"VAR_POSITIONAL", "VAR_KEYWORD"}:
        return None  # it says nothing
    return [(one.name, re.sub(r"torch\.|pullback\.", "", repr(one.default))) for one in found if one.name[0] != "_"]


def other_signatures() -> Iterator[str]:
    """Python functions of torch's that have an argument, or a default, which ours do not have."""
    for namespace in NAMESPACES:
        own = own_namespace(namespace, pullback)
        for name in public_names(namespace, torch):
            theirs, ours = getattr(resolve(torch, namespace), name, None), getattr(own, name, None)
            if theirs is None or ours is None or not inspect.isroutine(theirs):
                continue
            wanted, have = parameters(theirs), parameters(ours)
            takes_all = have is not None and any(key in ("kwargs", "others") for key, _ in have)
            if wanted is None or have is None or takes_all:
                continue
            lost = [key for key, _ in wanted if key not in dict(have) and key not in ("self", "args", "kwargs")]
            defaults = [
                f"{key}={default} (here {dict(have)[key]})"
                for key, default in wanted
                if key in dict(have) and default != dict(have)[key] and " at 0x" not in default + dict(have)[key]
            ]
            if lost or defaults:
                yield f"{namespace}.{name}: " + ", ".join(lost + defaults)


def answer(line: str, library: Any) -> str:
    """The exception that a line raises, up to its first numbers, and the warnings before it."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            eval(line, {"T": library})
            said = "no error"
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
    return " / ".join([said, *(f"{one.category.__name__}: {one.message}" for one in heard)])


def key_phrase(text: str) -> str:
    """What programs match on: the beginning of a text. Ours may go on after it, with what to do."""
    return re.sub(r"\s+", " ", text)[:60].rstrip(". ")


def other_texts() -> Iterator[str]:
    """Mistakes that are answered by another type of exception, or in other words."""
    for line in MISTAKES:
        theirs, ours = answer(line, torch), answer(line, pullback)
        if not re.sub(r"\s+", " ", ours).startswith(key_phrase(theirs)):
            yield f"{line}\n    torch:    {theirs[:200]}\n    pullback: {ours[:200]}"


def other_bits() -> Iterator[str]:
    """Draws of random numbers that are not the same bits."""
    for line in DRAWS:
        drawn = []
        for library in (torch, pullback):
            library.manual_seed(1)
            drawn.append(eval(line, {"T": library}).detach().numpy())
        if drawn[0].dtype != drawn[1].dtype or not np.array_equal(drawn[0], drawn[1]):
            yield f"{line}\n    torch:    {drawn[0].ravel()[:4]}\n    pullback: {drawn[1].ravel()[:4]}"


REPORT = {
    "names that are not here": missing_names,
    "other signatures": other_signatures,
    "other answers to mistakes": other_texts,
    "other random bits": other_bits,
}


def main() -> int:
    """Print what differs; the exit status is 1 if random bits do."""
    print(f"torch {torch.__version__}, pullback {pullback.__version__}")
    found = {title: list(look()) for title, look in REPORT.items()}
    for title, lines in found.items():
        print(f"\n## {title}: {len(lines)}")
        print("\n".join(f"- {line}" for line in lines))
    return 1 if found["other random bits"] else 0


if __name__ == "__main__":
    sys.exit(main())
