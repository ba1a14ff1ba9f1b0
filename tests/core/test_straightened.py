"""The written-out functions of the tape are what `tools/straighten.py` makes of it."""

import runpy
from pathlib import Path

from pullback.core import straightened, tape

ROOT = Path(__file__).parents[2]


def test_the_file_is_what_the_tape_says():
    tool = runpy.run_path(str(ROOT / "tools" / "straighten.py"))
    assert tool["says_the_same"](tool["TARGET"].read_text(), tool["text"]()), "run `python -m tools.straighten`"


def test_the_written_out_functions_are_those_that_run():
    assert tape.apply_unary is straightened.apply_unary and tape.binary is straightened.binary
