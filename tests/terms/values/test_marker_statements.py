"""Markers of whole texts with the results that their words give them."""

from histoeval.evaluate.probes import pairs_of, read_probes
from histoeval.terms.marker_wordings import wordings
from histoeval.terms.values.marker_statements.decisive import LIGHT_CHAIN, MISMATCH, marker_severity
from histoeval.terms.values.marker_statements.read import read_marker_statements
from histoeval.terms.values.stated import conflicts
from tests.support.tables import from_table


def results(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for each in read_marker_statements(text):
        found.setdefault(each.axis, set()).update(each.options)
    return found


def worst(reference: str, candidate: str) -> int:
    both = read_marker_statements(reference), read_marker_statements(candidate)
    return max((severity for _, _, severity in conflicts(*both, marker_severity)), default=0)


@from_table
def test_a_result_is_read_where_it_stands(text: str, expected: dict[str, str]) -> None:
    found = results(text)
    for marker, polarity in expected.items():
        assert polarity in found[marker]


@from_table
def test_mismatch_repair_is_one_status_however_it_is_said(text: str) -> None:
    assert results(text)[MISMATCH] == {"deficient"}


def test_the_light_chain_is_the_one_that_is_restricted() -> None:
    assert results("plasma cells are kappa restricted")[LIGHT_CHAIN] == {"kappa"}
    assert results("lambda restricted on kappa and lambda staining")[LIGHT_CHAIN] == {"lambda"}
    assert results("polytypic plasma cells, kappa and lambda")[LIGHT_CHAIN] == {"polytypic"}


@from_table
def test_a_flip_is_as_severe_as_what_it_decides(one: str, other: str, severity: int) -> None:
    assert worst(one, other) == severity


@from_table
def test_what_is_only_advised_or_awaited_has_no_result(text: str) -> None:
    assert results(text) == {}


@from_table
def test_a_result_in_other_words_is_the_same_result(text: str, axis: str, result: str) -> None:
    assert results(text)[axis] == {result}


def test_a_result_in_other_words_stands_where_it_was_written() -> None:
    text = "Pale. The cells do not express p16 at all."
    (found,) = read_marker_statements(text)
    assert "p16" in text[found.start : found.end]


def test_no_wording_matches_a_text_that_lacks_what_it_is_searched_for() -> None:
    texts = [each for pair in pairs_of(read_probes()) for each in (pair.reference, pair.candidate)]
    texts += [
        "The cells do not express p16; unstained for CD3. Neither CD3 nor CD20 is expressed.",
        "No staining for CD20. The tumour keeps MLH1 and lacks PMS2. No MMR protein is lost.",
        "No fungi are seen. Fungi (PAS): none. No loss of MMR. PAS shows nothing. p53 - .",
        "Amplification of MDM2 was not shown, nor EWSR1 rearrangement was seen. Normal p53 pattern",
        "mutant p53; CDKN2A: homozygous deletion; 1p/19q codeletion; CD5- and CD10 positive",
        "ER-/dim",
    ]
    found = set()
    for text in dict.fromkeys(texts):
        small = text.casefold()
        for at, (pattern, _, cased, any_of) in enumerate(wordings()):
            if pattern.search(text):
                found.add(at)
                assert any(each in (text if cased else small) for each in any_of), pattern.pattern
    assert len(found) == len(wordings())


@from_table
def test_one_protein_lost_is_deficient_and_names_its_pair(
    text: str, status: str, lost: set[str] | None
) -> None:
    read = results(text)
    assert read[MISMATCH] == {status}
    assert read.get("lost mismatch repair proteins") == lost


@from_table
def test_hybridisation_in_a_sentence_of_its_own_is_of_her2(text: str, her2: set[str]) -> None:
    assert results(text)["HER2"] == her2
