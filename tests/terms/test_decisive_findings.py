"""Findings that change what is done next, read from whole texts."""

from histoeval.terms.decisive_findings import Standing, read_decisive
from tests.support.tables import from_table


@from_table
def test_a_decisive_finding_is_affirmed_or_denied(text: str, name: str, standing: Standing) -> None:
    assert read_decisive(text)[name].standing == standing


@from_table
def test_what_may_be_denied_or_is_only_named_is_not_affirmed(text: str, name: str) -> None:
    assert read_decisive(text)[name].standing != Standing.AFFIRMED


def test_a_text_is_silent_about_what_it_has_no_word_for() -> None:
    assert not read_decisive("Tubular adenoma, 6 mm.")
