"""Two reports compared specimen by specimen."""

from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from histoeval.concordance.compare import OF_FACTS, compare
from histoeval.concordance.evidence import (
    ComparedPart,
    ErrorKind,
    IgnoredErrors,
    ReportError,
    Severity,
    evidence_of,
)
from histoeval.concordance.specimens.compare import compare_reports
from histoeval.concordance.specimens.matching import match_specimens
from tests.support.report_builder import alike, facts, report
from tests.support.tables import from_table

BREAST = """A. {site:Left breast}, excision: {diagnosis:invasive ductal carcinoma}, {grade:grade 2}.
B. {site:Left axillary lymph node}: {diagnosis:metastatic carcinoma}.
C. {site:Right breast}, core biopsy: {diagnosis:fibroadenoma}.
{marker:ER}: {result:positive}."""


def compared(reference: str, candidate: str) -> Mapping[str, ComparedPart]:
    return compare_reports(facts(reference), facts(candidate), alike)


def errors(reference: str, candidate: str) -> list[ReportError]:
    parts = compared(reference, candidate).values()
    return [error for part in parts for error in part.mistakes]


def kinds(reference: str, candidate: str) -> set[tuple[ErrorKind, Severity]]:
    return {
        (error.kind, error.severity)
        for error in errors(reference, candidate)
        if error.severity >= Severity.MAJOR
    }


def of_specimens(reference: str, candidate: str) -> list[tuple[ErrorKind, Severity]]:
    found = compared(reference, candidate)["specimens"].mistakes
    return [(error.kind, error.severity) for error in found]


PLACES = [
    "{site:Left breast}",
    "{site:Right breast}",
    "{site:Liver}, segment 4",
    "{site:Node}, level II",
    "{site:Skin}",
]
SAID = [
    "{diagnosis:invasive ductal carcinoma}, {grade:grade 2}.",
    "no {diagnosis:-carcinoma}.",
    "{diagnosis:fibroadenoma}; {measurement:2 cm}.",
    "{finding:Perineural invasion}. {marker:ER}: {result:positive}.",
    "FS - {diagnosis:?atypia}. Final - {diagnosis:melanoma}.",
    "",
]
FORMS = ["{label}. {place}: {said}\n", "{place}: {said} ", "The {place} shows {said} "]
specimens = st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(SAID)), max_size=4)


@st.composite
def reports(draw: st.DrawFn) -> str:
    form = draw(st.sampled_from(FORMS))
    return "".join(
        form.format(label=label, place=place, said=said)
        for label, (place, said) in zip("ABCD", draw(specimens), strict=False)
    )


@given(reports(), reports())
@settings(deadline=None, max_examples=60)
def test_whatever_the_parts_values_are_shares_and_evidence_is_in_the_texts(
    reference: str, candidate: str
) -> None:
    parts = compared(reference, candidate)
    assert tuple(parts) == OF_FACTS
    assert all(part.value is None or 0 <= part.value <= 1 for part in parts.values())
    assert parts == compared(reference, candidate)
    evidence = evidence_of(parts.values())
    for each in (*evidence["matches"], *evidence["errors"]):
        assert each["reference"] or each["candidate"]
        for mention, text in (
            (each["reference"], report(reference).text),
            (each["candidate"], report(candidate).text),
        ):
            if mention is not None:
                assert text[mention["start"] : mention["end"]] == mention["text"]


@given(reports())
@settings(deadline=None, max_examples=60)
def test_whatever_its_parts_a_report_agrees_with_itself(reference: str) -> None:
    parts = compared(reference, reference)
    assert {part.value for part in parts.values()} <= {1.0, None}
    assert errors(reference, reference) == []


@from_table
def test_other_labels_order_or_form_change_nothing(candidate: str) -> None:
    parts = compared(BREAST, candidate)
    assert kinds(BREAST, candidate) == set()
    assert parts["diagnosis"].value == parts["behaviour"].value == parts["specimens"].value == 1.0


def test_diagnoses_that_change_places_are_one_critical_error() -> None:
    swapped = BREAST.replace("invasive ductal carcinoma", "X").replace(
        "fibroadenoma", "invasive ductal carcinoma"
    )
    swapped = swapped.replace("{diagnosis:X}", "{diagnosis:fibroadenoma}")
    prose = """The {site:left breast} contains a {diagnosis:fibroadenoma}. The {site:right breast} \
contains an {diagnosis:invasive ductal carcinoma}. {site:Left axillary lymph node}: \
{diagnosis:metastatic carcinoma}."""
    for candidate in (swapped, prose):
        found = of_specimens(BREAST, candidate)
        assert found == [(ErrorKind.SWAPPED_SPECIMENS, Severity.CRITICAL)]
    assert (compared(BREAST, swapped)["diagnosis"].value or 0.0) < 0.5


