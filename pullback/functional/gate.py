"""The gate of public functions: what is known of each, and the place where a call of one is taken.

`registry.public` makes the gates. A gate asks first whether somebody takes the call over (`shell/torch_function.py`), reads
keywords under their other names and `out=`, and says in torch's words what was wrong. Functions that take neither and are
called so often that this would be felt are direct: they run as they are written (`docs/architecture.md`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from inspect import unwrap
from types import CellType, CodeType, FunctionType
from typing import Any, NamedTuple

from ..core import seams
from ..core.mode import current_mode
from ..core.tensor import Tensor
from ..core.writes import in_place
from ..transforms.arrays.batched import NotBatchable
from ..transforms.autocast import without_autocast
from .out_argument import store
from .refusals import note_names, raise_complaint, raise_with_suggestion

# NumPy's spellings, which torch accepts as well.
NUMPY: Mapping[str, tuple[str, ...]] = {
    "axis": ("dim",), "keepdims": ("keepdim",), "x": ("input",), "a": ("input",), "x1": ("input",), "x2": ("other",)
}  # fmt: skip


class Facts(NamedTuple):
    """The facts about a public function; `registry.public` takes these as its arguments and says what each means."""

    name: str  # its `__name__`, by which programs that take it over know it
    does: Any  # the function as it is written
    home: str = "torch"
    out: str | None = None
    autocast: str | None = None
    spellings: Mapping[str, tuple[str, ...]] = NUMPY
    asks: str = "arguments"
    passed: str | None = None
    passed_by_method: str | None = None
    compiled: bool = False
    tensors: bool = True
    made_by: Callable[[Facts], Any] | None = None  # None: it is direct

    @property
    def torch_name(self) -> str:
        """The dotted name of the function that torch hands over when this one is called."""
        space = self.home.rpartition(".")[2]
        if space in ("linalg", "special", "fft"):
            return f"torch._C._{space}.{self.name}"
        if self.home == "torch":
            return f"torch.functional.{self.name}" if self.passed is not None else f"torch.{self.name}"
        if self.compiled:
            return f"torch._C._nn.{self.name}"
        return (
            f"{self.home}.{self.name}"
            if self.home != "torch.nn.functional" or self.passed is not None
            else f"torch.{self.name}"
        )


FACTS: dict[Callable[..., Any], Facts] = {}  # of every public function: gates, and those that are direct

asking: bool = False  # True once calls may be taken over: by subclasses of Tensor, modes, or foreign objects
NOT_TAKEN_OVER: Any = object()  # the answer of `take_over` to a call that runs as usual


def announce(facts: Facts) -> Any:
    """Return what programs call: the gate of a function, or the function itself if it is direct."""
    function = facts.does if facts.made_by is None else facts.made_by(facts)
    function.__name__ = facts.name
    FACTS[function] = facts
    if asking and _can_be_switched(facts):
        _ask_first(function)
    return function


def with_own_name(function: Callable[..., Any], name: str, home: str, place: str = "") -> Callable[..., Any]:
    """The same function as another object with a name of its own: who takes calls over tells `Tensor.add` from `torch.add`.

    Pickles find it at `place` in the module `home`.
    """
    facts = FACTS[function]
    passed = facts.passed if facts.home == home else facts.passed_by_method if home == "torch.Tensor" else None
    does = copied(function, name) if facts.made_by is None else facts.does
    made = announce(facts._replace(name=name, does=does, home=home, passed=passed, compiled=False))
    made.__module__, made.__qualname__ = module_of(home), place or name
    return made


def module_of(home: str) -> str:
    """The module where pickles find functions of a home."""
    return "pullback" if home == "torch.Tensor" else home.replace("torch", "pullback", 1)


def take_over(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of the class or mode that takes the call over; NOT_TAKEN_OVER if there is none."""
    return seams.take_over(function, FACTS[function], args, kwargs)


def gated(facts: Facts) -> Callable[..., Any]:
    """The gate of a function."""
    does, changes_casts = facts.does, facts.autocast is not None
    is_usual: Callable[[Any], bool] | None = None  # whether keywords are the function's own; made when there are any

    def look() -> Callable[[Any], bool]:
        nonlocal is_usual
        is_usual = frozenset({*facts.spellings, "out"}.difference(parameters(does))).isdisjoint
        return is_usual

    def function(*args: Any, **kwargs: Any) -> Any:
        if asking and (found := take_over(function, args, kwargs)) is not NOT_TAKEN_OVER:
            return found
        if changes_casts and current_mode().autocast is not None:
            return without_autocast(function, args, kwargs, cast=facts.autocast == "full")
        if kwargs and not (is_usual or look())(kwargs):
            kwargs = _respelled(kwargs, facts)
            if facts.out is not None and (out := kwargs.pop("out", None)) is not None:
                return store(does.__name__, does, args, kwargs, out, facts.out)
        try:
            return does(*args, **kwargs)
        except NotBatchable as error:
            from ..transforms.arrays.fallback import call_example_by_example

            return call_example_by_example(does, args, kwargs, error)
        except (TypeError, AttributeError) as error:
            if seams.notice_foreign_objects(args, kwargs):
                return function(*args, **kwargs)
            raise_complaint(error, does)
            if kwargs:
                raise_with_suggestion(error, does, kwargs)
            raise
        except RuntimeError as error:
            note_names(error, does, args, kwargs)
            raise
        except OverflowError as error:
            raise ValueError(
                f"Overflow when unpacking long long: {does.__name__}() was given a number that is too large ({error})"
            ) from None

    # as `functools.wraps` has it, in a third of the time: the package does this some 300 times when it is imported
    function.__doc__, function.__annotations__, function.__wrapped__ = does.__doc__, does.__annotations__, does  # type: ignore[attr-defined]
    function.__module__, function.__qualname__ = does.__module__, does.__qualname__
    if vars(does):
        vars(function).update(vars(does))
    return function


