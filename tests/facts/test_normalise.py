"""Texts as they are read, and the way back to what stands in the report."""

from hypothesis import given
from hypothesis import strategies as st

from histoeval.concordance.compare import restored
from histoeval.concordance.evidence import (
    ComparedPart,
    EntityMatch,
    ErrorKind,
    ReportError,
    Severity,
)
from histoeval.facts.normalise import normalised
from histoeval.report import Entity, EntityType
from tests.support.tables import from_table


def entity(text: str, words: str, kind: EntityType = EntityType.FINDING) -> Entity:
    start = text.index(words)
    return Entity(text=words, start=start, end=start + len(words), type=kind)


@from_table
def test_abbreviations_are_written_out_and_slips_put_right(written: str, read: str) -> None:
    assert normalised(written).text == read


@from_table
def test_what_is_right_or_could_mean_several_things_stays(text: str) -> None:
    assert normalised(text).text == text


def test_evidence_is_shown_in_the_words_of_the_report() -> None:
    spelt = normalised("No LVI. Adenocarcinma, LVI of veins.")
    invasion = entity(spelt.text, "lymphovascular invasion")
    tumour = entity(spelt.text, "Adenocarcinoma", EntityType.DIAGNOSIS)
    veins = entity(spelt.text, "veins", EntityType.SITE)
    assert [spelt.restored(each).text for each in (invasion, tumour, veins)] == [
        "LVI",
        "Adenocarcinma",
        "veins",
    ]
    matched = ComparedPart(1.0, (EntityMatch("findings", invasion, invasion, 1.0),))
    left_out = ReportError(ErrorKind.OMISSION, "findings", Severity.MINOR, invasion, None)
    shown = restored(ComparedPart(0.5, matched.matched, (left_out,)), spelt, spelt)
    assert shown.value == 0.5
    assert shown.matched[0].candidate.text == "LVI"
    assert shown.mistakes[0].reference is not None
    assert shown.mistakes[0].reference.start == 3
    assert shown.mistakes[0].candidate is None


@given(
    st.lists(st.sampled_from(["LVI", "PNI", "carcinonma", "tumour", "No", ".", "DCIS,", "4 mm"]))
)
def test_every_stretch_of_what_is_read_stands_somewhere_in_the_report(words: list[str]) -> None:
    text = " ".join(words)
    spelt = normalised(text)
    assert normalised(spelt.text).text == spelt.text
    for start, end, old_start, old_end in spelt.changes:
        changed = Entity(text=spelt.text[start:end], start=start, end=end, type=EntityType.FINDING)
        back = spelt.restored(changed)
        assert (back.start, back.end) == (old_start, old_end)
        assert text[back.start : back.end] == back.text