def test_without_the_swap_nothing_is_lost() -> None:
    both = "A. {{site:Left ovary}}: {{diagnosis:{}}}.\nB. {{site:Right ovary}}: {{diagnosis:{}}}."
    reference = both.format("serous carcinoma", "fibroma")
    candidate = both.format("fibroma", "serous carcinoma")
    parts = compared(reference, candidate)
    ignored = IgnoredErrors(frozenset(parts["specimens"].mistakes))
    again = compare_reports(facts(reference), facts(candidate), alike, ignored)
    assert again["specimens"].value == again["diagnosis"].value == 1.0


@from_table
def test_a_missing_or_invented_part_is_as_bad_as_what_is_in_it(
    lost: str, severity: Severity
) -> None:
    less = "A. {site:Liver}: {diagnosis:steatosis}.\nB. {site:Spleen}: {diagnosis:haemangioma}."
    more = f"{less}\nC. {{site:Rectum}}, biopsy: {lost}"
    assert of_specimens(more, less) == [(ErrorKind.MISSING_SPECIMEN, severity)]
    assert of_specimens(less, more) == [(ErrorKind.INVENTED_SPECIMEN, severity)]


def test_a_finding_with_another_part_is_moved() -> None:
    reference = """A. {site:Skin of ear}: {diagnosis:squamous cell carcinoma}, \
{finding:perineural invasion}.
B. {site:Skin of nose}: {diagnosis:basal cell carcinoma}."""
    candidate = """A. {site:Skin of ear}: {diagnosis:squamous cell carcinoma}.
B. {site:Skin of nose}: {diagnosis:basal cell carcinoma}, {finding:perineural invasion}."""
    ((kind, severity),) = of_specimens(reference, candidate)
    assert kind == ErrorKind.MOVED_FINDING
    assert severity >= Severity.MODERATE


def test_one_wrong_part_is_not_hidden_by_many_right_ones() -> None:
    right = "".join(
        f"{label}. {{site:Skin of {place}}}: {{diagnosis:basal cell carcinoma}}.\n"
        for label, place in zip("CDEF", ("arm", "leg", "nose", "ear"), strict=True)
    )
    reference = """A. {site:Breast}: {diagnosis:ductal carcinoma}.
B. {site:Axillary lymph node}: {diagnosis:metastatic carcinoma}.
"""
    candidate = """A. {site:Breast}: {diagnosis:ductal carcinoma}.
B. {site:Axillary lymph node}: no {diagnosis:-metastatic carcinoma}.
"""
    few, many = compared(reference, candidate), compared(reference + right, candidate + right)
    assert (ErrorKind.OMISSION, Severity.CRITICAL) in kinds(reference, candidate)
    assert (few["diagnosis"].value or 0.0) <= 0.4
    assert (many["diagnosis"].value or 0.0) <= 0.5


def test_a_part_from_the_other_side_or_another_site_is_an_error() -> None:
    reference = """A. {site:Sigmoid colon}, biopsy: {diagnosis:adenocarcinoma}.
B. {site:Left ovary}: {diagnosis:serous cystadenoma}."""
    side = reference.replace("Left ovary", "Right ovary")
    site = reference.replace("Sigmoid colon", "Caecum")
    assert (ErrorKind.WRONG_LATERALITY, Severity.MAJOR) in kinds(reference, side)
    grave = reference.replace("serous cystadenoma", "serous carcinoma")
    assert (ErrorKind.WRONG_LATERALITY, Severity.CRITICAL) in kinds(
        grave, grave.replace("Left ovary", "Right ovary")
    )
    assert ErrorKind.WRONG_SITE in {kind for kind, _ in kinds(reference, site)}


def test_what_prose_says_of_two_parts_is_no_contradiction() -> None:
    reference = """A. {site:Left axillary lymph node}: {diagnosis:follicular lymphoma}, \
{marker:Ki-67}: {result:15%}.
B. {site:Right inguinal lymph node}: {diagnosis:diffuse large B-cell lymphoma}, {marker:Ki-67}: \
{result:90%}."""
    candidate = """The {site:right inguinal lymph node} shows {diagnosis:diffuse large B-cell \
lymphoma}, \
{marker:Ki-67}: {result:90%}. The {site:left axillary lymph node} shows {diagnosis:follicular \
lymphoma}, \
{marker:Ki-67}: {result:15%}."""
    assert kinds(reference, candidate) == set()


def test_evidence_names_the_specimen() -> None:
    candidate = BREAST.replace("grade 2", "grade 3")
    evidence = evidence_of(compared(BREAST, candidate).values())
    (error,) = evidence["errors"]
    assert error["kind"] == "wrong_grade"
    assert error["specimen"].startswith("A: Left breast")
    beside = [match for match in evidence["matches"] if match["part"] == "specimens"]
    assert [match["reference"]["text"] for match in beside] == [
        "Left breast, excision",
        "Left axillary lymph node",
        "Right breast, core biopsy",
    ]