def gated_in_place(facts: Facts) -> Callable[..., Any]:
    """The gate of a method with a trailing underscore: what the function gives is written over the tensor."""
    does = facts.does

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if asking and (found := take_over(method, (self, *args), kwargs)) is not NOT_TAKEN_OVER:
            return found
        return in_place(self, does, *args, **kwargs)

    method.__qualname__, method.__module__ = f"Tensor.{facts.name}", "pullback"
    method.__doc__ = f"`{facts.name[:-1]}`, written over this tensor."
    return method


def parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names by which arguments can be given."""
    code = unwrap(function).__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _respelled(kwargs: dict[str, Any], facts: Facts) -> dict[str, Any]:
    """Keyword arguments under the names that a function has for them."""
    own, others = parameters(facts.does), facts.spellings
    return {
        name if name in own else next((each for each in others.get(name, ()) if each in own), name): value
        for name, value in kwargs.items()
    }


# --- the only place where functions are given other code ---
#
# A gate costs 50 to 150 ns, which is 6 to 17 % of a call such as `F.relu(x)`, `torch.cat` or `x.transpose(0, 1)`, and more
# than all of `x.dim()`; so such functions are direct, as operators and attributes are. They cannot ask in a line of their
# own, which would be the same line four hundred times; and other functions cannot take their place, since programs keep
# functions as keys of dictionaries and import them by name before anybody takes calls over. So while they ask, they are
# the same objects with another code.

_direct: dict[Any, FunctionType] = {}  # copies, which do what the functions do while these ask first


def ask_from_now_on(on: bool = True) -> None:
    """Let all public functions ask who takes calls over, or run at once again."""
    global asking
    asking = on
    for function, facts in list(FACTS.items()):
        if _can_be_switched(facts):
            (_ask_first if on else run_at_once)(function)


def _can_be_switched(facts: Facts) -> bool:
    return facts.made_by is None and facts.asks != "nobody"


def _ask_first(function: Any) -> None:
    def asking_first(does: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            found = take_over(function, args, kwargs)
            return does(*args, **kwargs) if found is NOT_TAKEN_OVER else found

        return call

    call_instead(function, asking_first)


def call_instead(function: Any, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Let a function call what is made of it as it is now, until it runs at once again."""
    does = _direct.get(function)
    if does is None:
        does = _direct[function] = _copied(function, function.__name__, function.__closure__)
    elif function.__code__ is not does.__code__:
        return
    call, code = make(does), function.__code__
    function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), "_call": call}
    function.__dict__.setdefault("__wrapped__", does)
    function.__code__ = _calling(len(code.co_freevars)).replace(  # all that changes: other threads may be calling it
        co_name=code.co_name, co_filename=code.co_filename, co_firstlineno=code.co_firstlineno
    )


def run_at_once(function: Any) -> None:
    """Let a function do again what it does."""
    does = _direct[function]
    function.__code__ = does.__code__
    function.__kwdefaults__ = does.__kwdefaults__
    if function.__dict__.get("__wrapped__") is does:
        del function.__wrapped__


@functools.cache
def _calling(free: int) -> CodeType:
    """The code of a function that calls another; `free` variables are there because each function keeps its closure.

    They have to be named in the source: a frame whose free variables the code does not set up crashes whoever looks at it.
    """
    names = [f"free{number}" for number in range(free)]
    lines = [f"def outer({', '.join(names)}):", "    def calling(*args, _call, **kwargs):"]
    if names:
        lines.append(f"        if False: {', '.join(names)}")
    lines += ["        return _call(*args, **kwargs)", "    return calling"]
    made: dict[str, Any] = {}
    exec("\n".join(lines), made)  # the text above
    return made["outer"](*names).__code__


def copied(function: Any, name: str, place: str = "") -> FunctionType:
    """Another function that does the same, under a name of its own; pickles find it at `place` in its module."""
    own = CellType()
    closure = tuple(own if cell.cell_contents is function else cell for cell in function.__closure__ or ())
    copy = _copied(_direct.get(function, function), name, closure)
    own.cell_contents = copy  # it calls itself again once a foreign object has been found among its arguments
    copy.__qualname__ = place or name
    return copy


def _copied(function: Any, name: str, closure: tuple[CellType, ...] | None) -> FunctionType:
    copy = FunctionType(function.__code__, function.__globals__, name, function.__defaults__, closure)
    copy.__kwdefaults__, copy.__doc__ = function.__kwdefaults__, function.__doc__
    copy.__annotations__, copy.__module__ = function.__annotations__, function.__module__
    copy.__dict__.update(function.__dict__)
    return copy
