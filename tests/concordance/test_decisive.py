"""Findings that change what is done next, compared."""

from __future__ import annotations

from histoeval.concordance.evidence import ErrorKind, Severity
from tests.support.report_builder import mistakes_of

PLAIN = "Chronic {finding:inflammation} of the mucosa."
CMV = f"{PLAIN} Scattered CMV inclusions in the endothelium."
NO_CMV = f"{PLAIN} No CMV."


def test_a_decisive_finding_that_was_left_out_is_grave_though_the_reader_missed_it() -> None:
    (missed,) = mistakes_of(CMV, PLAIN)
    assert (missed.kind, missed.severity) == (ErrorKind.OMISSION, Severity.CRITICAL)


def test_a_decisive_finding_that_was_made_up_is_grave() -> None:
    (made_up,) = mistakes_of(PLAIN, CMV)
    assert (made_up.kind, made_up.reference) == (ErrorKind.INVENTION, None)
    assert made_up.severity == Severity.CRITICAL


def test_to_deny_a_decisive_finding_is_grave() -> None:
    assert Severity.CRITICAL in {wrong.severity for wrong in mistakes_of(CMV, NO_CMV)}


def test_what_may_mean_the_same_is_not_grave() -> None:
    other = f"{PLAIN} Viral cytopathic change is seen."
    assert max(each.severity for each in mistakes_of(CMV, other)) <= Severity.MODERATE
    assert not mistakes_of(CMV, CMV)


def test_an_error_that_is_known_already_is_only_rated_anew() -> None:
    crescents = "{finding:Cellular crescents} in some glomeruli."
    (missed,) = mistakes_of(crescents, "Sclerosis of some glomeruli.")
    assert missed.severity == Severity.MAJOR