def test_one_part_against_one_part_is_compared_as_ever() -> None:
    reference = "A. {site:Left breast}: {diagnosis:ductal carcinoma}, {grade:grade 2}."
    candidate = "{site:Left breast}: {diagnosis:lobular carcinoma}, {grade:grade 3}."
    both = facts(reference), facts(candidate)
    assert compare_reports(*both, alike) == compare(*both, alike)
    evidence = evidence_of(compare(*both, alike).values())
    assert all("specimen" not in error for error in evidence["errors"])


def test_parts_are_matched_one_to_one() -> None:
    one = report("A. Left lung: x.\nB. Right lung: x.\nC. Pleura: x.").text
    other = report("A. Pleura: x.\nB. Left lung: x.\nC. Right lung: x.").text
    matched = match_specimens(one, other)
    assert matched is not None
    assert matched.divided
    assert [(p.reference.heading, p.candidate.heading) for p in matched.pairs] == [
        ("Left lung", "Left lung"),
        ("Right lung", "Right lung"),
        ("Pleura", "Pleura"),
    ]
    assert match_specimens("Left lung: x.", "Right lung: x.") is None


POLYPS = """A. {site:Ascending colon}, polypectomy: {diagnosis:tubular adenoma}. Completely removed.
B. {site:Rectum}, polypectomy: {diagnosis:hyperplastic polyp}."""


def test_a_statement_with_another_part_is_moved_though_no_catalogue_knows_it() -> None:
    moved = POLYPS.replace(" Completely removed.", "") + " Completely removed."
    assert of_specimens(POLYPS, moved) == [(ErrorKind.MOVED_FINDING, Severity.MODERATE)]
    assert of_specimens(POLYPS, POLYPS.replace("Completely removed", "Removal complete")) == []


@from_table
def test_a_moved_statement_is_as_bad_as_what_it_says(statement: str, severity: Severity) -> None:
    reference = POLYPS.replace("Completely removed", statement)
    moved = f"{reference.replace(f' {statement}.', '')} {statement}."
    assert of_specimens(reference, moved) == [(ErrorKind.MOVED_FINDING, severity)]


def test_a_result_that_is_given_for_the_other_part_is_moved() -> None:
    reference = """A. {site:Right thigh}, excision: {diagnosis:liposarcoma}.
B. {site:Left arm}, excision: {diagnosis:lipoma}.
Gene test: amplified in A; not amplified in B."""
    candidate = reference.replace("in A", "in X").replace("in B", "in A").replace("in X", "in B")
    assert ErrorKind.MOVED_FINDING in {kind for kind, _ in of_specimens(reference, candidate)}
    assert of_specimens(reference, reference) == []


def test_the_side_above_all_parts_is_compared() -> None:
    reference = """Left hip revision
1. {site:Femoral bone} membrane: wear particles.
2. {site:Acetabular bone} membrane: fibrin."""
    other = reference.replace("Left", "Right")
    assert of_specimens(reference, other) == [(ErrorKind.WRONG_LATERALITY, Severity.CRITICAL)]


def test_a_part_in_the_same_words_has_no_errors() -> None:
    reference = """A. {site:Brain}, posterior {finding:margin}: glial tissue. Nothing else.
B. {site:Dura}: {diagnosis:meningioma}."""
    candidate = reference.replace("{finding:margin}", "{finding:-margin}")
    assert errors(reference, candidate) == []


def test_prose_that_speaks_of_every_part_is_compared_part_by_part() -> None:
    reference = """A. {site:Left breast}, biopsy: {diagnosis:invasive ductal carcinoma}.
B. {site:Right breast}, biopsy: {diagnosis:fibroadenoma}. No {diagnosis:-carcinoma}."""
    candidate = (
        "The biopsy of the {site:right breast} shows a {diagnosis:fibroadenoma} without "
        "{diagnosis:-carcinoma}. The biopsy of the {site:left breast} shows "
        "{diagnosis:invasive ductal carcinoma}."
    )
    assert kinds(reference, candidate) == set()


def test_positive_nodes_by_number_answer_a_metastasis_by_name() -> None:
    reference = """A. {site:Thyroid}, lobectomy: {diagnosis:papillary thyroid carcinoma}.
B. {site:Neck lymph nodes}: {diagnosis:metastatic papillary carcinoma} in 2 of 7 nodes."""
    candidate = reference.replace("{diagnosis:metastatic papillary carcinoma} in 2 of 7", "2 of 7")
    assert kinds(reference, candidate) == set()


def test_nodes_without_a_region_are_at_no_other_site() -> None:
    reference = """1. {site:Tongue}, excision: {diagnosis:squamous cell carcinoma}.
2. Right neck dissection, level II: 1/24 nodes."""
    candidate = reference.replace("Right neck dissection, level II", "Nodes, right level II")
    assert of_specimens(reference, candidate) == []
