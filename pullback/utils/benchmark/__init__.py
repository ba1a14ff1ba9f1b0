"""`torch.utils.benchmark.Timer`: time a statement with `timeit`, and report as torch does."""

from __future__ import annotations

import statistics
import timeit as _timeit
from typing import Any

__all__ = ["Measurement", "Timer"]


class Measurement:
    """Times of several blocks of runs, in seconds a run."""

    def __init__(self, number_per_run: int, raw_times: list[float], task_spec: str) -> None:
        self.number_per_run = number_per_run
        self.raw_times = raw_times
        self.task_spec = task_spec

    @property
    def times(self) -> list[float]:
        """Seconds of one run, for each block."""
        return [time / self.number_per_run for time in self.raw_times]

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    @property
    def mean(self) -> float:
        return statistics.fmean(self.times)

    @property
    def iqr(self) -> float:
        """The width of the middle half of the times."""
        if len(self.times) < 2:
            return 0.0
        quarters = statistics.quantiles(self.times, n=4)
        return quarters[2] - quarters[0]

    def __repr__(self) -> str:
        unit, scale = next(
            ((u, s) for u, s in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)) if self.median >= s), ("ns", 1e-9)
        )
        return (
            f"<torch.utils.benchmark.utils.common.Measurement object>\n{self.task_spec}\n"
            f"  Median: {self.median / scale:.2f} {unit}\n"
            f"  IQR:    {self.iqr / scale:.2f} {unit}\n"
            f"  {len(self.raw_times)} measurements, {self.number_per_run} runs per measurement"
        )


class Timer:
    """Times a statement given as text.

    `stmt` is what is timed, with the names in `globals` and after `setup`, on `num_threads` threads: one unless told
    otherwise. `timeit(n)` runs it n times, `blocked_autorange()` as often as a reliable time takes. `label`, `sub_label`
    and `description` are printed with the result; the other arguments are accepted.
    """

    def __init__(
        self, stmt: str = "pass", setup: str = "pass", global_setup: str = "", timer: Any = _timeit.default_timer,
        globals: dict[str, Any] | None = None, label: str | None = None, sub_label: str | None = None,
        description: str | None = None, env: str | None = None, num_threads: int = 1, language: Any = None,
    ) -> None:  # fmt: skip
        import pullback

        names = dict(globals or {})
        names.setdefault("torch", pullback)
        self._timer = _timeit.Timer(stmt, setup, timer, names)
        self._num_threads = num_threads
        self._title = " ".join(part for part in (label or stmt, sub_label, description) if part)

    def timeit(self, number: int = 1000000) -> Measurement:
        """Time `number` runs."""
        from ...kernels.threads import get_num_threads, set_num_threads

        before = get_num_threads()
        set_num_threads(self._num_threads)
        try:
            self._timer.timeit(max(number // 100, 2))
            return Measurement(number, [self._timer.timeit(number)], self._title)
        finally:
            set_num_threads(before)

    def blocked_autorange(self, callback: Any = None, min_run_time: float = 0.2) -> Measurement:
        """Time blocks of runs until `min_run_time` seconds have passed."""
        from ...kernels.threads import get_num_threads, set_num_threads

        before = get_num_threads()
        set_num_threads(self._num_threads)
        try:
            number = 1
            while self._timer.timeit(number) < min_run_time / 1000 and number < 10**9:
                number *= 10
            times: list[float] = []
            while sum(times) < min_run_time:
                times.append(self._timer.timeit(number))
            return Measurement(number, times, self._title)
        finally:
            set_num_threads(before)

    adaptive_autorange = blocked_autorange
