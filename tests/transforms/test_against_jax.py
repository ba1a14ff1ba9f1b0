"""Transforms against JAX: the same programs, every pair and every triple of transforms, trees in and out.

Programs are written once, in the few functions both libraries have (`sin`, `@`, `sum`, ...), on float64. JAX takes ten
minutes for them, so its answers are kept beside this file. Where JAX is installed, `python -m
tests.transforms.test_against_jax` records them again.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest

import pullback

ANSWERS = Path(__file__).with_name("answers_of_jax.npz")
Point = namedtuple("Point", "x y")
RNG = np.random.default_rng(1)
A, B = RNG.standard_normal((4, 3)), RNG.standard_normal((3, 3))
V, U, P = RNG.standard_normal(3), RNG.standard_normal(3), RNG.random(3) + 0.5
INDEX = np.array([2, 0, 2, 1])


def jax_functions():
    """What the programs use, from JAX."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    class Jax:
        array = staticmethod(jnp.asarray)
        grad, vjp, jvp = staticmethod(jax.grad), staticmethod(jax.vjp), staticmethod(jax.jvp)
        jacrev, jacfwd, hessian = staticmethod(jax.jacrev), staticmethod(jax.jacfwd), staticmethod(jax.hessian)
        linearize = staticmethod(jax.linearize)
        sin, cos, exp, tanh, log, sqrt = jnp.sin, jnp.cos, jnp.exp, jnp.tanh, jnp.log, jnp.sqrt
        where, maximum, stack, concatenate, outer = jnp.where, jnp.maximum, jnp.stack, jnp.concatenate, jnp.outer
        cumsum, prod, sort, solve = jnp.cumsum, jnp.prod, jnp.sort, jnp.linalg.solve
        inverse, slogdet, logsumexp = jnp.linalg.inv, jnp.linalg.slogdet, jax.scipy.special.logsumexp
        softmax, sigmoid, cholesky, atan2 = jax.nn.softmax, jax.nn.sigmoid, jnp.linalg.cholesky, jnp.arctan2

        @staticmethod
        def vmap(function, in_axes=0, out_axes=0):
            return jax.vmap(function, in_axes=in_axes, out_axes=out_axes)

        @staticmethod
        def custom(M, forward, derivative):
            """An elementwise function with a derivative of its own."""
            function = jax.custom_jvp(lambda x: forward(M, x))
            function.defjvp(lambda x, t: (function(*x), derivative(M, *x) * t[0]))
            return function

        @staticmethod
        def written(x, index, value):
            return x.at[index].set(value)

        @staticmethod
        def added(x, index, value):
            return x.at[index].add(value)

        @staticmethod
        def integers(x):
            return x.astype(int)

        @staticmethod
        def grad_and_value(function, **options):
            def flipped(*args):
                value, gradient = jax.value_and_grad(function, **options)(*args)
                return gradient, value

            return flipped

    return Jax


