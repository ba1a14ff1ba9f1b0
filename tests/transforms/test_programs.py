"""Transforms against torch.func on a table of programs: values, shapes and structure."""

from __future__ import annotations

import copy
from collections import namedtuple

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
A, B, V = RNG.standard_normal((5, 3)), RNG.standard_normal((3, 4)), RNG.standard_normal(3)
INDEX = np.array([0, 1, 2, 0, 1])
Point = namedtuple("Point", "x y")


def _layer(M, w, x):
    return (x @ w).tanh()


def _in_inference_mode(M):
    with M.inference_mode():
        w, x = M.tensor(V) * 2, M.tensor(A)
        loss = lambda x: (x * w).pow(3).sum()
        results = (
            M.vmap(M.func.grad(loss))(x), M.func.jacrev(M.exp)(w), M.func.hessian(loss)(w), M.func.vjp(M.sin, w)[1](w)[0],
            *M.func.jvp(loss, (w,), (w,)), M.func.grad_and_value(loss)(w)[1],
        )  # fmt: skip
        kinds = tuple(result.is_inference() for result in results)
    assert not any(kinds)
    return results


NESTED = ("jacfwd", "jacrev", "hessian")


@pytest.mark.parametrize(
    "names", [(a, b, c) for a in NESTED for b in NESTED for c in NESTED if (a, b, c).count("hessian") < 2]
)
def test_three_deep(names):
    """Levels that have ended leave nothing behind that a pass outside them would meet."""
    answers = []
    for M in (pullback, torch):
        f = lambda x, M=M: M.sin(x) * x.sum() + x * x * x[0]
        for name in names:
            f = getattr(M.func, name)(f)
        answers.append(np.asarray(f(M.tensor(V))))
    np.testing.assert_allclose(*answers, rtol=1e-9, atol=1e-12)


