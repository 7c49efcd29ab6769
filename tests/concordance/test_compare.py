"""Whatever two reports say: parts from 0 to 1, nothing wrong with a report beside itself."""

from hypothesis import given, settings
from hypothesis import strategies as st

from histoeval.concordance.compare import OF_FACTS, compare
from histoeval.concordance.evidence import evidence_of
from histoeval.metrics.concordance import weights
from tests.support.report_builder import alike, facts, parts_of, report
from tests.support.tables import from_table

SENTENCES = [
    "{site:Left breast}, core biopsy: {diagnosis:invasive ductal carcinoma}, {grade:grade 2}.",
    "{site:Right breast}: {diagnosis:fibroadenoma}.",
    "Suspicious for {diagnosis:?ductal carcinoma in situ}.",
    "No {diagnosis:-lymphoma} is seen.",
    "{diagnosis:Metastatic adenocarcinoma} in the {site:liver}.",
    "{diagnosis:Zebra-striped plumoma} of the {site:elbow}.",
    "{diagnosis:Adenocarcinoma}, {grade:moderately differentiated}, of the {site:sigmoid colon}.",
    "{diagnosis:Chronic gastritis} with {finding:intestinal metaplasia}.",
    "Benign breast tissue. No evidence of malignancy.",
    "{finding:Lymphovascular invasion} is seen.",
    "No {finding:-lymphovascular invasion}. No {finding:-necrosis}.",
    "{finding:Zigzag plumes} are seen, {finding:?necrosis} too.",
    "{marker:ER}: {result:positive (95%)}. {marker:HER2}: {result:negative}.",
    "{marker:ER}: {result:negative}. {marker:Ki-67}: {result:20%}. {marker:CK7}.",
    "The tumour measures {measurement:2.4 cm}; {measurement:1 of 12 nodes}.",
    "The tumour measures {measurement:4 x 2 cm}, {measurement:less than 1 mm} from the margin.",
    "{stage:pT2 N0}.",
    "{stage:pT3 N1a M0}. {grade:Gleason 3+4=7}.",
    "{grade:Grade 3}. {grade:nuclear grade 1}.",
    "Diagnosis: [insert diagnosis, e.g. {diagnosis:carcinoma} with {grade:grade 3}].",
    "Further evaluation to rule out {diagnosis:?lymphoma} is recommended.",
    "DIAGNOSIS: {diagnosis:Endometrial carcinoma}, {diagnosis:?serous carcinoma} possible.",
    "{site:Bilateral ovaries} with {diagnosis:serous cystadenoma}. {marker:LVI}: {result:absent}.",
    "🔬 İ \0 ﬁ.",
]
texts = st.lists(st.sampled_from(SENTENCES), max_size=7).map("\n".join)


def assert_nothing_is_wrong(marked: str) -> None:
    parts = parts_of(marked, marked)
    assert {name: part.value for name, part in parts.items() if part.value not in (1.0, None)} == {}
    assert [mistake for part in parts.values() for mistake in part.mistakes] == []
    values = {name: part.value for name, part in parts.items()}
    assert weights().expert(values) == 5.0


@given(texts)
def test_a_report_agrees_with_itself_in_every_part(marked: str) -> None:
    assert_nothing_is_wrong(marked)


@from_table
def test_even_a_report_that_says_little_or_contradicts_itself_agrees_with_itself(
    marked: str,
) -> None:
    assert_nothing_is_wrong(marked)


@given(texts, texts)
def test_every_part_is_between_0_and_1_or_nothing(reference: str, candidate: str) -> None:
    parts = parts_of(reference, candidate)
    assert tuple(parts) == OF_FACTS
    for part in parts.values():
        assert part.value is None or 0 <= part.value <= 1
        assert all(0 <= match.similarity <= 1 for match in part.matched)


@given(texts, texts)
def test_evidence_is_what_stands_in_the_two_texts(reference: str, candidate: str) -> None:
    true, said = report(reference).text, report(candidate).text
    evidence = evidence_of(parts_of(reference, candidate).values())
    for each in (*evidence["matches"], *evidence["errors"]):
        for mention, text in ((each["reference"], true), (each["candidate"], said)):
            if mention is not None:
                assert text[mention["start"] : mention["end"]] == mention["text"]
    for error in evidence["errors"]:
        assert error["reference"] or error["candidate"]


@given(texts, texts)
def test_no_error_is_told_twice_and_the_worst_comes_first(reference: str, candidate: str) -> None:
    errors = evidence_of(parts_of(reference, candidate).values())["errors"]
    severities = [error["severity"] for error in errors]
    assert severities == sorted(severities, reverse=True)
    assert len({repr(error) for error in errors}) == len(errors)


@given(texts, texts)
@settings(max_examples=30)
def test_the_same_facts_give_the_same_comparison(reference: str, candidate: str) -> None:
    true, said = facts(reference), facts(candidate)
    assert compare(true, said, alike) == compare(true, said, alike)
    assert (facts(reference), facts(candidate)) == (true, said)


def test_a_part_that_only_one_report_speaks_of_is_compared() -> None:
    parts = parts_of("{marker:ER}: {result:positive}. {measurement:2 cm}. {stage:pT2}.", "")
    for name in ("markers", "measurements", "stage"):
        value = parts[name].value
        assert value is not None
        assert 0 < value < 1
