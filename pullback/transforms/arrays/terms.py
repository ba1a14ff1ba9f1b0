"""Terms: how a value was computed, and printing that as Python.

A term is a name, or a function of other terms and of constants. `spelled.py` makes them while a rule runs; `text` prints
one as an expression of NumPy's functions and of operations, with lines before it for the parts that have names.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import generic, ndarray

if TYPE_CHECKING:
    from ...core.basics.types import Function, Keywords

ATOM = 20  # how tightly names, calls and numbers hold together
SIGN = 13  # and a sign with what follows it
POWER = 14
# Operators of two operands: how they are written, and how tightly they hold together.
INFIX: dict[str, tuple[str, int]] = {
    "power": ("**", POWER), "multiply": ("*", 12), "divide": ("/", 12), "matmul": ("@", 12), "floor_divide": ("//", 12),
    "remainder": ("%", 12), "add": ("+", 11), "subtract": ("-", 11), "bitwise_and": ("&", 9), "bitwise_xor": ("^", 8),
    "bitwise_or": ("|", 7), "less": ("<", 6), "less_equal": ("<=", 6), "greater": (">", 6), "greater_equal": (">=", 6),
    "equal": ("==", 6), "not_equal": ("!=", 6),
}  # fmt: skip
PREFIX: dict[str, str] = {"negative": "-", "invert": "~", "positive": "+"}
# What the ufuncs of two operands are called where they reduce.
REDUCTIONS: dict[np.ufunc, Function] = {
    np.add: np.sum, np.multiply: np.prod, np.maximum: np.max, np.minimum: np.min, np.logical_and: np.all,
    np.logical_or: np.any,
}  # fmt: skip
COMPARISON = 6  # the operators that do not chain as others do

SHARED = 16  # letters from which a part that is used twice gets a name
LONGEST = 100  # letters from which an expression is cut into named parts
CONSTANT = 12  # elements up to which an array that has no name is written out


class Unspeakable(Exception):
    """A rule asked for what a name does not have: its elements as an array of NumPy's, or memory to write into."""


class Term:
    """The record of how a value was computed: by a function (`head`) of terms and constants; or its name."""

    __slots__ = ("head", "parts", "options", "form", "shape", "dtype")

    def __init__(self, head: str, parts: tuple[Any, ...] = (), options: Keywords | None = None, form: str = "call"):
        self.head: str = head
        self.parts: tuple[Any, ...] = parts  # terms, constants, and tuples of both
        self.options: Keywords = options or {}
        self.form: str = form  # 'name', 'infix', 'prefix', 'index', 'attribute' or 'call'
        self.shape: tuple[int, ...] = ()
        self.dtype: Any = None

    def inner(self) -> Iterator[Term]:
        """The terms that this one was made of, one by one."""
        yield from terms_in((*self.parts, *self.options.values()))

    def all(self) -> list[Term]:
        """Every term inside and this one, each once and after those that it was made of."""
        done: dict[int, Term] = {}
        waiting = [(self, False)]
        while waiting:
            term, ready = waiting.pop()
            if ready:
                done.setdefault(id(term), term)
            elif id(term) not in done:
                waiting.append((term, True))
                waiting += [(part, False) for part in term.inner()]
        return list(done.values())


def terms_in(value: Any) -> Iterator[Term]:
    """The terms in a constant, a tuple or an index."""
    if type(value) is Term:
        yield value
    elif type(value) in (tuple, list):
        for item in value:
            yield from terms_in(item)
    elif type(value) is dict:
        yield from terms_in(list(value.values()))
    elif type(value) is slice:
        yield from terms_in((value.start, value.stop, value.step))


def text(term: Term) -> str:
    """The term as Python: `s = sigmoid(x); g * s * (1 - s)`.

    Parts that are long and used more than once have names, and so many others that no line has more than 100 letters.
    """
    everything = term.all()
    uses: dict[int, int] = {}
    for each in everything:
        for part in each.inner():
            uses[id(part)] = uses.get(id(part), 0) + 1
    taken = {each.head for each in everything if each.form == "name"}
    letters = (f"{letter}{number or ''}" for number in count() for letter in "stuvwpqr")
    free = (letter for letter in letters if letter not in taken)
    printer = _Printer()
    lines: list[str] = []

    def give_name(part: Term) -> None:
        line = printer.written(part)[0]
        printer.named[id(part)] = next(free)
        lines.append(f"{printer.named[id(part)]} = {line}")

    def give_names_to_options(call: Term) -> None:
        names = list(call.options)
        half = len(names) // 2
        for part in (names[:half], names[half:]):
            printer.packed.setdefault(id(call), []).append(next(free))
            options = Term("dict", options={name: call.options[name] for name in part})
            lines.append(f"{printer.packed[id(call)][-1]} = {printer.written(options)[0]}")

    for each in everything:
        length = len(printer.written(each)[0])
        if length > LONGEST:  # what it is made of is shorter: the longest get names until it is short
            parts = {id(part): part for part in each.inner() if part.form != "name" and id(part) not in printer.named}
            for part in sorted(parts.values(), key=lambda part: -len(printer.written(part)[0])):
                if length > LONGEST and len(printer.written(part)[0]) > 2:
                    give_name(part)
                    length = len(printer.written(each)[0])
            if length > LONGEST and len(each.options) > 1:
                give_names_to_options(each)
        often = uses.get(id(each), 0)
        if often > 1 and each.form not in ("name", "attribute") and (length > SHARED or length * often > 2 * SHARED):
            give_name(each)
    written = "; ".join([*lines, printer.written(term)[0]])
    large = [f"{name}: {array.dtype} of shape {array.shape}" for name, array in constants(term).items()]
    return f"{written}  # {', '.join(large)}" if large else written


