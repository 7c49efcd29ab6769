"""Organs and sides."""

import pytest

from histoeval.concordance.evidence import NONE_IGNORED, ComparedPart, ErrorKind, Severity
from histoeval.concordance.site import with_specimen
from tests.support.report_builder import facts, kinds_of, mistakes_of, parts_of, value_of
from tests.support.tables import from_table


def test_of_reports_that_name_no_organ_nothing_is_compared() -> None:
    parts = parts_of("Unremarkable.", "Pale.")
    assert (parts["site"].value, parts["laterality"].value) == (None, None)


@pytest.mark.parametrize(("true", "said"), [("Left", "Right"), ("Right", "Left"), ("L", "R")])
def test_the_other_side_is_a_critical_error(true: str, said: str) -> None:
    reference, candidate = f"{{site:{true} kidney}}.", f"{{site:{said} kidney}}."
    assert value_of("laterality", reference, candidate) == 0
    (wrong,) = mistakes_of(reference, candidate)
    assert (wrong.kind, wrong.severity) == (ErrorKind.WRONG_LATERALITY, Severity.CRITICAL)
    assert value_of("site", reference, candidate) == 1


def test_a_side_that_only_one_report_names_is_not_wrong() -> None:
    assert parts_of("{site:Left kidney}.", "{site:Kidney}.")["laterality"].value is None


@from_table
def test_another_specimen_of_the_same_disease_is_a_wrong_site(
    reference: str, candidate: str, severity: Severity, value: float
) -> None:
    for pair in ((reference, candidate), (candidate, reference)):
        wrong = [each for each in mistakes_of(*pair) if each.kind == ErrorKind.WRONG_SITE]
        assert [each.severity for each in wrong] == [severity]
        assert value_of("site", *pair) == pytest.approx(value)


@from_table
def test_the_same_specimen_under_another_name_is_no_wrong_site(
    reference: str, candidate: str
) -> None:
    assert ErrorKind.WRONG_SITE not in kinds_of(reference, candidate)


def test_another_specimen_costs_also_where_no_organ_was_compared() -> None:
    native = facts("{site:Liver}, biopsy. {diagnosis:Steatohepatitis}.")
    graft = facts("{site:Liver allograft}, biopsy. {diagnosis:Steatohepatitis}.")
    assert with_specimen(ComparedPart(None), native, graft, NONE_IGNORED).value == pytest.approx(
        0.7
    )
