"""Spelled arrays: a rule that runs on names says what it computes.

A `Spelled` takes part in NumPy's protocols and in calls of operations, as batched arrays and tensors do. It holds a term
(`terms.py`), how it was computed, and the value itself, so that a rule which looks at shapes, dtypes or elements takes
the way that it took in the pass. `explain` shows the terms, and passes that are written out contain them (inlining.py).
"""

from __future__ import annotations

import keyword
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import generic, ndarray

from ...core.op import Op
from .terms import INFIX, PREFIX, REDUCTIONS, Term, Unspeakable, made_again, terms_in, text

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from ...core.basics.types import (
        Arguments,
        Array,
        Cotangent,
        Function,
        Gradient,
        Index,
        Keywords,
        Operand,
        Operands,
        Params,
        Result,
        SaveCode,
        Values,
    )
    from ...core.node import Node

UNCHANGING = ("reshape", "broadcast_to", "ravel", "squeeze", "transpose")  # where the shape is as before
OPENED = 8  # functions in the formula of an operation up to which it is shown in place of the operation's name

_by_shape_alone: ContextVar[bool] = ContextVar("by_shape_alone", default=False)
# Of arrays that stand in formulas by a name: those that rules are given, and what they make of shapes and parameters.
_names: ContextVar[dict[int, Term]] = ContextVar("names")


