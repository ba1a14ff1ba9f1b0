"""Names of things in the user's program: variables, parameters, modules and lines of code.

Names are looked up in the caller's variables when an explanation is asked for; nothing is recorded beforehand. Modules
of operations come from `recording.py` where it was on, and are inferred from the parameters they use where not.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any

from ..core.basics.notices import PACKAGE
from ..core.tensor import Tensor
from .records import Line

_FRAME = re.compile(r'\s*File "(.*)", line (\d+), in [^\n]*(?:\n\s*(.*))?')


class Names:
    """Names by identity: of leaves and of the results of operations."""

    def __init__(self) -> None:
        self.leaves: dict[int, str] = {}  # id of the tensor
        self.results: dict[tuple[int, int], str] = {}  # (id of the node, output number)
        self.expected: list[tuple[str, Tensor, bool]] = []  # leaves that should get a gradient; True: asked for
        self.tensors: list[tuple[str, Tensor]] = []  # everything seen that requires grad

    def add(self, name: str, tensor: Tensor, asked: bool) -> None:
        node = tensor._node
        if node is not None:
            self.results.setdefault((id(node), tensor._output_nr), name)
            self.tensors.append((name, tensor))
        elif tensor._requires_grad:
            if id(tensor) not in self.leaves:
                self.leaves[id(tensor)] = name
                self.expected.append((name, tensor, asked))
                self.tensors.append((name, tensor))

    def leaf(self, anchor: Any) -> str | None:
        owner = anchor.owner()
        return anchor._name or (None if owner is None else owner._name or self.leaves.get(id(owner)))


def gather(model: Any, inputs: Any) -> Names:
    """Names from what the caller passed and from the caller's variables."""
    names = Names()
    if inputs is not None:
        given = inputs.items() if isinstance(inputs, dict) else _numbered(inputs)
        variables = dict(_variables(_caller()))
        known = {id(value): name for name, value in variables.items() if isinstance(value, Tensor)}
        for name, tensor in given:
            names.add(name if isinstance(inputs, dict) else known.get(id(tensor), name), tensor, True)
    if model is not None:
        for name, parameter in model.named_parameters():
            names.add(name, parameter, True)
    module_type = _module_type()
    for name, value in _variables(_caller()):
        if module_type is not None and isinstance(value, module_type):
            for inner, parameter in value.named_parameters() if value is not model else ():
                names.add(f"{name}.{inner}", parameter, False)
        else:
            for inner, item in _members(name, value):
                if isinstance(item, Tensor) and item._requires_grad:
                    names.add(inner, item, False)
    return names


def describe_tensor(tensor: Tensor) -> str:
    """A sentence for an error message: the name that a tensor has in the program, if it can be found, and its shape."""
    try:
        name = tensor._name or _found(tensor)
    except Exception:  # a program's own modules are asked, and what they raise is not what the message is about
        name = None
    called = f"The tensor is {name!r}, of" if name else "The tensor has the"
    return f"{called} shape {tuple(tensor._array.shape)}."


def _found(tensor: Tensor) -> str | None:
    """The name of a variable, or the path of a parameter or of an item in a small container; variables come first."""
    module_type = _module_type()
    inside = None
    for name, value in _variables(_caller()):
        if value is tensor:
            return name
        if inside is None and module_type is not None and isinstance(value, module_type):
            members: Iterable[tuple[str, Any]] = ((f"{name}.{path}", each) for path, each in value.named_parameters())
        else:
            members = _members(name, value) if inside is None else ()
        inside = inside or next((path for path, each in members if each is tensor), None)
    return inside


def _members(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A variable, or what is in it if it is a small list, tuple or dict, with names."""
    if isinstance(value, (list, tuple)) and len(value) <= 64:
        for position, item in enumerate(value):
            yield f"{name}[{position}]", item
    elif isinstance(value, dict) and len(value) <= 64:
        for key, item in value.items():
            yield str(key), item
    else:
        yield name, value


def _numbered(inputs: Any) -> Iterator[tuple[str, Tensor]]:
    for position, tensor in enumerate((inputs,) if isinstance(inputs, Tensor) else inputs):
        yield f"input {position}", tensor


def _module_type() -> Any:
    module = sys.modules.get("pullback.nn.modules.module")
    return None if module is None else module.Module


def _caller() -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return frame


def _variables(frame: FrameType | None) -> Iterable[tuple[str, Any]]:
    """The caller's variables, its own first; names that start with an underscore last."""
    if frame is None:
        return []
    variables = frame.f_locals
    found = list(variables.items())
    if variables is not frame.f_globals:
        found += frame.f_globals.items()
    if frame.f_code.co_flags & 0x01 and type(variables) is dict:
        variables.clear()  # before Python 3.13 a function's frame keeps this copy, and with it the caller's tensors
    return sorted(found, key=lambda item: item[0].startswith("_"))


def line_of(node: Any) -> Line | None:
    """The line of the program that recorded a node, known when anomaly mode was on then."""
    stack = (node.notes or {}).get("stack")
    if not stack:
        return None
    match = _FRAME.match(stack[-1])
    if match is None:
        return None
    return Line(match[1], int(match[2]), (match[3] or "").strip())


# --- modules ---------------------------------------------------------------------------------------------------------


def parent(name: str) -> str:
    """The module a parameter belongs to."""
    return name.rpartition(".")[0]


def common(first: str, second: str) -> str:
    """The innermost module that contains both."""
    shared = []
    for a, b in zip(first.split("."), second.split("."), strict=False):
        if a != b:
            break
        shared.append(a)
    return ".".join(shared)


def infer_modules(recorded: list[str | None], touched: list[set[str]]) -> list[str]:
    """The module of each operation, in the order of the forward pass.

    One that uses a parameter belongs to the parameter's module; one in between, to the innermost module that contains
    its neighbours on both sides.
    """
    known: list[str | None] = []
    for module, parameters in zip(recorded, touched, strict=True):
        if module is not None:
            known.append(module)
        else:
            owners = sorted({parent(name) for name in parameters if "." in name})
            known.append(owners[0] if owners else None)
    before: list[str | None] = []
    last = None
    for module in known:
        last = module if module is not None else last
        before.append(last)
    after: list[str | None] = []
    last = None
    for module in reversed(known):
        last = module if module is not None else last
        after.append(last)
    after.reverse()
    return [
        module if module is not None else common(left, right) if left and right else ""
        for module, left, right in zip(known, before, after, strict=True)
    ]
