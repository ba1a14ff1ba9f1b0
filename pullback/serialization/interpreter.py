"""A reader of pickles that can only make data.

A pickle is a program for a small stack machine. The standard library's machine will import and call whatever a
program names; this one knows numbers, strings, bytes and plain containers, and a global name becomes either a
value or a `Constructor` from the table its `resolver` guards. Nothing is imported, no attribute
of any object is looked up, and opcodes that exist only to run code are refused. Lengths are checked before
anything is allocated, and an `Allowance` bounds what all calls together may ask for by the length of the pickle, since
arguments that are written once can be used again and again. What a constructor means is not known here.
"""

from __future__ import annotations

import struct
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .errors import CheckpointError, TruncatedCheckpointError

if TYPE_CHECKING:
    from .constructors import Resolver

MAX_DEPTH: int = 1000  # deeper than what Python's own pickler writes before it gives up
MAX_KEY_ITEMS: int = 1000  # hashing a tuple visits all items of all inner tuples, recursively and in C
MAX_KEYS_OF_ONE_HASH: int = (
    256  # each new one is compared with all others; tuples of -1 and -2 have equal hashes by nature
)
ITEM_COST: int = 64  # of an item in a container, where a byte of text costs 1

_PLAIN_KEYS = frozenset((str, bytes, float, bool, type(None)))
_DICTIONARIES = frozenset((dict, OrderedDict, Counter))
_OPCODES: dict[int, Callable[[Interpreter], Any]] = {}


class Constructor:
    """Something a pickle may call. Deliberately not callable itself: it stays inert if it ends up as data."""

    __slots__ = ("name", "call", "new", "spends")

    def __init__(
        self, name: str, call: Callable[..., Any], new: Callable[..., Any] | None = None, spends: bool = False
    ) -> None:
        self.name: str = name
        self.call: Callable[..., Any] = call
        self.spends: bool = spends  # whether `call` wants the allowance before its other arguments
        self.new: Callable[..., Any] | None = new  # for NEWOBJ, which makes an instance without initialising it

    def __repr__(self) -> str:
        return f"<global {self.name} of a checkpoint>"

    def make(self, arguments: tuple[Any, ...], allowance: Allowance) -> Any:
        """Make the call and return its result."""
        return self.call(allowance, *arguments) if self.spends else self.call(*arguments)


class Allowance:
    """The cost that calls may still have, about a byte of memory each; pickles that spell arguments out stay far below."""

    __slots__ = ("left", "elements_left", "known_keys")

    def __init__(self, length: float, file_size: float | None = None) -> None:
        self.left: float = ITEM_COST * length + 2**20
        self.elements_left: float = ITEM_COST * (length if file_size is None else file_size) + 2**20
        self.known_keys: dict[int, list[Any]] = {}  # by their hashes

    def spend(self, cost: float) -> None:
        """Take `cost` off; refuse the file when nothing is left."""
        self.left -= cost
        self._check()

    def spend_on_elements(self, count: int) -> None:
        """Pay for a call that visits this many elements of tensors; these lie elsewhere in the file."""
        self.elements_left -= count
        self._check()

    def _check(self) -> None:
        if self.left < 0 or self.elements_left < 0:
            raise CheckpointError(
                "The checkpoint asks for far more memory or work than its size accounts for: it uses the same arguments "
                "again and again. If you trust whoever made the file, weights_only=False loads it."
            )

    def spend_on(self, arguments: Any) -> None:
        """Pay for a call that goes over its arguments, and over what lies in tuples among them."""
        for value in arguments:
            self.spend(_cost(value))
            if type(value) is tuple:
                self.spend(sum(map(_cost, value)))

    def check_key(self, key: Any) -> Any:
        """Return `key` if hashing and finding it is cheap: nested tuples can be made to take for ever or to crash."""
        if type(key) in _PLAIN_KEYS:
            return key
        if type(key) is int:
            if key.bit_length() > 64:  # multiples of 2**61 - 1 all have the same hash
                raise CheckpointError("A dictionary key in the checkpoint is an integer of more than 64 bits.")
            return key
        pending, budget = [key], MAX_KEY_ITEMS
        while pending:
            item = pending.pop()
            budget -= 1
            if isinstance(item, tuple):
                pending.extend(item[: budget + 1])
            elif type(item) is int:
                budget -= item.bit_length() >> 6
            if budget < 0:
                raise CheckpointError("A dictionary key in the checkpoint is a tuple with too many nested items.")
        self.spend(MAX_KEY_ITEMS - budget)
        alike = self.known_keys.setdefault(hash(key), [])
        if key not in alike:
            if len(alike) == MAX_KEYS_OF_ONE_HASH:
                raise CheckpointError(f"The checkpoint has more than {len(alike)} dictionary keys of one hash.")
            alike.append(key)
        return key


