"""Which sentences of a report assert something, and of which specimen."""

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from histoeval.pathgls.logic.sentences import MAX_SENTENCES, passages_of


def said(text: str) -> list[tuple[str, str]]:
    return [(passage.part, passage.text) for passage in passages_of(text).all]


def test_history_gross_and_advice_assert_nothing_of_the_slide() -> None:
    text = (
        "CLINICAL HISTORY:\nMelanoma of the back.\n"
        "GROSS DESCRIPTION:\nA tan nodule of 2 cm.\n"
        "DIAGNOSIS:\nNodular melanoma. Re-excision is recommended. Known diabetes."
    )
    assert [words for _, words in said(text)] == ["Nodular melanoma."]


def test_the_parts_of_a_report_are_specimens_wherever_they_are_named() -> None:
    text = (
        "DIAGNOSIS:\nA. Skin, biopsy: Basal cell carcinoma.\nB. Skin, biopsy: Naevus.\n"
        "MICROSCOPIC DESCRIPTION:\nA. Nests of basaloid cells.\nB. Nests of melanocytes."
    )
    basal, naevus, basaloid, melanocytes = (part for part, _ in said(text))
    assert basal == basaloid
    assert naevus == melanocytes
    assert basal != naevus


@pytest.mark.parametrize(
    ("text", "specimens"),
    [
        ("DIAGNOSIS:\nA. Colon, biopsy: Tubular adenoma.\nCOMMENT:\nThe stalk is free.", 1),
        (
            "The left kidney is normal. The right kidney holds a tumour. The left ureter is "
            "normal. The right ureter is normal.",
            2,
        ),
        ("The left kidney holds a tumour. The left ureter is free. The right kidney is pale.", 1),
    ],
    ids=["one part", "both sides again", "one mention of the other side"],
)
def test_each_side_is_a_specimen_where_both_are_spoken_of_again(text: str, specimens: int) -> None:
    parts = {part for part, _ in said(text)}
    assert len(parts) == specimens
    assert specimens > 1 or parts == {""}


def test_a_conclusion_is_known_by_its_section_or_by_its_words() -> None:
    by_section = passages_of("DIAGNOSIS:\nTubular adenoma.").all[-1]
    by_words = passages_of("Glands are seen. The diagnosis is tubular adenoma.").all
    assert by_section.concludes
    assert [passage.concludes for passage in by_words] == [False, True]


def test_a_clause_ends_at_commas_and_with() -> None:
    text = "Focal necrosis is seen, with lymphovascular invasion, but no mitoses."
    (passage,) = passages_of(text).all
    start = text.index("lymphovascular")
    end = start + len("lymphovascular invasion")
    assert passage.clause(start, end).strip() == "lymphovascular invasion"


def test_a_very_long_report_is_cut_and_says_so() -> None:
    text = "Necrosis is present in the tumour. " * 30_000
    found = passages_of(text)
    assert len(found.all) == MAX_SENTENCES
    assert found.cut


def test_every_place_of_a_sentence_leads_back_to_it() -> None:
    found = passages_of("Necrosis is present. Mitoses are rare.")
    assert all(found.at(p.start) == found.at(p.end - 1) == p for p in found.all)
    assert found.at(len("Necrosis is present.")) is None


@settings(max_examples=40)
@given(st.text(alphabet="ABab12.:;,\n left righ", max_size=200))
def test_passages_are_slices_in_order_whatever_the_text(text: str) -> None:
    found = passages_of(text).all
    assert all(text[p.start : p.end] == p.text for p in found)
    assert all(a.end <= b.start for a, b in pairwise(found))


def test_what_a_pattern_finds_is_shown_to_the_end_of_its_last_word() -> None:
    (passage,) = passages_of("The lymph nodes contain metastases.").all
    match = re.search(r"nodes contain metasta", passage.text)
    assert match is not None
    found = passage.found(match)
    assert found.span.text == "nodes contain metastases"
    assert passage.text[found.span.start : found.span.end] == found.span.text