class _Printer:
    """Prints terms, those that have a name by that."""

    def __init__(self) -> None:
        self.named: dict[int, str] = {}
        self.packed: dict[int, list[str]] = {}  # the names of the options of long calls

    def written(self, term: Term) -> tuple[str, int]:
        """A term as text, and how tightly it holds together."""
        if id(term) in self.named:
            return self.named[id(term)], ATOM
        if term.form == "name":
            return term.head, ATOM
        if term.form == "infix":
            return self.infix(term)
        if term.form == "prefix":
            return f"{PREFIX[term.head]}{self.bound(term.parts[0], SIGN)}", SIGN
        if term.form == "attribute":
            return f"{self.bound(term.parts[0], ATOM)}.{term.head}", ATOM
        if term.form == "index":
            index = term.parts[1] if type(term.parts[1]) is tuple else (term.parts[1],)
            inside = ", ".join([self.index(part) for part in index]) or "()"
            return f"{self.bound(term.parts[0], ATOM)}[{inside}]", ATOM
        given = [self.operand(part)[0] for part in term.parts]
        if id(term) in self.packed:
            given += [f"**{name}" for name in self.packed[id(term)]]
        else:
            given += [f"{name}={self.operand(value)[0]}" for name, value in term.options.items()]
        return f"{term.head}({', '.join(given)})", ATOM

    def infix(self, term: Term) -> tuple[str, int]:
        """An operator between its operands. Sums are added up from the left, so what stands on the right gets brackets."""
        sign, bond = INFIX[term.head]
        chains = COMPARISON < bond < POWER
        first = self.bound(term.parts[0], bond if chains else bond + 1)
        second = self.bound(term.parts[1], bond + 1)
        return f"{first}{sign}{second}" if bond == POWER else f"{first} {sign} {second}", bond

    def bound(self, value: Any, bond: int) -> str:
        """An operand, in brackets where it would fall apart."""
        written, own = self.operand(value)
        return written if own >= bond else f"({written})"

    def operand(self, value: Any) -> tuple[str, int]:
        """A part of a term: another term, a number, a tuple, an array."""
        if type(value) is Term:
            return self.written(value)
        if type(value) in (tuple, list):
            inside = ", ".join([self.operand(part)[0] for part in value])
            return f"[{inside}]" if type(value) is list else f"({inside}{',' if len(value) == 1 else ''})", ATOM
        if type(value) is dict:
            return f"{{{', '.join([f'{name!r}: {self.operand(entry)[0]}' for name, entry in value.items()])}}}", ATOM
        if type(value) is slice:
            ends = (value.start, value.stop, value.step)
            shown = (None,) if ends == (None, None, None) else ends
            return f"slice({', '.join([self.operand(end)[0] for end in shown])})", ATOM
        if isinstance(value, ndarray):
            return made_again(value) or repr(value), ATOM
        if isinstance(value, generic):
            value = value.item()
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return str(value), ATOM if value >= 0 or value != value else SIGN
        if value is Ellipsis:
            return "...", ATOM
        return getattr(value, "name", None) or getattr(value, "__name__", None) or repr(value), ATOM

    def index(self, part: Any) -> str:
        """The text of one part of an index, as it stands between the brackets."""
        if type(part) is not slice:
            return self.operand(part)[0]
        ends = ["" if end is None else self.operand(end)[0] for end in (part.start, part.stop)]
        return ":".join(ends) + (f":{part.step}" if part.step is not None else "")


def made_again(array: ndarray) -> str | None:
    """An array that a rule made of shapes and parameters alone, as Python that makes it again; None if that is long."""
    flat = array.reshape(-1)
    if not array.size:
        return f"full({array.shape}, {array.dtype.type(0).item()})"
    if (flat == flat[0]).all():
        return f"full({array.shape}, {flat[0].item()})"
    if array.ndim == 1 and array.dtype.kind == "i" and np.array_equal(array, np.arange(array.size)):
        return f"arange({array.size})"
    return f"array({array.tolist()})" if array.size <= CONSTANT else None


def constants(term: Term) -> dict[str, ndarray]:
    """The arrays in a term that the rule made of shapes and parameters, and that are too large to be written out."""
    return {each.head: each.parts[0] for each in term.all() if each.form == "name" and each.parts}
