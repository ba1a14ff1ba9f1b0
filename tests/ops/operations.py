"""The operations of the package, and samples of each: its own, and what functions of the table of gradients apply.

Torch takes no part here.
"""

import importlib
import inspect
import pkgutil
import re
from contextlib import contextmanager
from functools import cache

import numpy as np

import pullback
from pullback.autograd import grad
from pullback.core import general
from pullback.core.op import Op
from pullback.ops.samples import Draw

from .test_gradients import ROWS, inputs


def operations():
    """All operations of the package, by the names they have where they are defined."""
    for found in pkgutil.walk_packages([f"{pullback.__path__[0]}/ops"], "pullback.ops."):
        module = importlib.import_module(found.name)
        defined = set(re.findall(r"^\w+", inspect.getsource(module), re.MULTILINE))
        for name, value in vars(module).items():
            for key, each in value.items() if type(value) is dict else [(None, value)]:
                if isinstance(each, Op) and name in defined:
                    yield f"{module.__name__}.{name}" + ("" if key is None else f"[{key}]"), each


@contextmanager
def applications():
    """Every operation that runs inside: itself, its inputs as arrays, its parameters."""
    seen, run = [], general._apply

    def noted(op, given, params, *rest):
        arrays = [value._array if isinstance(value, pullback.Tensor) else value for value in given]
        seen.append((op, tuple(np.array(x) if isinstance(x, np.ndarray) else x for x in arrays), params or {}))
        return run(op, given, params, *rest)

    general._apply = noted
    try:
        with pullback.profiler.profile():  # so that everything comes by there
            yield seen
    finally:
        general._apply = run


def applied_by(name):
    """What a row of the table applies, in two derivatives."""
    function, shapes, domain, _ = ROWS[name]
    pullback.set_default_dtype(pullback.float64)
    try:
        with applications() as seen:
            values = inputs(name, shapes, domain, False)
            for _ in range(2):
                out = function(*values)
                outs = [part for part in (out if isinstance(out, (tuple, list)) else (out,)) if part.requires_grad]
                if not outs:
                    break
                once = grad(outs, values, [part.detach() * 0 + 0.7 for part in outs], True, True, allow_unused=True)
                function = lambda *_, once=once: [part for part in once if part is not None]  # noqa: E731
        return seen
    finally:
        pullback.set_default_dtype(pullback.float32)


@cache
def rows_by_operation():
    """The names of the rows that apply each operation, with one application each."""
    found = {}
    for name in ROWS:
        for op, arrays, params in applied_by(name):
            found.setdefault(op, {}).setdefault(name, (arrays, params))
    return found


def own_samples(op):
    return [] if op.samples is None else list(op.samples(Draw()))


def samples_of(op):
    """Inputs and parameters to try an operation with: its own, and of rows."""
    return own_samples(op) + list(rows_by_operation().get(op, {}).values())