class Ours:
    """The same from this library."""

    array = staticmethod(pullback.tensor)
    grad, vjp, jvp = (staticmethod(getattr(pullback.func, name)) for name in ("grad", "vjp", "jvp"))
    jacrev, jacfwd, hessian = (staticmethod(getattr(pullback.func, name)) for name in ("jacrev", "jacfwd", "hessian"))
    linearize = staticmethod(pullback.func.linearize)
    grad_and_value = staticmethod(pullback.func.grad_and_value)
    sin, cos, exp, tanh = map(staticmethod, (pullback.sin, pullback.cos, pullback.exp, pullback.tanh))
    log, sqrt, where, maximum = map(staticmethod, (pullback.log, pullback.sqrt, pullback.where, pullback.maximum))
    stack, concatenate, outer = map(staticmethod, (pullback.stack, pullback.concatenate, pullback.outer))
    prod, solve, inverse = map(staticmethod, (pullback.prod, pullback.linalg.solve, pullback.linalg.inv))
    sigmoid, cholesky, atan2 = map(staticmethod, (pullback.sigmoid, pullback.linalg.cholesky, pullback.atan2))
    slogdet = staticmethod(pullback.linalg.slogdet)

    @staticmethod
    def custom(M, forward, derivative):
        class Custom(pullback.autograd.Function):
            generate_vmap_rule = True

            @staticmethod
            def forward(x):
                return forward(M, x)

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_backward(*inputs)
                ctx.save_for_forward(*inputs)

            @staticmethod
            def backward(ctx, gradient):
                return gradient * derivative(M, *ctx.saved_tensors)

            @staticmethod
            def jvp(ctx, tangent):
                return tangent * derivative(M, *ctx.saved_tensors)

        return Custom.apply

    @staticmethod
    def written(x, index, value):
        result = x.clone()
        result[index] = value
        return result

    @staticmethod
    def added(x, index, value):
        result = x.clone()
        result[index] += value
        return result

    @staticmethod
    def integers(x):
        return x.long()

    @staticmethod
    def cumsum(x):
        return x.cumsum(0)

    @staticmethod
    def sort(x):
        return x.sort()[0]

    @staticmethod
    def logsumexp(x):
        return x.logsumexp(0)

    @staticmethod
    def softmax(x):
        return x.softmax(-1)

    @staticmethod
    def vmap(function, in_axes=0, out_axes=0):
        return pullback.func.vmap(function, in_dims=in_axes, out_dims=out_axes)


def flattened(tree):
    """(leaves, a description of the containers they were in)."""
    if isinstance(tree, dict):
        names, parts = list(tree), list(tree.values())
    elif isinstance(tree, (list, tuple)):
        names, parts = None, list(tree)
    else:
        return [tree], "*"
    found = [flattened(part) for part in parts]
    return list(itertools.chain(*[leaves for leaves, _ in found])), [
        type(tree).__name__,
        names,
        [kind for _, kind in found],
    ]


# --- functions from vectors of 3 to vectors ---

VECTORS = {
    "polynomial": lambda M, x: x**3 - 2 * x * x + x,
    "sine of products": lambda M, x: M.sin(x * x[0]) + M.cos(x).sum(),
    "matrix": lambda M, x: M.tanh(M.array(A) @ x),
    "two layers": lambda M, x: M.tanh(M.array(A).T @ M.tanh(M.array(A) @ x)) * x,
    "vector times matrix": lambda M, x: M.sigmoid(x @ M.array(B)),
    "softmax": lambda M, x: M.softmax(x) * M.exp(x),
    "log of sums": lambda M, x: M.logsumexp(x) * x,
    "quotient": lambda M, x: x / (1 + x @ x),
    "power": lambda M, x: (x * x + 1) ** 1.5,
    "root": lambda M, x: M.sqrt(x * x + x @ x),
    "where": lambda M, x: M.where(x > 0, M.sin(x), x**2),
    "maximum": lambda M, x: M.maximum(x, 0.3 * x) * x,
    "cumulative": lambda M, x: M.cumsum(M.exp(x)) * x,
    "product": lambda M, x: M.prod(x) * x,
    "indexed": lambda M, x: x[INDEX] * x[1:].sum() + x[None, :][0, 0],
    "sliced": lambda M, x: (x[1:] - x[:-1] ** 2) ** 2,
    "stacked": lambda M, x: M.stack([x, x * x, M.sin(x)])[1:].reshape(-1),
    "joined": lambda M, x: M.concatenate([x * 2, M.exp(x)]),
    "outer": lambda M, x: M.outer(x, M.cos(x)) @ x,
    "sorted": lambda M, x: M.sort(x) ** 2 * x,
    "solve": lambda M, x: M.solve(M.array(B @ B.T + 3 * np.eye(3)) + M.outer(x, x), x),
    "inverse": lambda M, x: M.inverse(M.array(B @ B.T + 3 * np.eye(3)) + M.outer(x, x)) @ x,
    "determinant": lambda M, x: M.slogdet(M.array(B @ B.T + 3 * np.eye(3)) + M.outer(x, x))[1] * x,
    "cholesky": lambda M, x: M.cholesky(M.array(B @ B.T + 3 * np.eye(3)) + M.outer(x, x)) @ x,
    "angle": lambda M, x: M.atan2(x, 1 + x * x),
    "constant": lambda M, x: M.array(V) + 0 * x[0],
    "mean and variance": lambda M, x: (x - x.mean()) / M.sqrt(((x - x.mean()) ** 2).mean() + 0.1),
    "repeated": lambda M, x: M.tanh(M.tanh(M.tanh(x * x.sum()))),
    "broadcast": lambda M, x: (x[:, None] * M.cos(x)[None, :]).sum(1),
    "permuted": lambda M, x: (x[:, None] + M.array(A).T).T.reshape(-1)[:5] ** 2,
}
FIRST_ORDER = {
    "grad": lambda M, f: M.grad(lambda x: f(x).sum())(M.array(V)),
    "grad and value": lambda M, f: M.grad_and_value(lambda x: f(x).sum())(M.array(V)),
    "vjp": lambda M, f: (lambda out, pull: (out, pull(M.cos(out))))(*M.vjp(f, M.array(V))),
    "jvp": lambda M, f: M.jvp(f, (M.array(V),), (M.array(U),)),
    "jacrev": lambda M, f: M.jacrev(f)(M.array(V)),
    "jacfwd": lambda M, f: M.jacfwd(f)(M.array(V)),
    "hessian": lambda M, f: M.hessian(lambda x: f(x).sum())(M.array(V)),
    "linearize": lambda M, f: (lambda out, push: (out, push(M.array(U)), push(M.array(V))))(
        *M.linearize(f, M.array(V))
    ),
    "vmap": lambda M, f: M.vmap(f)(M.array(A)),
}