PROGRAMS = {
    "grad": lambda M: M.func.grad(lambda x: (x.sin() * x).sum())(M.tensor(V)),
    "grad of grad": lambda M: M.func.grad(M.func.grad(lambda x: x**3))(M.tensor(2.0)),
    "grad argnums": lambda M: M.func.grad(lambda x, y: (x * y).sum(), argnums=(1, 0))(M.tensor(V), M.tensor(V * 2)),
    "grad of dict": lambda M: M.func.grad(lambda d: (d["a"] * d["b"][0]).sum())(
        {"a": M.tensor(V), "b": [M.tensor(V * 2)]}
    ),
    "grad aux": lambda M: M.func.grad(lambda x: ((x**2).sum(), x * 2), has_aux=True)(M.tensor(V)),
    "grad and value": lambda M: M.func.grad_and_value(lambda x: (x**2).sum())(M.tensor(V)),
    "grad of namedtuple": lambda M: tuple(M.func.grad(lambda p: (p.x * p.y).sum())(Point(M.tensor(V), M.tensor(V)))),
    "vjp": lambda M: M.func.vjp(lambda x, y: (x * y, x.sum()), M.tensor(V), M.tensor(V * 2))[1](
        (M.tensor(V), M.tensor(V)[0])
    ),
    "vjp twice": lambda M: (lambda out, f: [f(M.tensor(V)), f(M.tensor(V * 2))])(
        *M.func.vjp(lambda x: x.exp(), M.tensor(V))
    ),
    "jvp": lambda M: M.func.jvp(lambda x, y: x * y.sin(), (M.tensor(V), M.tensor(V)), (M.tensor(V), M.tensor(V * 3))),
    "jvp aux": lambda M: M.func.jvp(lambda x: (x.exp(), x * 2), (M.tensor(V),), (M.tensor(V),), has_aux=True),
    "jvp of jvp": lambda M: M.func.jvp(
        lambda x: M.func.jvp(M.sin, (x,), (M.ones_like(x),))[1], (M.tensor(V),), (M.ones(3, dtype=M.float64),)
    ),
    "jvp of grad": lambda M: M.func.jvp(M.func.grad(lambda x: (x.exp() * x).sum()), (M.tensor(V),), (M.tensor(V),)),
    "grad of jvp": lambda M: M.func.grad(lambda x: M.func.jvp(lambda z: (z**3).sum(), (x,), (x,))[1])(M.tensor(V)),
    "linearize": lambda M: M.func.linearize(M.sin, M.tensor(V))[1](M.tensor(V)),
    "jacrev": lambda M: M.func.jacrev(lambda x: (M.tensor(A) @ x).tanh())(M.tensor(V)),
    "jacfwd": lambda M: M.func.jacfwd(lambda x: (M.tensor(A) @ x).tanh())(M.tensor(V)),
    "jacrev of tuple": lambda M: M.func.jacrev(lambda x, y: (x * y, x.sum()), argnums=(0, 1))(M.tensor(V), M.tensor(V)),
    "jacfwd of tuple": lambda M: M.func.jacfwd(lambda x, y: (x * y, x.sum()), argnums=(0, 1))(M.tensor(V), M.tensor(V)),
    "jacrev of dict": lambda M: M.func.jacrev(lambda d: {"o": d["a"] * 2, "p": d["b"].sum()})(
        {"a": M.tensor(V), "b": M.tensor(B)}
    ),
    "jacrev chunks": lambda M: M.func.jacrev(lambda x: (M.tensor(A) @ x).tanh(), chunk_size=2)(M.tensor(V)),
    "jacrev aux": lambda M: M.func.jacrev(lambda x: (x**2, x.sum()), has_aux=True)(M.tensor(V)),
    "jacfwd aux": lambda M: M.func.jacfwd(lambda x: (x**2, x.sum()), has_aux=True)(M.tensor(V)),
    "jacrev integer output": lambda M: M.func.jacrev(lambda x: (x > 0).double() * x)(M.tensor(V)),
    "hessian": lambda M: M.func.hessian(lambda x: (M.tensor(A) @ x).tanh().sum())(M.tensor(V)),
    "hessian argnums": lambda M: M.func.hessian(lambda x, y: (x**2 * y).sum(), argnums=(0, 1))(
        M.tensor(V), M.tensor(V)
    ),
    "hessian of vector": lambda M: M.func.hessian(lambda x: (M.tensor(A) @ x).softmax(0))(M.tensor(V)),
    "rosenbrock": lambda M: M.func.hessian(lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())(
        M.tensor(V)
    ),
    "fwd rev": lambda M: M.func.jacfwd(M.func.jacrev(lambda x: (M.tensor(A) @ x).softmax(0)))(M.tensor(V)),
    "fwd fwd": lambda M: M.func.jacfwd(M.func.jacfwd(lambda x: (M.tensor(A) @ x).softmax(0)))(M.tensor(V)),
    "rev fwd": lambda M: M.func.jacrev(M.func.jacfwd(lambda x: (M.tensor(A) @ x).softmax(0)))(M.tensor(V)),
    "rev rev": lambda M: M.func.jacrev(M.func.jacrev(lambda x: (M.tensor(A) @ x).log_softmax(0)))(M.tensor(V)),
    "third": lambda M: M.func.jacrev(M.func.jacrev(M.func.jacrev(lambda x: (x**4).sum())))(M.tensor(V)),
    "vmap": lambda M: M.vmap(lambda a, b: a @ b, in_dims=(0, None))(M.tensor(A), M.tensor(V)),
    "vmap matrix": lambda M: M.vmap(lambda a, b: _layer(M, b, a).sum(), in_dims=(0, None))(M.tensor(A), M.tensor(B)),
    "vmap dims": lambda M: M.vmap(lambda x: (x * 2, x.sum()), in_dims=1, out_dims=(1, 0))(M.tensor(A)),
    "vmap dict dims": lambda M: M.vmap(lambda d: d["a"] + d["b"], in_dims=({"a": 0, "b": None},))(
        {"a": M.tensor(A), "b": M.tensor(V)}
    ),
    "vmap chunks": lambda M: M.vmap(lambda x: x * 2, chunk_size=2)(M.tensor(A)),
    "vmap vmap": lambda M: M.vmap(M.vmap(lambda a, b: (a * b).sin(), in_dims=(0, None)), in_dims=(None, 0))(
        M.tensor(A), M.tensor(A)
    ),
    "vmap constant": lambda M: M.vmap(lambda x: M.ones(2))(M.tensor(A)),
    "vmap where": lambda M: M.vmap(lambda x: M.where(x > 0, x, -x))(M.tensor(A)),
    "vmap in place": lambda M: M.vmap(lambda x: x.add_(1))(M.tensor(A)),
    "vmap in place view": lambda M: M.vmap(lambda x: (x.clone().mul_(x), _written(x)))(M.tensor(A)),
    "vmap cat stack": lambda M: M.vmap(lambda x: (M.cat([x, M.tensor(V), x * 2]), M.stack([x[0], x[1] * x[2]])))(
        M.tensor(A)
    ),
    "vmap shapes": lambda M: M.vmap(
        lambda x: (
            x.reshape(2, 6),
            x.T,
            x.unsqueeze(1),
            x.expand(2, 3, 4),
            x.flip(0),
            x[:, 1:],
            x.diagonal(),
            x.unfold(1, 2, 1),
        )
    )(M.tensor(np.stack([B, B * 2]))),
    "vmap reductions": lambda M: M.vmap(
        lambda x: (
            x.sum(1),
            x.mean(),
            x.amax(0),
            x.prod(1),
            x.softmax(0),
            x.cumsum(1),
            x.std(),
            x.argmax(),
            x.sort(1)[0],
            x.norm(),
        )
    )(M.tensor(np.stack([B, B * 2]))),
    "vmap products": lambda M: M.vmap(
        lambda x, y: (x @ y, x.T @ x, (x * 2) @ y[:, 0], M.einsum("ij,jk->ik", x, y)), in_dims=(0, None)
    )(M.tensor(np.stack([B, B * 2])), M.tensor(B.T.copy())),
    "vmap index": lambda M: M.vmap(lambda x, i: x[i])(M.tensor(A), M.tensor(INDEX)),
    "vmap index shared": lambda M: M.vmap(lambda i: M.tensor(A)[i])(M.tensor(INDEX)),
    "vmap gather": lambda M: M.vmap(lambda x, i: M.gather(x, 0, i.reshape(1)))(M.tensor(A), M.tensor(INDEX)),
    "vmap gather grad": lambda M: M.vmap(M.func.grad(lambda x, i: M.gather(x**2, 0, i.reshape(1)).sum()))(
        M.tensor(A), M.tensor(INDEX)
    ),
    "per sample": lambda M: M.vmap(M.func.grad(lambda w, x: (_layer(M, w, x) ** 2).sum()), in_dims=(None, 0))(
        M.tensor(B), M.tensor(A)
    ),
    "vmap hessian": lambda M: M.vmap(M.func.hessian(lambda x: _layer(M, M.tensor(B), x).sum() ** 2))(M.tensor(A)),
    "vmap jvp": lambda M: M.vmap(lambda x: M.func.jvp(lambda z: _layer(M, M.tensor(B), z), (x,), (x * 2,)))(
        M.tensor(A)
    ),
    "vmap vjp": lambda M: M.vmap(lambda x: M.func.vjp(lambda z: _layer(M, M.tensor(B), z), x)[1](x.sum().expand(4)))(
        M.tensor(A)
    ),
    "vmap jacrev": lambda M: M.vmap(M.func.jacrev(lambda x: _layer(M, M.tensor(B), x)))(M.tensor(A)),
    "vmap jacfwd": lambda M: M.vmap(M.func.jacfwd(lambda x: _layer(M, M.tensor(B), x)))(M.tensor(A)),
    "grad vmap": lambda M: M.func.grad(lambda w: M.vmap(lambda x: _layer(M, w, x).sum())(M.tensor(A)).sum())(
        M.tensor(B)
    ),
    "jvp vmap": lambda M: M.func.jvp(
        lambda w: M.vmap(lambda x: _layer(M, w, x))(M.tensor(A)), (M.tensor(B),), (M.tensor(B),)
    ),
    "grad vmap grad": lambda M: M.func.grad(
        lambda w: M.vmap(M.func.grad(lambda x: (x * w).sin().sum()))(M.tensor(A)).sum()
    )(M.tensor(V)),
    "grad index vmap": lambda M: M.func.grad(lambda e: M.vmap(lambda i: e[i].sum() * 2)(M.tensor(INDEX)).sum())(
        M.tensor(A)
    ),
    "ordinary graph outside": lambda M: _outside(M),
    "batched cotangents": lambda M: _batched(M),
    "batched cotangents recorded": lambda M: _batched_twice(M),
    "batched cotangents, an input unused": lambda M: _batched_and_unused(M),
    "vjp of a number without a cotangent": lambda M: M.func.vjp(lambda x: (x, (x**2).sum()), M.tensor(V))[1](
        (M.tensor(V), None)
    ),
    "in inference mode": lambda M: _in_inference_mode(M),
}