class Spelled(np.lib.mixins.NDArrayOperatorsMixin):
    """An array that knows how it was computed."""

    __slots__ = ("term", "value")
    __array_priority__ = 2000

    def __init__(self, term: Term, value: Array) -> None:
        self.term: Term = term
        self.value: Array = value
        term.shape, term.dtype = value.shape, value.dtype

    shape = property(lambda self: self.value.shape)
    dtype = property(lambda self: self.value.dtype)
    ndim = property(lambda self: self.value.ndim)
    size = property(lambda self: self.value.size)
    itemsize = property(lambda self: self.value.itemsize)
    flags = property(lambda self: self.value.flags)
    strides = property(lambda self: self.value.strides)
    T = property(lambda self: self._attribute("T", self.value.T))
    real = property(lambda self: self._attribute("real", self.value.real))
    imag = property(lambda self: self._attribute("imag", self.value.imag))

    def _attribute(self, name: str, value: Array) -> Spelled:
        return Spelled(Term(name, (self.term,), form="attribute"), value)

    def _turned(self, value: Array) -> Spelled:
        """A matrix with its axes in another order, or in the same."""
        turned = self.value.T
        return self._attribute("T", value) if (value.shape, value.strides) == (turned.shape, turned.strides) else self

    def __repr__(self) -> str:
        return f"<{text(self.term)}>"

    # --- NumPy's functions ---

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        if self.value.dtype.kind in "biu":  # indices: rules take them as they are
            return np.asarray(self.elements(), *args)
        raise Unspeakable("its elements as an array of NumPy's")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Operand, **options: Any) -> Result:
        if options.get("out") is not None or method == "at":
            raise Unspeakable("memory to write into")
        name = ufunc.__name__
        value = getattr(ufunc, method)(*map(valued, inputs), **valued(options))
        options = {key: option for key, option in options.items() if key not in ("order", "casting")}
        if method == "reduce" and ufunc in REDUCTIONS:
            first, *rest = inputs
            options = {"axis": 0, **dict(zip(("axis", "dtype", "out", "keepdims"), rest)), **options}
            return spelled_as(REDUCTIONS[ufunc].__name__, (first,), _telling(options), value)
        if method != "__call__":
            return spelled_as(f"{name}.{method}", inputs, options, value)
        if name in INFIX and not options:
            first, second = inputs
            is_one = type(second) in (int, float) and second == 1
            if is_one and name in ("multiply", "power") and value.dtype == first.dtype:
                return first
            return Spelled(Term(name, termed(inputs), form="infix"), value)
        if name in PREFIX and not options:
            (inner,) = inputs
            if name == "negative" and inner.term.form == "prefix" and inner.term.head == name:
                return Spelled(inner.term.parts[0], value)
            return Spelled(Term(name, (inner.term,), form="prefix"), value)
        return spelled_as(name, inputs, options, value)

    def __array_function__(
        self, function: Function, types: tuple[type, ...], args: Arguments, kwargs: Keywords
    ) -> Result:
        value: Any = function(*valued(args), **valued(kwargs))
        is_array = isinstance(value, (ndarray, generic))
        if function is np.shape or not is_array and not isinstance(value, (tuple, list)):
            return value
        if function in (np.swapaxes, np.transpose) and value.ndim == 2:
            return self._turned(value)
        if function is np.dot and all([np.ndim(arg) in (1, 2) for arg in args]):
            return Spelled(Term("matmul", termed(args), form="infix"), value)
        name = function.__name__
        home = getattr(function, "__module__", None) or "numpy"
        return spelled_as(f"{home[6:]}.{name}" if home.startswith("numpy.") else name, args, _telling(kwargs), value)

    # --- operations ---

    def _pullback_apply(self, op: Op, inputs: Operands, params: Params | None) -> Result:
        """A call of an operation: what its formula says, where that is short; else its name."""
        params = params or {}
        value = op.forward(*valued(inputs), **valued(params))
        try:
            found = op.forward(*inputs, **params)
            if type(found) is Spelled and _work(found.term) <= OPENED + sum(map(_work, terms_in(termed(inputs)))):
                return found
        except Exception:  # noqa: BLE001 - no formula: a kernel, or a loop over elements
            pass
        return spelled_as(label_of(op), inputs, params, value)

    # --- elements ---

    def elements(self) -> Any:
        """The value, for a rule that does one thing or another depending on it."""
        if _by_shape_alone.get():
            raise Unspeakable("its elements")
        return self.value

    def __getitem__(self, index: Index) -> Spelled:
        return Spelled(Term("index", (self.term, termed(index)), form="index"), self.value[valued(index)])

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator[Spelled]:
        return (self[number] for number in range(len(self.value)))

    def __bool__(self) -> bool:
        return bool(self.elements())

    def __float__(self) -> float:
        return float(self.elements())

    def __int__(self) -> int:
        return int(self.elements())

    __index__ = __int__

    def item(self) -> Any:
        """The one element."""
        return self.elements().item()

    def astype(self, dtype: DTypeLike, *args: Any, **kwargs: Any) -> Spelled:
        """The same numbers in another dtype; shown where that is another one."""
        value = self.value.astype(dtype, *args, **kwargs)
        if value.dtype == self.value.dtype:
            return self
        return spelled_as("astype", (self, value.dtype), {}, value)

    def copy(self) -> Spelled:
        return self

    def _method(name: str) -> Any:  # type: ignore[misc]
        """A method of NumPy's arrays, shown as the function of that name."""

        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            value = getattr(self.value, name)(*valued(args), **valued(kwargs))
            if name in ("reshape", "transpose") and len(args) > 1:
                args = (args,)
            if name in ("transpose", "swapaxes") and self.ndim == 2:
                return self._turned(value)
            if name == "dot" and self.ndim in (1, 2) and args[0].ndim in (1, 2):
                return Spelled(Term("matmul", termed((self, *args)), form="infix"), value)
            return spelled_as(name, (self, *args), _telling(kwargs), value)

        return method

    reshape, transpose, swapaxes, ravel, squeeze = map(_method, "reshape transpose swapaxes ravel squeeze".split())
    sum, dot, conj, all, any, max, min = map(_method, "sum dot conj all any max min".split())
    take, cumsum, repeat, diagonal = map(_method, "take cumsum repeat diagonal".split())
    del _method


def _work(term: Term) -> int:
    """The number of functions in a term."""
    return sum([each.form != "name" for each in term.all()])


_USUAL = {"keepdims": False, "dtype": None, "out": None, "axis": None, "initial": np._NoValue, "where": True}