# --- transforms of transforms: each takes a function from vectors of 3 to vectors of 3 to another such function ---

NESTING = {
    "grad": lambda M, f: M.grad(lambda x: (f(x) * M.array(P)).sum()),
    "vjp": lambda M, f: lambda x: M.vjp(f, x)[1](M.sin(x))[0],
    "jvp": lambda M, f: lambda x: M.jvp(f, (x,), (M.cos(x),))[1],
    "jacrev": lambda M, f: lambda x: M.jacrev(f)(x) @ x,
    "jacfwd": lambda M, f: lambda x: x @ M.jacfwd(f)(x),
    "hessian": lambda M, f: lambda x: M.hessian(lambda z: (f(z) * M.array(P)).sum())(x).sum(0),
    "linearize": lambda M, f: lambda x: M.linearize(f, x)[1](x * 2),
    "vmap": lambda M, f: lambda x: M.vmap(f)(M.outer(x, M.array(P))).sum(0),
}
INNERMOST = {
    "smooth": lambda M, x: M.sin(x * x[1]) * M.exp(0.1 * x),
    "matrix": lambda M, x: M.tanh(M.array(B) @ x) + x[INDEX[:3]],
    "a derivative of its own": lambda M, x: x * M.custom(M, lambda M, x: M.sin(x), lambda M, x: 2 * M.cos(x) + x**2)(x),
    "picked by values": lambda M, x: x[M.integers(9 * x * x) % 3] * x,
    "picked in a matrix": lambda M, x: (M.outer(x, x)[:, M.integers(9 * x * x) % 3] * x)[
        M.integers(5 * x) % 3, INDEX[:3]
    ],
    "written by values": lambda M, x: M.written(M.sin(x), M.integers(9 * x[0] ** 2) % 3, x[1] ** 2) * x,
    "added by values": lambda M, x: M.added(M.outer(x, x), (slice(1, None), M.integers(9 * x[0] ** 2) % 3), x[:2])[
        1:
    ].sum(0),
}


def _nested(M, names, function):
    def current(x):
        return function(M, x)

    for name in reversed(names):
        current = NESTING[name](M, current)
    return current


# --- trees, axes, auxiliary results ---