def _written(x):
    y = x.clone()
    y[0] = x[1] * 2
    y[1:].mul_(3)
    return y


def _outside(M):
    w = M.tensor(B, requires_grad=True)
    out = M.vmap(M.func.grad(lambda x: ((x @ w) ** 2).sum()))(M.tensor(A)).sum()
    return M.autograd.grad(out, w)[0]


def _batched(M):
    x = M.tensor(V, requires_grad=True)
    return M.autograd.grad((x**3) @ M.tensor(B), x, M.eye(4, dtype=M.float64), is_grads_batched=True)


def _batched_and_unused(M):
    x, unused = M.tensor(V, requires_grad=True), M.tensor(A, requires_grad=True)
    return M.autograd.grad(
        (x**3) @ M.tensor(B), (x, unused), M.eye(4, dtype=M.float64), is_grads_batched=True, materialize_grads=True
    )


def _batched_twice(M):
    x = M.tensor(V, requires_grad=True)
    (rows,) = M.autograd.grad(
        (x**3) @ M.tensor(B), x, M.eye(4, dtype=M.float64), is_grads_batched=True, create_graph=True
    )
    return M.autograd.grad((rows**2).sum(), x)


def _flat(value):
    if isinstance(value, dict):
        return [np.array(list(value)), *[item for part in value.values() for item in _flat(part)]]
    if isinstance(value, (tuple, list)):
        return [item for part in value for item in _flat(part)]
    return [np.asarray(value.detach().numpy())]


