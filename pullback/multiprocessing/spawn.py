"""Start several processes that run one function, and hear of the first that fails."""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Callable
from multiprocessing import connection
from typing import Any

from ..core.basics.notices import warn_user


class ProcessException(Exception):
    """A process that was started by `spawn` failed."""

    def __init__(self, message: str, error_index: int, pid: int | None) -> None:
        super().__init__(message)
        self.msg: str = message
        self.error_index: int = error_index
        self.error_pid: int | None = pid


class ProcessRaisedException(ProcessException):
    """The function raised in one of the processes."""


class ProcessExitedException(ProcessException):
    """One of the processes ended with a signal or a status other than 0."""

    def __init__(self, message: str, error_index: int, pid: int | None, exit_code: int) -> None:
        super().__init__(message, error_index, pid)
        self.exit_code: int = exit_code


def _run(function: Callable, index: int, args: tuple, errors: Any) -> None:
    try:
        function(index, *args)
    except KeyboardInterrupt:
        pass
    except Exception:
        errors.put(traceback.format_exc())
        raise SystemExit(1) from None


class ProcessContext:
    """The processes of one `spawn(..., join=False)`."""

    def __init__(self, processes: list[Any], errors: list[Any]) -> None:
        self.processes: list[Any] = processes
        self._errors: list[Any] = errors

    def pids(self) -> list[int]:
        """The numbers of the processes."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the processes; True when all have ended. The first failure ends the others and is raised."""
        running = {process.sentinel: index for index, process in enumerate(self.processes) if process.exitcode is None}
        if running:
            connection.wait(list(running), timeout)
        codes = [process.exitcode for process in self.processes]  # asked for once: a process may end at any moment
        failed = next((index for index, code in enumerate(codes) if code not in (None, 0)), None)
        if failed is None:
            return None not in codes
        for process in self.processes:
            if process.is_alive():
                process.terminate()
            process.join()
        self._raise(failed)
        return True

    def _raise(self, failed: int) -> None:
        process = self.processes[failed]
        if self._errors[failed].empty():
            code = process.exitcode
            reason = f"with signal {-code}" if code < 0 else f"with exit code {code}"
            raise ProcessExitedException(f"process {failed} terminated {reason}", failed, process.pid, code)
        text = self._errors[failed].get()
        raise ProcessRaisedException(
            f"\n\n-- Process {failed} terminated with the following error:\n{text}", failed, process.pid
        )


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(i, *args)` in `nprocs` processes."""
    context: Any = multiprocessing.get_context(start_method)
    processes, errors = [], []
    for index in range(nprocs):
        queue = context.SimpleQueue()
        process = context.Process(target=_run, args=(fn, index, args, queue), daemon=daemon)
        process.start()
        processes.append(process)
        errors.append(queue)
    started = ProcessContext(processes, errors)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """`start_processes` by the start method "spawn", which is the only one here."""
    if start_method != "spawn":
        warn_user(
            f"This method only supports start_method=spawn (got: {start_method}).\nTo use a different start_method use:"
            "\n\t\t torch.multiprocessing.start_processes(...)",
            FutureWarning,
        )
    return start_processes(fn, args, nprocs, join, daemon)