TREES = {
    "grad of a dict": lambda M: M.grad(lambda d: (d["a"] * M.sin(d["b"][0])).sum())(
        {"a": M.array(V), "b": [M.array(U)]}
    ),
    "grad of a namedtuple": lambda M: M.grad(lambda p: (p.x**2 * p.y[0]).sum())(Point(M.array(V), (M.array(U),))),
    "grad of two": lambda M: M.grad(lambda x, y: (x @ y) ** 2, argnums=(1, 0))(M.array(V), M.array(U)),
    "grad with aux": lambda M: M.grad(lambda x: ((x**2).sum(), {"twice": 2 * x}), has_aux=True)(M.array(V)),
    "value with aux": lambda M: M.grad_and_value(lambda x: ((x**2).sum(), [x]), has_aux=True)(M.array(V)),
    "grad of grad with aux": lambda M: M.grad(lambda x: M.grad(lambda z: ((z**3).sum(), z), has_aux=True)(x)[0].sum())(
        M.array(V)
    ),
    "vjp of trees": lambda M: M.vjp(lambda d: [d["a"] * d["b"], (d["a"].sum(),)], {"a": M.array(V), "b": M.array(U)})[
        1
    ]([M.array(P), (M.array(2.0),)]),
    "vjp with aux": lambda M: M.vjp(lambda x: (M.sin(x), x * 3), M.array(V), has_aux=True)[2],
    "jvp of trees": lambda M: M.jvp(
        lambda p, l: {"s": p.x * l[0], "t": Point(p.y, l[0] ** 2)},
        (Point(M.array(V), M.array(U)), [M.array(P)]),
        (Point(M.array(U), M.array(P)), [M.array(V)]),
    ),
    "jvp with aux": lambda M: M.jvp(lambda x: (M.sin(x), x * 3), (M.array(V),), (M.array(U),), has_aux=True),
    "linearize trees": lambda M: M.linearize(
        lambda d: {"o": d["a"] * M.sin(d["b"])}, {"a": M.array(V), "b": M.array(U)}
    )[1]({"a": M.array(P), "b": M.array(V)}),
    "jacrev of trees": lambda M: M.jacrev(lambda d: {"o": M.outer(d["a"], d["b"]), "p": [d["a"].sum()]})(
        {"a": M.array(V), "b": M.array(U)}
    ),
    "jacfwd of trees": lambda M: M.jacfwd(lambda d: {"o": M.outer(d["a"], d["b"]), "p": [d["a"].sum()]})(
        {"a": M.array(V), "b": M.array(U)}
    ),
    "jacrev of two": lambda M: M.jacrev(lambda x, y: (x * y, y.sum()), argnums=(0, 1))(M.array(V), M.array(U)),
    "jacfwd of two": lambda M: M.jacfwd(lambda x, y: (x * y, y.sum()), argnums=(0, 1))(M.array(V), M.array(U)),
    "jacrev with aux": lambda M: M.jacrev(lambda x: (x**2, x.sum()), has_aux=True)(M.array(V)),
    "jacfwd with aux": lambda M: M.jacfwd(lambda x: (x**2, x.sum()), has_aux=True)(M.array(V)),
    "hessian of a dict": lambda M: M.hessian(lambda d: (d["a"] ** 2 @ d["b"]) ** 2)({"a": M.array(V), "b": M.array(U)}),
    "hessian of two": lambda M: M.hessian(lambda x, y: (x**2 @ y) ** 2, argnums=(0, 1))(M.array(V), M.array(U)),
    "vmap axes": lambda M: M.vmap(lambda x, y: M.outer(x, y), in_axes=(0, 1), out_axes=2)(M.array(A), M.array(A.T)),
    "vmap none": lambda M: M.vmap(lambda x, y: x @ y, in_axes=(None, 0))(M.array(B), M.array(A)),
    "vmap negative": lambda M: M.vmap(lambda x: x * 2, in_axes=-1, out_axes=-1)(M.array(A)),
    "vmap of trees": lambda M: M.vmap(
        lambda d, p: {"s": d["a"] * p.x, "t": (p.y, d["a"].sum())},
        in_axes=({"a": 0}, Point(1, None)),
        out_axes={"s": 1, "t": (None, 0)},
    )({"a": M.array(A)}, Point(M.array(A.T), M.array(V))),
    "vmap of vmap": lambda M: M.vmap(M.vmap(lambda x, y: x @ y, in_axes=(None, 0)), in_axes=(0, None), out_axes=1)(
        M.array(A), M.array(B)
    ),
    "vmap of vmap of grad": lambda M: M.vmap(
        M.vmap(M.grad(lambda x, s: (M.sin(x) * s).sum()), in_axes=(0, None)), in_axes=(None, 0)
    )(M.array(A), M.array(V)),
    "per sample gradients": lambda M: M.vmap(
        M.grad(lambda p, x, y: ((M.tanh(x @ p["w"]) - y) ** 2).sum()), in_axes=(None, 0, 0)
    )({"w": M.array(B)}, M.array(A), M.array(A * 0.5)),
    "vmap of jacrev": lambda M: M.vmap(M.jacrev(lambda x: M.tanh(M.array(A) @ x)))(M.array(A)),
    "jacfwd of vmap": lambda M: M.jacfwd(M.vmap(lambda x: M.sin(x) * x.sum()))(M.array(B)),
    "vmap of hessian": lambda M: M.vmap(M.hessian(lambda x: M.prod(x)))(M.array(A)),
    "vmap of a pullback": lambda M: M.vmap(M.vjp(lambda x: M.array(A) @ M.sin(x), M.array(V))[1])(M.array(np.eye(4))),
    "vmap of a pushforward": lambda M: M.vmap(M.linearize(lambda x: M.array(A) @ M.sin(x), M.array(V))[1])(M.array(B)),
    "vmap of aux": lambda M: M.vmap(M.grad(lambda x: (M.exp(x).sum(), x.sum()), has_aux=True))(M.array(A)),
}


