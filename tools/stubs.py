"""Write the type stubs of what is put together at import: `pullback/__init__.pyi` and `pullback/tensor.pyi`.

Functions become methods of Tensor and names of the package through the registry, which type checkers cannot see. The
stubs spell them out, with the signatures the functions really have and their docstrings, which editors show.
`python -m tools.stubs` writes them; with `--check` it only says whether they are up to date.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import sys
from pathlib import Path
from types import FunctionType
from typing import Any

PACKAGE = Path(__file__).parents[1] / "pullback"

_KNOWN = {
    "Any", "None", "bool", "int", "float", "complex", "str", "bytes", "tuple", "list", "dict", "set", "type", "object",
    "Callable", "Iterator", "Sequence", "Iterable", "Tensor", "Size", "ElementCount",
}  # fmt: skip
# Tensor has methods called `bool` and `float`, the package has dtypes of these names: types get names of their own.
_ALIASES = {
    "bool": "_bool", "int": "_int", "float": "_float", "complex": "_complex", "type": "_type", "dtype": "_dtype",
    "device": "_device", "dtype_type": "_dtype", "device_type": "_device",
}  # fmt: skip
# Classes of the package that annotations name, and where they are.
_CLASSES = {
    "AminmaxResult": "functional.reductions", "Explanation": "explaining", "FrexpResult": "functional.elementary",
    "Generator": "random", "HistogramResult": "functional.searching", "HistogramddResult": "functional.searching",
    "MemoryReport": "explaining", "RemovableHandle": "utils.hooks", "ValuesIndices": "functional.reductions",
    "layout": "core.basics.layout", "memory_format": "core.basics.layout",
}  # fmt: skip
_ALIASES |= {name: f"_{name}" for name in _CLASSES}
_BARE = {
    "tuple": "tuple[Any, ...]", "list": "list[Any]", "dict": "dict[Any, Any]", "set": "set[Any]", "_type": "_type[Any]",
    "Callable": "Callable[..., Any]", "Sequence": "Sequence[Any]", "Iterable": "Iterable[Any]", "Iterator": "Iterator[Any]",
}  # fmt: skip

_HEADER = '''# ruff: noqa: E402, E501, F401, F811, I001
"""{what} Written by `python -m tools.stubs`."""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import type as _type
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, Self, overload

from numpy.typing import NDArray as _NDArray

from pullback.core.basics.device import device as _device
from pullback.core.basics.dtypes import dtype as _dtype
from pullback.core.basics.size import ElementCount as ElementCount
from pullback.core.basics.size import Size as Size
''' + "".join(f"from pullback.{home} import {name} as _{name}\n" for name, home in _CLASSES.items())

# What a function returns may depend on its arguments. Methods are written with `self` in place of the first one.
_ALONG_DIM = "(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: Any = ...) -> _ValuesIndices"
_LARGEST = (
    "(input: Tensor, *, out: Any = ...) -> Tensor",
    "(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor",
    _ALONG_DIM,
)
_MIDDLE = ("(input: Tensor) -> Tensor", _ALONG_DIM)
_AT_LEAST = ("(tensor: Tensor, /) -> Tensor", "(*tensors: Any) -> Any")
_WITHOUT = (
    "return_inverse: Literal[False] = ..., return_counts: Literal[False] = ..., dim: _int | None = ...) -> Tensor"
)
_WITH = "return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any"
OVERLOADS = {
    "max": _LARGEST, "min": _LARGEST, "median": _MIDDLE, "nanmedian": _MIDDLE,
    "atleast_1d": _AT_LEAST, "atleast_2d": _AT_LEAST, "atleast_3d": _AT_LEAST,
    "nonzero": (
        "(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]",
        "(input: Tensor, *, out: Tensor | None = ..., as_tuple: Literal[False] = ...) -> Tensor",
    ),
    "unique": (f"(input: Tensor, sorted: _bool = ..., {_WITHOUT}", f"(input: Tensor, sorted: _bool = ..., {_WITH}"),
    "unique_consecutive": (f"(input: Tensor, {_WITHOUT}", f"(input: Tensor, {_WITH}"),
    "where": (
        "(condition: Tensor) -> tuple[Tensor, ...]",
        "(condition: Tensor, input: Any, other: Any, *, out: Tensor | None = ...) -> Tensor",
    ),
}  # fmt: skip
# Protocols of Python and torch, in the form in which subclasses take part in them.
_TAKES_OVER = "(cls, func: Any, types: Any, args: Any = ..., kwargs: Any = ...) -> Any: ..."
_SPELLED = {
    "__reduce_ex__": ["def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]: ..."],
    "__repr__": ["def __repr__(self) -> str: ..."],
    "__str__": ["def __str__(self) -> str: ..."],
    "__torch_dispatch__": ["@classmethod", f"def __torch_dispatch__{_TAKES_OVER}"],
    "__torch_function__": ["@classmethod", f"def __torch_function__{_TAKES_OVER}"],
}
# Of functions so short that they have no annotations.
_RETURNS = {
    **dict.fromkeys("const_data_ptr data_ptr dense_dim dim element_size get_device itemsize nbytes ndimension".split(), "_int"),
    **dict.fromkeys("numel sparse_dim __int__".split(), "_int"), **dict.fromkeys("cpu pin_memory".split(), "Tensor"),
    "__float__": "_float", "__complex__": "_complex",
}  # fmt: skip


class _Spelled(ast.NodeTransformer):
    """Rename types that would be shadowed, and complete bare generics."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if isinstance(node.value, ast.Name):
            node.value.id = _ALIASES.get(node.value.id, node.value.id)
        node.slice = self.visit(node.slice)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        name = _ALIASES.get(node.id, node.id)
        return ast.parse(_BARE[name], mode="eval").body if name in _BARE else ast.Name(name)


