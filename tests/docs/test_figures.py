"""The times in the README are those of the last benchmark."""

import pytest

from tools import figures


def test_the_readme_has_the_measured_times():
    text = figures.README.read_text("utf-8")
    assert text == figures.with_figures(text), "run: python -m tools.figures"


@pytest.mark.parametrize(
    ("microseconds", "text"), [(8.84, "8.8 µs"), (33.6, "34 µs"), (999.4, "999 µs"), (2558.6, "2.6 ms")]
)
def test_times_are_readable(microseconds, text):
    assert figures.readable(microseconds) == text