# --- all of them ---


def programs():
    """Every case: a name, and a program of the functions of one library or the other."""
    for (name, function), (transform, run) in itertools.product(VECTORS.items(), FIRST_ORDER.items()):
        yield f"{transform} of {name}", lambda M, function=function, run=run: run(M, functools.partial(function, M))
    for inner, names in itertools.product(INNERMOST, itertools.product(NESTING, repeat=2)):
        yield f"{'-'.join(names)} of {inner}", functools.partial(_run_nested, names, INNERMOST[inner])
    for names in itertools.product(NESTING, repeat=3):
        yield "-".join(names), functools.partial(_run_nested, names, INNERMOST["smooth"])
    yield from TREES.items()


def _run_nested(names, function, M):
    return _nested(M, names, function)(M.array(0.5 * V))


PROGRAMS = dict(programs())


@functools.cache
def recorded():
    """What JAX answered: (the numbers of every case, one after the other; the shapes and containers of each)."""
    with np.load(ANSWERS) as file:
        return file["numbers"], json.loads(str(file["forms"]))


@pytest.mark.parametrize("name", PROGRAMS)
def test_answers_of_jax(name):
    numbers, forms = recorded()
    start, shapes, tree = forms[name]
    leaves, found_tree = flattened(PROGRAMS[name](Ours))
    assert found_tree == tree
    for leaf, shape in zip(leaves, shapes, strict=True):
        size = int(np.prod(shape))
        assert list(leaf.shape) == shape and leaf.dtype is pullback.float64
        assert not leaf.requires_grad
        np.testing.assert_allclose(leaf.numpy().ravel(), numbers[start : start + size], rtol=1e-8, atol=1e-9)
        start += size


def record():
    """Write down what JAX answers."""
    library, numbers, forms, start = jax_functions(), [], {}, 0
    for count, (name, program) in enumerate(PROGRAMS.items(), 1):
        leaves, tree = flattened(program(library))
        arrays = [np.asarray(leaf, np.float64) for leaf in leaves]
        forms[name] = start, [array.shape for array in arrays], tree
        numbers += [array.ravel() for array in arrays]
        start += sum(array.size for array in arrays)
        print(f"\r{count} of {len(PROGRAMS)}", end="", flush=True)
    np.savez_compressed(ANSWERS, numbers=np.concatenate(numbers), forms=json.dumps(forms))
    print(f": {ANSWERS.stat().st_size >> 10} KiB")


if __name__ == "__main__":
    record()