def annotation(value: Any) -> str:
    """An annotation as text; `Any` where it names something the stub does not import."""
    if value is inspect.Signature.empty:
        return "Any"
    text = value if isinstance(value, str) else getattr(value, "__name__", "Any")
    if text == "np.ndarray":
        return "_NDArray[Any]"
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        return "Any"
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if not names <= _KNOWN | set(_ALIASES) or any(isinstance(node, ast.Attribute) for node in ast.walk(tree)):
        return "Any"
    return ast.unparse(_Spelled().visit(tree))


def signature(name: str, function: Any, first: str | None = None) -> str:
    """`(input: Tensor, dim: int = ...) -> Tensor`, with the first parameter named `self` for methods."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        return f"({first + ', ' if first else ''}*args: Any, **kwargs: Any) -> Any"
    parts: list[str] = []
    star = slash = False
    parameters = list(found.parameters.values())
    if first is None and _takes_out(function) and "out" not in found.parameters:
        out = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="Any")
        parameters.insert(len(parameters) - (parameters[-1].kind is inspect.Parameter.VAR_KEYWORD), out)
    for number, p in enumerate(parameters):
        if slash and p.kind is not p.POSITIONAL_ONLY:
            parts.append("/")
            slash = False
        if number == 0 and first:
            parts.append(first)
            continue
        slash = p.kind is p.POSITIONAL_ONLY
        if p.kind is p.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        mark = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        star = star or p.kind is p.VAR_POSITIONAL
        default = "" if p.default is p.empty or mark else " = ..."
        parts.append(f"{mark}{p.name}: {annotation(p.annotation)}{default}")
    if slash:
        parts.append("/")
    return f"({', '.join(parts)}) -> {result(name, found.return_annotation)}"


def result(name: str, declared: Any) -> str:
    """What a function returns: as declared, or as its name says."""
    text = annotation(declared)
    return text if text != "Any" else _RETURNS.get(name, "_bool" if name.startswith("is_") else "Any")


def _takes_out(function: Any) -> bool:
    """Whether the gate of a function lets it take `out=`, which its signature does not show."""
    from pullback.functional.gate import FACTS

    return isinstance(function, FunctionType) and function in FACTS and FACTS[function].out is not None


def overloads(name: str, value: Any, method: bool = False) -> list[str]:
    """The forms of a function whose type depends on its arguments; the docstring stands in the last."""
    indent = "    " if method else ""
    forms = [form.replace("input: Tensor", "self", 1) if method else form for form in OVERLOADS[name]]
    lines = [line for form in forms for line in (f"{indent}@overload", f"{indent}def {name}{form}: ...")]
    lines[-1] = lines[-1].removesuffix(": ...") + body(value, name, indent)
    return lines


def body(value: Any, name: str, indent: str = "") -> str:
    """What follows a signature: the docstring, or three dots where there is none."""
    text = inspect.cleandoc(getattr(value, "__doc__", None) or "")
    if not text or name.startswith("_"):
        return ": ..."
    if "\\" in text or text.endswith('"'):
        return f": {text!r}"
    if "\n" not in text:
        return f': """{text}"""'
    lines = f'"""{text}\n"""'.splitlines()
    return ":\n" + "\n".join(f"{indent}    {line}" if line else "" for line in lines)


_UNARY = {"__neg__", "__pos__", "__invert__", "__abs__"}
_OPERATORS = _UNARY | {
    f"__{prefix}{name}__"
    for prefix in ("", "r", "i")
    for name in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift", "lt", "le",
        "gt", "ge",
    )
}  # fmt: skip


_FIELDS = (
    "_array: Any", "_requires_grad: _bool", "_node: Any", "_output_nr: _int", "_grad: Tensor | None", "_grad_dtype: Any",
    "_storage: Any", "_view: Any", "_anchor: Any", "_tangent: Any", "_tangents_moved: _int", "_is_written: Any",
    "_is_param: _bool", "_inference: _bool", "_detached: _bool", "_moves: Any", "_name: str | None", "_lender: Any",
    "is_node: _bool", "__array_priority__: _int",
)  # fmt: skip


def load_everything() -> None:
    """Load every family first, then ask for every name: what is found must not depend on the order."""
    import pullback
    from pullback.functional.registry import FUNCTIONS, IN_PLACE, METHODS, load

    tables = (FUNCTIONS, METHODS, IN_PLACE)
    for module in sorted({home for table in tables for home in table.homes.values()}):
        load(module)
    for name in sorted({*FUNCTIONS, *IN_PLACE}):
        getattr(pullback, name, None)


def tensor_stub() -> str:
    from pullback.core.tensor import Tensor
    from pullback.functional.registry import IN_PLACE

    load_everything()
    lines = [_HEADER.format(what="The Tensor class with all its methods.").rstrip(), "", "class Tensor:"]
    lines += [f"    {field}" for field in _FIELDS]
    for name in sorted(set(vars(Tensor))):
        value = vars(Tensor)[name]
        if (
            name.startswith("_")
            and not name.startswith("__")
            and not callable(value)
            and not isinstance(value, property)
        ):
            continue
        if name in (
            "__module__",
            "__dict__",
            "__weakref__",
            "__doc__",
            "__annotations__",
            "is_node",
            "__array_priority__",
        ):
            continue
        if isinstance(value, property):
            returned = result(name, getattr(value.fget, "__annotations__", {}).get("return", inspect.Signature.empty))
            lines += ["    @property", f"    def {name}(self) -> {returned}{body(value, name, '    ')}"]
            if value.fset is not None:
                lines += [f"    @{name}.setter", f"    def {name}(self, value: Any) -> None: ..."]
        elif name == "__new__":
            lines.append("    def __new__(cls, *args: Any, **kwargs: Any) -> Self: ...")
        elif name in _SPELLED:
            lines += [f"    {line}" for line in _SPELLED[name]]
        elif isinstance(value, staticmethod):
            lines += ["    @staticmethod", f"    def {name}{signature(name, value.__func__)}: ..."]
        elif name in IN_PLACE:
            arguments = signature(name, IN_PLACE[name], "self").rsplit(" -> ", 1)[0]
            lines.append(f"    def {name}{arguments} -> Tensor{body(value, name, '    ')}")
        elif name in ("__eq__", "__ne__"):
            lines.append(f"    def {name}(self, other: object) -> Tensor: ...  # type: ignore[override]")
        elif name in _OPERATORS:
            lines.append(f"    def {name}(self{', other: Any' if name not in _UNARY else ''}) -> Tensor: ...")
        elif name in OVERLOADS and name != "where":
            lines += overloads(name, value, method=True)
        elif callable(value):
            lines.append(f"    def {name}{signature(name, value, 'self')}{body(value, name, '    ')}")
    lines += [
        "", "class Anchor(Tensor):", "    _owner: Any", "    _hooks: Any", "    def owner(self) -> Tensor | None: ...",
        "    def owner_or_self(self) -> Tensor: ...", "", "def anchor_of(leaf: Tensor) -> Anchor: ...",
        "def leaf_hooks(leaf: Tensor) -> Any: ...", "def plain(tensor: Any) -> Any: ...",
        "def disabled_torch_function(func: Any, types: Any, args: Any = ..., kwargs: Any = ...) -> Any: ...",
        "", "new_object: Callable[..., Any]", "", "def wrap(array: Any, kind: Any = None) -> Any: ...",
        "", "class TensorBase: ...", "", "def fields(tensor: Any) -> dict[str, Any]: ...",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _home(module: str) -> str:
    """Where the file of a module lies, as a relative import: `pullback.cuda` is `.stand_ins.cuda`."""
    path = Path(importlib.util.find_spec(module).origin).relative_to(PACKAGE).with_suffix("")
    return "." + ".".join(part for part in path.parts if part != "__init__")


def package_stub() -> str:
    import pullback
    from pullback.core.basics.dtypes import ALIASES, ALL_DTYPES, dtype

    load_everything()
    lines = [_HEADER.format(what="The names of the package.").rstrip(), ""]
    modules = sorted(pullback._SUBMODULES)
    lines += [f"from {_home(f'pullback.{name}').rpartition('.')[0] or '.'} import {name} as {name}" for name in modules]
    lines += ["from .core.basics.device import device as device", "from .core.basics.dtypes import dtype as dtype"]
    lines += ["from .core.tensor import Tensor as Tensor", "", "__version__: str"]
    lines += [f"{name}: _dtype" for name in dict.fromkeys([*(d._name for d in ALL_DTYPES), *ALIASES])]
    done = {*modules, "device", "dtype", "Size", "Tensor", "__version__", *(d._name for d in ALL_DTYPES), *ALIASES}
    for name in sorted(set(dir(pullback)) - done):
        if name in pullback._SUBMODULES:
            continue
        try:
            value = getattr(pullback, name, None)
        except ImportError:  # needs a package that is not installed here
            continue
        if name.startswith("_") or value is None or inspect.ismodule(value) or name in ("annotations", "Any"):
            continue
        if inspect.isclass(value):
            ours = value.__module__.startswith("pullback.")
            line = f"from {_home(value.__module__)} import {value.__name__} as {name}" if ours else f"{name}: Any"
            lines.append(line)
        elif name in OVERLOADS:
            lines += overloads(name, value)
        elif callable(value) and not isinstance(value, dtype):
            lines.append(f"def {name}{signature(name, value)}{body(value, name)}")
        else:
            lines.append(f"{name}: {annotation(type(value).__name__)}")
    lines.append("def __getattr__(name: str) -> Any: ...")
    return "\n".join(lines) + "\n"


def main() -> int:
    wanted = {PACKAGE / "core" / "tensor.pyi": tensor_stub(), PACKAGE / "__init__.pyi": package_stub()}
    if "--check" in sys.argv:
        stale = [path.name for path, text in wanted.items() if not path.exists() or path.read_text() != text]
        print("stubs are up to date" if not stale else f"out of date: {', '.join(stale)}; run python -m tools.stubs")
        return 1 if stale else 0
    for path, text in wanted.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
