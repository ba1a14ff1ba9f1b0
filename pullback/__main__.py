"""The command line: `pullback COMMAND ...`, also spelled `python -m pullback COMMAND ...`.

Only the command's name is looked at here; each command lives in a file of `pullback.shell.cli` that is imported when it is
asked for, so `pullback run script.py` starts no slower than the script.
"""

from __future__ import annotations

import sys

COMMANDS: dict[str, str] = {
    "run": "run a program that says `import torch`, unchanged, on Pullback",
    "check": "say which torch names a project uses and which of them are supported, without running it",
    "explain": "run such a program and write a page about each of its first backward calls",
    "as-torch": "let `import torch` mean Pullback in this environment, for plain python and for pip",
    "info": "show versions, optional parts, BLAS, threads, SIMD and devices",
}


def _help() -> str:
    from pullback.version import __version__, torch_version

    commands = "\n".join(f"  {name:<8} {summary}" for name, summary in COMMANDS.items())
    return (
        f"usage: pullback [-h] [-V] COMMAND ...\n\n"
        f"Pullback {__version__}: PyTorch {torch_version}'s autograd and library surface on NumPy.\n\n"
        f"commands:\n{commands}\n\n`pullback COMMAND --help` tells more about one of them."
    )


def _unknown_command(command: str) -> int:
    import difflib
    import os

    matches = difflib.get_close_matches(command, COMMANDS, n=1)
    if matches:
        hint = f" Did you mean `pullback {matches[0]}`?"
    elif command.endswith(".py") or os.path.exists(command):
        hint = f" To run a program: `pullback run {command}`."
    else:
        hint = ""
    print(f"pullback: unknown command {command!r}.{hint}\n\n{_help()}", file=sys.stderr)
    return 2


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status; `arguments` are those of the process unless given."""
    if arguments is None:
        arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(_help())
        return 0
    if arguments[0] in ("-V", "--version"):
        from pullback.version import __version__

        print(f"pullback {__version__}")
        return 0
    command, rest = arguments[0], arguments[1:]
    if command not in COMMANDS:
        return _unknown_command(command)
    from importlib import import_module

    run = import_module(f"pullback.shell.cli.{command.replace('-', '_')}").main
    if command in ("run", "explain"):  # what the program prints is its own affair
        return run(rest)
    try:
        status = run(rest)
        sys.stdout.flush()
    except BrokenPipeError:  # `pullback check . | head`
        import os

        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes once more
        status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
