"""`pullback run`: an unchanged program, with `import torch` answered by Pullback.

The program sees what it would see under `python`: `__main__`, `sys.argv`, `sys.path[0]`, the exit status, and
tracebacks that start at its own first line. Processes it starts with `multiprocessing` see Pullback as torch too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import CodeType, ModuleType, TracebackType
from typing import Any

from . import read_program

USAGE: str = """\
usage: pullback run SCRIPT [ARGS...]
       pullback run -m MODULE [ARGS...]
       pullback run -c CODE [ARGS...]
       pullback run - [ARGS...]            (the program is read from standard input)

Runs a program that says `import torch`, unchanged, on Pullback. SCRIPT may also be a directory or a zip file with
a __main__.py. Everything after the program belongs to the program."""

_SHELL = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_PACKAGE = os.path.dirname(_SHELL)
_ALIAS = os.path.join(_SHELL, "torch_names")
_OUR_FILES = {os.path.abspath(__file__), os.path.join(_ALIAS, "alias.py"), os.path.join(_ALIAS, "lookup.py")}


class _Arguments(list[str]):
    """`sys.argv` of the program; `multiprocessing` sends it to a process it spawns, where it installs the alias."""

    def __reduce__(self) -> Any:
        context: Any = sys.modules.get("multiprocessing.context")
        if context is not None and context.get_spawning_popen() is not None:
            return _restore_arguments, (list(self),)
        return list, (list(self),)  # a program that stores its arguments stores a plain list


def _restore_arguments(arguments: list[str]) -> _Arguments:
    from ..torch_names.alias import install_as_torch

    install_as_torch()
    return _Arguments(arguments)


def _program_traceback(trace: TracebackType | None) -> TracebackType | None:
    """The traceback without our own frames: all up to the program's first, and those of the import alias."""
    frames: list[TracebackType] = []
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    codes = [each.tb_frame.f_code for each in frames]
    start = codes.index(_execute.__code__) + 1 if _execute.__code__ in codes else 0
    while start < len(codes) and (codes[start].co_filename in _OUR_FILES or _is_runpy(codes[start])):
        start += 1
    result: TracebackType | None = None
    for each in reversed(frames[start:]):
        if each.tb_frame.f_code.co_filename not in _OUR_FILES:
            result = TracebackType(result, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return result


def _is_runpy(code: CodeType) -> bool:
    return code.co_filename == "<frozen runpy>" or os.path.basename(code.co_filename) == "runpy.py"


def _execute(run: Callable[[], Any]) -> int:
    """Run the program; let what it raises end the process as it would under python, less our frames."""
    try:
        run()
    except SystemExit:
        raise
    except BaseException as failure:
        if isinstance(failure, ModuleNotFoundError):
            _say_how_to_install(failure)
        report = sys.excepthook

        def report_without_launcher(kind: type[BaseException], error: BaseException, trace: Any) -> None:
            kept = _program_traceback(trace)
            report(kind, error.with_traceback(kept), kept)

        sys.excepthook = report_without_launcher
        raise
    return 0


def _say_how_to_install(error: ModuleNotFoundError) -> None:
    """A note about packages written for torch, which are installed without it."""
    from .packages import is_known, remedy

    package = str(error.name).partition(".")[0]
    if is_known(package):
        error.add_note(f"{package}: {remedy(package)}")


def _new_main() -> ModuleType:
    """A fresh `__main__`, in place of the one that started us."""
    import builtins

    main = ModuleType("__main__")
    vars(main)["__builtins__"] = builtins
    sys.modules["__main__"] = main
    return main


def _set_path(first: str) -> None:
    # Where python puts no directory in front (-P, -I), there is none of ours to replace either.
    if not sys.flags.safe_path:
        sys.path[0:1] = [first]


def _run_code(code: CodeType, main: ModuleType) -> int:
    return _execute(lambda: exec(code, vars(main)))


def _compile(source: bytes | str, filename: str) -> CodeType:
    compiled: list[CodeType] = []
    _execute(lambda: compiled.append(compile(source, filename, "exec", dont_inherit=True)))
    return compiled[0]


def _run_module(name: str, alter_argv: bool) -> int:
    import runpy

    # The function python itself calls for -m; unlike run_module it leaves the module in __main__ when it ends.
    run_as_main = vars(runpy)["_run_module_as_main"]
    return _execute(lambda: run_as_main(name, alter_argv))


def _run_script(path: str, arguments: list[str]) -> int:
    import io

    main = _new_main()
    sys.argv = _Arguments([path, *arguments])
    if os.path.isdir(path) or (path.endswith((".zip", ".pyz")) and os.path.isfile(path)):
        _set_path(path)
        return _run_module("__main__", False)
    try:
        with io.open_code(os.path.abspath(path)) as file:
            source = read_program(file)
    except OSError as error:
        reason = f"[Errno {error.errno}] {error.strerror}"
        print(f"pullback: can't open file {os.path.abspath(path)!r}: {reason}", file=sys.stderr)
        return 2
    from importlib.machinery import SourceFileLoader

    full_path = os.path.abspath(path)
    _set_path(os.path.dirname(os.path.realpath(path)))
    main.__file__ = full_path
    main.__loader__ = SourceFileLoader("__main__", full_path)
    vars(main)["__cached__"] = None
    return _run_code(_compile(source, full_path), main)


def main(arguments: list[str]) -> int:
    """Run the program the arguments name and return its exit status (or raise what it raised)."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    first, rest = arguments[0], arguments[1:]
    if first in ("-m", "-c") and not rest:
        print(f"pullback run: {first} needs an argument\n\n{USAGE}", file=sys.stderr)
        return 2
    if first.startswith("-") and first not in ("-", "-m", "-c"):
        print(f"pullback run: unknown option {first!r}\n\n{USAGE}", file=sys.stderr)
        return 2

    from ..torch_names.alias import install_as_torch

    install_as_torch()
    if first == "-m":
        _new_main()
        sys.argv = _Arguments(["-m", *rest[1:]])
        _set_path(os.getcwd())
        return _run_module(rest[0], True)
    if first == "-c":
        sys.argv = _Arguments(["-c", *rest[1:]])
        _set_path("")
        return _run_code(_compile(rest[0], "<string>"), _new_main())
    if first == "-":
        sys.argv = _Arguments(["-", *rest])
        _set_path("")
        program = _new_main()
        program.__file__ = "<stdin>"
        try:
            source = read_program(sys.stdin.buffer)
        except OSError as error:
            print(f"pullback: can't read the program from standard input: {error}", file=sys.stderr)
            return 2
        return _run_code(_compile(source, "<stdin>"), program)
    return _run_script(first, rest)