def _cost(value: Any) -> int:
    kind = type(value)
    if kind in _TEXTS:
        return len(value)
    if kind in _CONTAINERS:
        return ITEM_COST * len(value)
    return value.bit_length() >> 3 if kind is int else 0


def _opcode(code: bytes) -> Callable[[Callable[[Interpreter], Any]], Callable[[Interpreter], Any]]:
    def register(method: Callable[[Interpreter], Any]) -> Callable[[Interpreter], Any]:
        _OPCODES[code[0]] = method
        return method

    return register


class Interpreter:
    """Runs the pickle that begins at `position` of `data`; afterwards `position` is behind its end.

    `resolver` knows the globals a pickle may name; `storage(identifier)` gives the object for a persistent
    identifier. Both raise `CheckpointError` for what they do not know.
    """

    def __init__(
        self,
        data: bytes,
        resolver: Resolver,
        storage: Callable[[tuple[Any, ...]], Any],
        position: int = 0,
        encoding: str = "utf-8",
        file_size: int | None = None,
    ) -> None:
        self.data: bytes = data
        self.encoding: str = encoding
        self.position: int = position
        self.resolver: Resolver = resolver
        self.storage: Callable[[tuple[Any, ...]], Any] = storage
        self.stack: list[Any] = []
        self.outer: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        self.allowance: Allowance = Allowance(len(data), file_size)
        self.finished: bool = False

    def run(self) -> Any:
        """The object the pickle describes."""
        data = self.data
        while not self.finished:
            start = self.position
            if start >= len(data):
                raise TruncatedCheckpointError("The pickle in the checkpoint ends too early; the file is truncated.")
            operation = _OPCODES.get(data[start])
            if operation is None:
                raise CheckpointError(
                    f"Unsupported operand {data[start]} at position {start} of the pickle. No checkpoint that "
                    "torch.save wrote with its default protocol uses it."
                )
            self.position = start + 1
            try:
                operation(self)
            except CheckpointError:
                raise
            except (IndexError, KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
                if getattr(error, "of_program", False):
                    raise
                raise CheckpointError(
                    f"The pickle in the checkpoint is malformed at position {start} "
                    f"(opcode {data[start]:#04x}): {type(error).__name__}: {error}"
                ) from error
        if self.outer or len(self.stack) != 1:
            raise CheckpointError("The pickle in the checkpoint is malformed: it leaves values behind on the stack.")
        _check_depth(self.stack[0])
        return self.stack[0]

    def old_text(self, data: bytes) -> Any:
        """A string of Python 2, which did not tell text from bytes."""
        return data if self.encoding == "bytes" else data.decode(self.encoding)

    def take(self, length: int) -> bytes:
        """The next `length` bytes of the program."""
        start = self.position
        if length > len(self.data) - start:
            raise TruncatedCheckpointError(
                f"The pickle in the checkpoint is truncated: {length} bytes are expected at position {start}."
            )
        self.position = start + length
        return self.data[start : start + length]

    def number(self, code: str) -> int:
        """The next number in `struct` notation."""
        return struct.unpack(code, self.take(struct.calcsize(code)))[0]

    def line(self) -> str:
        """Text up to the next newline."""
        end = self.data.find(b"\n", self.position, self.position + 1000)
        if end < 0:
            raise CheckpointError("The pickle in the checkpoint is malformed: the name of a global has no end.")
        text = self.take(end - self.position).decode()
        self.position = end + 1
        return text

    def since_mark(self) -> list[Any]:
        """Values pushed since the last MARK, which is removed."""
        values = self.stack
        self.stack = self.outer.pop()
        return values

    def top(self, *kinds: type[Any]) -> Any:
        """The value on top of the stack, whose type must be exactly one of `kinds`."""
        value = self.stack[-1]
        if type(value) not in kinds:
            raise CheckpointError(
                f"The pickle in the checkpoint is malformed: it adds items to a {type(value).__name__}."
            )
        return value


def _check_depth(root: Any) -> None:
    """Refuse containers so deep that printing, copying or comparing them would exhaust Python's stack."""
    seen: set[int] = set()
    level = [root]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for value in level:
            kind = type(value)
            if kind not in _CONTAINERS or id(value) in seen:
                continue
            seen.add(id(value))
            if kind in _DICTIONARIES:
                below.extend(value.values())
                below.extend(key for key in value if type(key) is tuple)
            else:
                below.extend(value)
        if not below:
            return
        level = below
    raise CheckpointError(f"The checkpoint nests containers more than {MAX_DEPTH} deep.")


_CONTAINERS = _DICTIONARIES | {list, tuple, set, frozenset}
_TEXTS = frozenset((str, bytes, bytearray))


def _constant(code: bytes, value: Any) -> None:
    _OPCODES[code[0]] = lambda machine: machine.stack.append(value)


def _fresh(code: bytes, make: Callable[[], Any]) -> None:
    _OPCODES[code[0]] = lambda machine: machine.stack.append(make())


def _numeric(code: bytes, layout: str) -> None:
    _OPCODES[code[0]] = lambda machine: machine.stack.append(machine.number(layout))


def _sized(code: bytes, layout: str, convert: Callable[[bytes], Any] | None) -> None:
    def push(machine: Interpreter) -> None:
        length = machine.number(layout)
        if length < 0:
            raise CheckpointError("The pickle in the checkpoint is malformed: a length is negative.")
        data = machine.take(length)
        machine.stack.append(machine.old_text(data) if convert is None else convert(data))

    _OPCODES[code[0]] = push


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _integer(data: bytes) -> int:
    return int.from_bytes(data, "little", signed=True)


_constant(b"N", None)
_constant(b"\x88", True)
_constant(b"\x89", False)
_constant(b")", ())
_fresh(b"]", list)
_fresh(b"}", dict)
_fresh(b"\x8f", set)
_numeric(b"J", "<i")
_numeric(b"K", "<B")
_numeric(b"M", "<H")
_numeric(b"G", ">d")
_sized(b"\x8a", "<B", _integer)
_sized(b"\x8b", "<i", _integer)
_sized(b"X", "<I", _text)
_sized(b"\x8c", "<B", _text)
_sized(b"\x8d", "<Q", _text)
_sized(b"U", "<B", None)
_sized(b"T", "<i", None)
_sized(b"C", "<B", bytes)
_sized(b"B", "<I", bytes)
_sized(b"\x8e", "<Q", bytes)
_sized(b"\x96", "<Q", bytearray)


@_opcode(b"\x80")
def _protocol(machine: Interpreter) -> None:
    version = machine.number("<B")
    if not 2 <= version <= 5:
        raise CheckpointError(f"The checkpoint uses pickle protocol {version}; protocols 2 to 5 are supported.")


@_opcode(b"\x95")
def _frame(machine: Interpreter) -> None:
    if machine.number("<Q") > len(machine.data) - machine.position:
        raise TruncatedCheckpointError("The pickle in the checkpoint is truncated inside a frame.")


@_opcode(b".")
def _stop(machine: Interpreter) -> None:
    machine.finished = True


@_opcode(b"(")
def _mark(machine: Interpreter) -> None:
    if len(machine.outer) >= MAX_DEPTH:
        raise CheckpointError(f"The pickle in the checkpoint nests more than {MAX_DEPTH} deep.")
    machine.outer.append(machine.stack)
    machine.stack = []


@_opcode(b"0")
def _pop(machine: Interpreter) -> None:
    machine.stack.pop()


@_opcode(b"1")
def _pop_mark(machine: Interpreter) -> None:
    machine.since_mark()


@_opcode(b"t")
def _tuple(machine: Interpreter) -> None:
    values = machine.since_mark()
    machine.stack.append(tuple(values))


def _short_tuple(code: bytes, length: int) -> None:
    def push(machine: Interpreter) -> None:
        stack = machine.stack
        if len(stack) < length:
            raise IndexError("the stack is empty")
        stack[-length:] = [tuple(stack[-length:])]

    _OPCODES[code[0]] = push


_short_tuple(b"\x85", 1)
_short_tuple(b"\x86", 2)
_short_tuple(b"\x87", 3)


@_opcode(b"a")
def _append(machine: Interpreter) -> None:
    value = machine.stack.pop()
    machine.top(list).append(value)


@_opcode(b"e")
def _appends(machine: Interpreter) -> None:
    values = machine.since_mark()
    machine.top(list).extend(values)


@_opcode(b"s")
def _set_item(machine: Interpreter) -> None:
    value, key = machine.stack.pop(), machine.stack.pop()
    machine.top(*_DICTIONARIES)[machine.allowance.check_key(key)] = value


@_opcode(b"u")
def _set_items(machine: Interpreter) -> None:
    values = machine.since_mark()
    target, check_key = machine.top(*_DICTIONARIES), machine.allowance.check_key
    if len(values) % 2:
        raise ValueError("a key without a value")
    for key, value in zip(values[::2], values[1::2], strict=True):
        target[check_key(key)] = value


@_opcode(b"\x90")
def _add_items(machine: Interpreter) -> None:
    values = machine.since_mark()
    machine.top(set).update(map(machine.allowance.check_key, values))


@_opcode(b"\x91")
def _frozenset(machine: Interpreter) -> None:
    values = machine.since_mark()
    machine.stack.append(frozenset(map(machine.allowance.check_key, values)))


def _get(code: bytes, layout: str) -> None:
    _OPCODES[code[0]] = lambda machine: machine.stack.append(machine.memo[machine.number(layout)])


def _put(code: bytes, layout: str) -> None:
    def store(machine: Interpreter) -> None:
        machine.memo[machine.number(layout)] = machine.stack[-1]

    _OPCODES[code[0]] = store


_get(b"h", "<B")
_get(b"j", "<I")
_put(b"q", "<B")
_put(b"r", "<I")


@_opcode(b"\x94")
def _memoize(machine: Interpreter) -> None:
    machine.memo[len(machine.memo)] = machine.stack[-1]


@_opcode(b"c")
def _global(machine: Interpreter) -> None:
    module = machine.line()
    machine.stack.append(machine.resolver.resolve(module, machine.line()))


@_opcode(b"\x93")
def _stack_global(machine: Interpreter) -> None:
    name, module = machine.stack.pop(), machine.stack.pop()
    if type(name) is not str or type(module) is not str:
        raise CheckpointError("The pickle in the checkpoint is malformed: the name of a global is not text.")
    machine.stack.append(machine.resolver.resolve(module, name))


@_opcode(b"Q")
def _persistent(machine: Interpreter) -> None:
    identifier = machine.stack.pop()
    if type(identifier) is not tuple or not identifier or identifier[0] not in ("storage", b"storage"):
        raise CheckpointError("Only persistent_load of storage is allowed; the pickle in the checkpoint is malformed.")
    machine.stack.append(machine.storage(identifier))


@_opcode(b"R")
def _reduce(machine: Interpreter) -> None:
    arguments, function = machine.stack.pop(), machine.stack.pop()
    constructor = machine.resolver.constructor(function)
    if constructor is None:
        raise CheckpointError(f"Trying to call reduce for unrecognized function of type {type(function).__name__}")
    machine.stack.append(constructor.make(_arguments(machine, arguments), machine.allowance))


@_opcode(b"\x81")
def _new_object(machine: Interpreter) -> None:
    arguments, function = machine.stack.pop(), machine.stack.pop()
    constructor = machine.resolver.constructor(function)
    if constructor is None or constructor.new is None:
        raise CheckpointError(
            "Can only create new object for classes allowlisted via `add_safe_globals` "
            f"but got {constructor or type(function).__name__}"
        )
    machine.stack.append(constructor.new(*_arguments(machine, arguments)))


@_opcode(b"b")
def _build(machine: Interpreter) -> None:
    state = machine.stack.pop()
    machine.allowance.spend_on((state,))
    machine.resolver.build(machine.stack[-1], state)


def _arguments(machine: Interpreter, value: Any) -> tuple[Any, ...]:
    if type(value) is not tuple:
        raise CheckpointError("The pickle in the checkpoint is malformed: arguments are not a tuple.")
    machine.allowance.spend_on(value)
    return value