def _same(ours, theirs):
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.shape == other.shape
        assert mine.dtype == other.dtype
        if mine.dtype.kind == "U":
            assert mine.tolist() == other.tolist()
        else:
            np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    _same(_flat(PROGRAMS[name](pullback)), _flat(PROGRAMS[name](torch)))


@pytest.mark.parametrize("name", [name for name in PROGRAMS if "graph" not in name and "cotangents" not in name])
def test_program_under_no_grad(name):
    with pullback.no_grad():
        ours = _flat(PROGRAMS[name](pullback))
    _same(ours, _flat(PROGRAMS[name](torch)))


def test_anomaly_mode_looks_into_batches():
    x = pullback.zeros(3) - 1
    with pullback.autograd.set_detect_anomaly(True), pytest.warns(RuntimeWarning, match="made nan"):
        np.testing.assert_array_equal(pullback.func.vmap(pullback.func.grad(lambda x: x.sum()))(x).numpy(), 1)
        with pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values in its 0th output"):
            pullback.func.vmap(pullback.func.grad(lambda x: x.sqrt().sum()))(x)


def _unrecorded(M, f):
    with M.no_grad():
        return f()


STOPPED = {
    "detach": lambda M, r: r * r * r.detach(),
    "detach of a result": lambda M, r: r * (r * 2).sin().detach(),
    "detach, shared": lambda M, r: (r + r.detach()).relu(),
    "no_grad": lambda M, r: r * _unrecorded(M, lambda: r * 2),
    "straight through": lambda M, r: r + (r.round() - r).detach(),
}
AROUND = {
    "vmap, recorded outside": lambda M, f, x: _followed_outside(M, M.vmap(f), x),
    "vmap of vmap, recorded outside": lambda M, f, x: _followed_outside(M, M.vmap(M.vmap(f)), x),
    "vmap of grad, recorded outside": lambda M, f, x: _followed_outside(
        M, M.vmap(M.func.grad(lambda r: f(r).sum())), x
    ),
    "grad of vmap": lambda M, f, x: M.func.grad(lambda x: M.vmap(f)(x).sum())(x),
    "jvp of vmap": lambda M, f, x: M.func.jvp(M.vmap(f), (x,), (x.cos(),))[1],
    "grad of jvp of vmap": lambda M, f, x: M.func.grad(lambda x: M.func.jvp(M.vmap(f), (x,), (x,))[1].sum())(x),
    "jacrev of jacrev": lambda M, f, x: M.func.jacrev(M.func.jacrev(f))(x[0]),
    "jacfwd of jacrev": lambda M, f, x: M.func.jacfwd(M.func.jacrev(f))(x[0]),
    "vmap of jacfwd": lambda M, f, x: M.vmap(M.func.jacfwd(f))(x),
}


def _followed_outside(M, f, x):
    x = x.detach().requires_grad_()
    result = f(x)
    if not result.requires_grad:
        return M.zeros_like(x)
    return M.autograd.grad((result * result).sum(), x, materialize_grads=True)[0]


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("name", STOPPED)
def test_what_stops_a_gradient_stops_it_at_every_level(name, around):
    answers = [AROUND[around](M, lambda r, M=M: STOPPED[name](M, r), M.tensor(A)) for M in (pullback, torch)]
    np.testing.assert_allclose(*[answer.detach().numpy() for answer in answers], rtol=1e-10, atol=1e-12)


def test_an_ensemble_on_a_skeleton():
    """The way of torch's tutorial: the module that is called has shapes only, the numbers come from the stack."""
    answers = []
    for M in (pullback, torch):
        members = [M.nn.Sequential(M.nn.Linear(3, 4), M.nn.BatchNorm1d(4)).double() for _ in range(2)]
        for number, member in enumerate(members):
            for parameter in member.parameters():
                size = M.arange(parameter.numel(), dtype=M.float64).reshape(parameter.shape)
                parameter.data.copy_(M.sin(size + number))
        parameters, buffers = M.func.stack_module_state(members)
        skeleton = copy.deepcopy(members[0]).to("meta").eval()

        def call(parameters, buffers, x, M=M, skeleton=skeleton):
            return M.func.functional_call(skeleton, (parameters, buffers), (x,))

        outputs = M.vmap(call, in_dims=(0, 0, None))(parameters, buffers, M.tensor(A))
        outputs.sum().backward()
        answers.append((outputs.detach().numpy(), parameters["0.weight"].grad.numpy()))
        assert tuple(skeleton[0].weight.shape) == (4, 3)
    for ours, theirs in zip(*answers, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)
