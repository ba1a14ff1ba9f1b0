"""The coverage page says what is true."""

import pytest

pytest.importorskip("torch")


def test_the_coverage_page_is_up_to_date():
    from tools import coverage

    assert coverage.PAGE.read_text() == coverage.page(), "run: python -m tools.coverage"
