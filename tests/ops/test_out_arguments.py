"""`out=` of every family of functions as torch has it: the same object, resized with its warning, its rules for dtypes."""

import warnings

import pytest

import pullback

torch = pytest.importorskip("torch")


def rows(t):
    return t.tensor([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 0.95]])


def positive(t):
    return rows(t) @ rows(t).T + t.eye(3)


def of_one(path, *rest, given=rows, **options):
    def call(t, out):
        function = t
        for part in path.split("."):
            function = getattr(function, part)
        return function(given(t), *rest, **options, out=out)

    return call


def images(*shape):
    return lambda t: t.arange(1.0, 73.0).reshape(1, 2, *shape)


CALLS = {
    "linear": lambda t, out: t.nn.functional.linear(rows(t), rows(t), rows(t)[0], out=out),
    "linear without bias": lambda t, out: t.nn.functional.linear(rows(t), rows(t), out=out),
    "matmul": lambda t, out: t.linalg.matmul(rows(t), rows(t), out=out),
    "chain_matmul": lambda t, out: t.chain_matmul(rows(t), rows(t), out=out),
    "threshold": of_one("threshold", 0.3, 0.0),
    "log_softmax": of_one("log_softmax", 0),
    "softmax": of_one("softmax", 0),
    "avg_pool2d": of_one("nn.functional.avg_pool2d", 2, given=images(6, 6)),
    "avg_pool3d": of_one("nn.functional.avg_pool3d", 2, given=images(2, 3, 6)),
    **{name: of_one(f"nn.functional.{name}") for name in "gelu softplus softshrink hardshrink logsigmoid".split()},
    "gelu tanh": of_one("nn.functional.gelu", approximate="tanh"),
    **{name: of_one(name) for name in "sin exp sum0 neg sqrt msort histc".split() if not name.endswith("0")},
    "sum": of_one("sum", 0),
    "amax": of_one("amax", 0),
    "norm": of_one("norm"),
    "clamp": of_one("clamp", 0.2, 0.6),
    "clamp_min": of_one("clamp_min", 0.2),
    "logcumsumexp": of_one("logcumsumexp", 0),
    "renorm": of_one("renorm", 2, 0, 1.0),
    "diff": of_one("diff"),
    "matrix_power": of_one("linalg.matrix_power", 2),
    **{f"linalg.{name}": of_one(f"linalg.{name}", given=positive)
       for name in "det inv svdvals eigvalsh cholesky norm matrix_norm vector_norm slogdet inv_ex cholesky_ex".split()},
    "solve": lambda t, out: t.linalg.solve(positive(t), rows(t), out=out),
    "multi_dot": lambda t, out: t.linalg.multi_dot([rows(t), rows(t)], out=out),
    "inner": lambda t, out: t.inner(rows(t), rows(t), out=out),
    "tensordot": lambda t, out: t.tensordot(rows(t), rows(t), 1, out=out),
    "searchsorted": lambda t, out: t.searchsorted(rows(t)[0], rows(t)[1], out=out),
    "take_along_dim": lambda t, out: t.take_along_dim(rows(t), t.tensor([[0, 2, 1]]), 0, out=out),
    "scatter_reduce": lambda t, out: t.scatter_reduce(rows(t), 0, t.tensor([[0, 2, 1]]), rows(t), "sum", out=out),
    "add": lambda t, out: t.add(rows(t), rows(t), out=out),
    "cat": lambda t, out: t.cat([rows(t), rows(t)], out=out),
    "stack": lambda t, out: t.stack([rows(t), rows(t)], out=out),
    "vstack": lambda t, out: t.vstack([rows(t), rows(t)], out=out),
    "bernoulli": of_one("bernoulli"),
    "normal": lambda t, out: t.normal(rows(t), rows(t), out=out),
}  # fmt: skip
KINDS = {
    "of its own": lambda t, shape, kind: t.zeros(shape, dtype=kind),
    "empty": lambda t, shape, kind: t.empty(0, dtype=kind),
    "of another shape": lambda t, shape, kind: t.zeros(7, dtype=kind),
    "double": lambda t, shape, kind: t.zeros(shape, dtype=t.float64),
    "bytes": lambda t, shape, kind: t.zeros(shape, dtype=t.uint8),
    "whole": lambda t, shape, kind: t.zeros(shape, dtype=t.int64),
    "complex": lambda t, shape, kind: t.zeros(shape, dtype=t.complex64),
    "with a gradient": lambda t, shape, kind: t.zeros(shape, dtype=kind).requires_grad_(kind == t.float32),
}


def outcome(t, name, kind):
    """What was written, whether it is the object given, and whether there was a warning; or the type of the error."""
    t.manual_seed(0)
    probe = CALLS[name](t, None)
    parts = probe if isinstance(probe, tuple) else (probe,)
    outs = tuple(KINDS[kind](t, tuple(part.shape), part.dtype) for part in parts)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        t.manual_seed(0)
        try:
            result = CALLS[name](t, outs if isinstance(probe, tuple) else outs[0])
        except Exception as error:
            return type(error)
    assert all(one is out for one, out in zip(result if isinstance(result, tuple) else (result,), outs))
    resized = any("An output with one or more elements was resized" in str(one.message) for one in seen)
    return [(str(out.dtype), out.detach().resolve_conj().tolist()) for out in outs], resized


# Torch answers by a rule of its own: it sums in the dtype of `out`, writes over a leaf, knows no such kernel, or does not warn.
ITS_OWN = {("sum", "whole"), ("sum", "bytes"), ("histc", "with a gradient"), ("logsigmoid", "of another shape"),
           ("bernoulli", "complex"), ("normal", "complex"), ("normal", "whole"), ("normal", "bytes")}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CALLS)
def test_as_torch(name, kind):
    if (name, kind) in ITS_OWN:
        return
    want, got = outcome(torch, name, kind), outcome(pullback, name, kind)
    if isinstance(want, type):
        assert got is want or issubclass(want, got) or want.__name__ == got.__name__
        return
    assert not isinstance(got, type) and got[1] == want[1]
    for (kind_of_ours, ours), (kind_of_theirs, theirs) in zip(got[0], want[0]):
        assert kind_of_ours == kind_of_theirs
        assert torch.tensor(ours).allclose(torch.tensor(theirs), rtol=1e-4, atol=1e-5)