def _telling(options: Keywords) -> Keywords:
    """Options of NumPy's functions without those that go without saying; (1,) as 1, an axis rather than several."""
    return {
        name: value[0] if type(value) is tuple and len(value) == 1 and type(value[0]) is int else value
        for name, value in options.items()
        if not (name in _USUAL and (value is _USUAL[name] or value is np._NoValue))
    }


def valued(value: Any) -> Any:
    """The plain value of a spelled array, or of a tuple, list or slice of some."""
    kind = type(value)
    if kind is Spelled:
        return value.value
    if kind in (tuple, list):
        return kind(map(valued, value))
    if kind is dict:
        return {name: valued(entry) for name, entry in value.items()}
    return slice(*map(valued, (value.start, value.stop, value.step))) if kind is slice else value


def termed(value: Any) -> Any:
    """The term that spells a value."""
    kind = type(value)
    if kind is Spelled:
        return value.term
    if isinstance(value, (tuple, list)):
        if id(value) in _names.get({}):
            return _names.get()[id(value)]
        return (list if kind is list else tuple)(map(termed, value))
    if kind is dict:
        return {name: termed(entry) for name, entry in value.items()}
    if kind is slice:
        return slice(*map(termed, (value.start, value.stop, value.step)))
    if isinstance(value, Op):
        return Term(label_of(value), form="name")
    if kind is ndarray and value.ndim:
        names = _names.get({})
        if id(value) in names:
            return names[id(value)]
        if made_again(value) is None:
            return names.setdefault(id(value), Term(f"constant{len(names)}", (value,), form="name"))
    return value.item() if kind is ndarray and not value.ndim or isinstance(value, generic) else value


def spelled_as(name: str, args: Sequence[Operand], options: Keywords, value: Result) -> Result:
    """A value, or several, as what a function of this name gives; what changes nothing is not shown."""
    if name in UNCHANGING and args and type(args[0]) is Spelled and args[0].shape == value.shape:
        if name != "transpose" or value.ndim < 2:
            return args[0]
    term = Term(name, tuple(map(termed, args)), {key: termed(entry) for key, entry in options.items()})
    if isinstance(value, (tuple, list)):
        parts = [Spelled(Term("index", (term, number), form="index"), part) for number, part in enumerate(value)]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return Spelled(term, value) if isinstance(value, (ndarray, generic)) else value


@contextmanager
def by_shape_alone() -> Iterator[None]:
    """Inside, a rule that asks for elements fails: what it says holds for all arrays of these shapes and dtypes."""
    before = _by_shape_alone.set(True)
    try:
        yield
    finally:
        _by_shape_alone.reset(before)


@cache
def operations() -> dict[str, Op]:
    """The operations by the names that they are shown by: with their module where the name is NumPy's, too."""
    found: dict[str, Op] = {}
    known: set[Op] = set()
    loaded = sorted(sys.modules.items(), key=lambda item: (not item[0].startswith("pullback.ops."), item[0]))
    held = [
        (path.removeprefix("pullback."), name, value)
        for path, module in loaded
        if path.startswith("pullback.")
        for name, value in list(vars(module).items())
    ]
    in_tables = [
        (path, f"{name}[{key!r}]", value)
        for path, name, table in held
        if type(table) is dict
        for key, value in table.items()
    ]
    for path, name, value in held + in_tables:  # a table may hold what has a name of its own elsewhere
        if isinstance(value, Op) and value not in known:
            known.add(value)
            taken = name in found or hasattr(np, name) or not name.isidentifier()
            found[f"{path}.{name}" if taken else name] = value
    return found


def label_of(op: Op) -> str:
    """The name that an operation is shown by."""
    for _ in range(2):
        for name, value in operations().items():
            if value is op:
                return name
        operations.cache_clear()  # a module may have come since
    raise Unspeakable(f"{op} has no name")


# --- rules ---


