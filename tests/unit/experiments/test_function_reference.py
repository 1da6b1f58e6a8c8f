"""The page of functions says what the table says."""

from __future__ import annotations

from experiments.function_reference import PAGE, page


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == page(), "run: python -m experiments.function_reference"
