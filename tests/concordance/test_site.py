"""Organs and sides."""

from __future__ import annotations

import pytest

from histoeval.concordance.evidence import ErrorKind, Severity
from tests.support.report_builder import kinds_of, mistakes_of, parts_of, value_of
from tests.support.tables import from_table


def test_another_organ_is_a_critical_error() -> None:
    reference, candidate = "{site:Lung}: unremarkable.", "{site:Colon}: unremarkable."
    assert value_of("site", reference, candidate) == 0
    (wrong,) = [
        each for each in mistakes_of(reference, candidate) if each.kind == ErrorKind.WRONG_SITE
    ]
    assert wrong.severity == Severity.CRITICAL
    assert wrong.reference is not None
    assert wrong.candidate is not None
    assert (wrong.reference.text, wrong.candidate.text) == ("Lung", "Colon")


def test_a_part_of_the_organ_is_as_good_as_the_organ() -> None:
    reference = "{site:Sigmoid colon}: {diagnosis:adenocarcinoma}."
    assert value_of("site", reference, "{site:Colon}: {diagnosis:adenocarcinoma}.") == 1
    assert ErrorKind.WRONG_SITE not in kinds_of(
        reference, "{site:Colon}: {diagnosis:adenocarcinoma}."
    )


def test_the_adjective_names_the_organ_as_well() -> None:
    assert value_of("site", "{site:Kidney}: oedema.", "{site:Renal tissue}: oedema.") == 1


def test_a_diagnosis_that_arises_in_one_organ_tells_it() -> None:
    assert value_of("site", "{diagnosis:Hepatocellular carcinoma}.", "{site:Liver}: pale.") == 1
    assert value_of("site", "{diagnosis:Hepatocellular carcinoma}.", "{site:Lung}: pale.") == 0


def test_a_site_left_out_is_a_minor_omission_and_no_wrong_site() -> None:
    (left_out,) = mistakes_of("{site:Lung}: unremarkable.", "Unremarkable.")
    assert (left_out.kind, left_out.severity) == (ErrorKind.OMISSION, Severity.MINOR)
    assert 0 < value_of("site", "{site:Lung}: unremarkable.", "Unremarkable.") < 1


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


def test_one_side_of_two_is_half_right() -> None:
    both = "{site:Left ovary} and {site:right ovary}."
    assert value_of("laterality", both, "{site:Bilateral ovaries}.") == 1
    assert value_of("laterality", both, "{site:Left ovary}.") == 0.5
    (wrong,) = mistakes_of(both, "{site:Left ovary}.")
    assert wrong.severity == Severity.MAJOR


def test_sides_are_compared_organ_by_organ() -> None:
    reference = "{site:Left breast}. {site:Right axilla}."
    candidate = "{site:Right breast}. {site:Right axilla}."
    assert value_of("laterality", reference, candidate) == 0


def test_a_side_that_only_one_report_names_is_not_wrong() -> None:
    assert parts_of("{site:Left kidney}.", "{site:Kidney}.")["laterality"].value is None


@from_table
def test_another_specimen_of_the_same_disease_is_a_wrong_site(
    reference: str, candidate: str
) -> None:
    for pair in ((reference, candidate), (candidate, reference)):
        wrong = [each for each in mistakes_of(*pair) if each.kind == ErrorKind.WRONG_SITE]
        assert [each.severity >= Severity.MAJOR for each in wrong] == [True]
        assert value_of("site", *pair) < 1


@from_table
def test_the_same_specimen_under_another_name_is_no_wrong_site(
    reference: str, candidate: str
) -> None:
    assert ErrorKind.WRONG_SITE not in kinds_of(reference, candidate)


def test_only_a_site_that_the_reference_has_can_be_left_out() -> None:
    with_site, without = "{site:Colon}: {diagnosis:adenocarcinoma}.", "{diagnosis:Adenocarcinoma}."
    (missing,) = mistakes_of(with_site, without)
    assert (missing.kind, missing.part) == (ErrorKind.OMISSION, "site")
    assert not mistakes_of(without, with_site)