def spell(node: Node, cotangent: Cotangent, arrays: Values, called: dict[str, str]) -> list[Any]:
    """Run a node's rules on spelled arrays: one for each edge, of the shape of the input.

    None for nothing, and for a rule that needs what names do not have. `called` are the names that users have for what
    rules call `x`, `weight` or `out`.
    """
    plan = node.plan
    own = [name_of(plan.op, code) for code in plan.saves]
    names = shown_names(own, arrays, called, cotangent_name(plan.op))
    found: dict[int, Term] = {}
    given = [_named(value, name, found) for value, name in zip(arrays, names, strict=True)]
    for name, value in (node.params or {}).items():
        _named(value, name, found)
    before = _names.set(found)
    try:
        g = _named(cotangent, cotangent_name(plan.op), {})
        needs = tuple([edge is not None for edge in node.edges])
        results: list[Any] = [None] * len(node.edges)
        for call in plan.calls if plan.joint is None else (plan.joint,):
            try:
                result = call.rule(g, *call.arguments(given, node.params or {}, needs))
                shares = [result] if plan.joint is None else result
                for position, share in enumerate(shares, max(call.position, 0)):
                    results[position] = _fitted(share, node, position)
            except Exception:  # noqa: BLE001 - whatever a rule needs that names do not have
                continue
        return results
    finally:
        _names.reset(before)


def cotangent_name(op: Op) -> str:
    """The name of the cotangent: `g`, or `h` in the rules of a pullback, whose own input is `g`."""
    return "h" if "g" in op.inputs else "g"


def name_of(op: Op, code: SaveCode) -> str:
    """The name that rules have for a saved value (see `Plan.saves`)."""
    if type(code) is tuple:
        return f"{op.inputs[code[1]]}_shape"
    return code if type(code) is str else "out" if code < 0 else op.inputs[code]


def shown_names(own: list[str], arrays: Values, called: dict[str, str], cotangent: str) -> list[str]:
    """The user's names, where they are names in Python that stand for nothing else in formulas; else the rule's own."""

    def shown(name: str) -> str:
        user = called.get(name, name)
        is_taken = user in (cotangent, "ops", "dict", "slice") or hasattr(np, user) or user in operations()
        return name if is_taken or keyword.iskeyword(user) or not user.isidentifier() else user

    users = [shown(name) for name in own]
    values: dict[str, int] = {}
    several = [values.setdefault(name, id(value)) != id(value) for name, value in zip(users, arrays, strict=True)]
    return own if any(several) else users


def _named(value: Any, name: str, found: dict[int, Term]) -> Any:
    """A value that rules are given as a spelled array; `found` gets its name."""
    if isinstance(value, (tuple, list)):
        parts = tuple([_named(part, f"{name}[{number}]", found) for number, part in enumerate(value)])
        if any(type(part) is not type(given) for part, given in zip(parts, value, strict=True)):  # some are arrays
            found.setdefault(id(value), Term(name, form="name"))
        return parts
    if isinstance(value, (ndarray, generic)):
        return Spelled(found.setdefault(id(value), Term(name, form="name")), value)
    return value


def _fitted(gradient: Gradient, node: Node, position: int) -> Gradient:
    """A gradient with the sums that undo broadcasting, as the tape's edge adds them."""
    from ...core.cotangents import metadata_of

    target = node.edges[position]
    if gradient is None or target is None:
        return None
    shape, dtype = metadata_of(target, node.slots[position] if node.slots else 0)
    if type(gradient) is not Spelled:
        gradient = Spelled(Term("asarray", (termed(np.asarray(gradient)),)), np.asarray(gradient))
    if gradient.dtype.kind == "c" != dtype.kind:
        gradient = gradient.real
    if gradient.shape == shape:
        return gradient
    extra = gradient.ndim - len(shape)
    if extra < 0 or any(want not in (1, have) for want, have in zip(shape, gradient.shape[extra:], strict=True)):
        return np.broadcast_to(gradient, shape)  # a constant rule, such as the derivative of a sum
    axes = tuple(range(extra)) + tuple(
        extra + i for i, want in enumerate(shape) if want == 1 != gradient.shape[extra + i]
    )
    if len(axes) == gradient.ndim and not shape:
        return np.sum(gradient)
    if extra == len(axes):
        return np.sum(gradient, axis=axes)
    summed = np.sum(gradient, axis=axes, keepdims=True)
    return np.reshape(summed, shape) if extra else summed
