"""Stages are read from all the ways they are written, and compared axis by axis."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.terms.values.stages import Stage, agreement, read_stage

READ = {
    "pT2b N1 (1/13) MX": Stage("2b", "1", "x", None, "p"),
    "ypT0N0": Stage("0", "0", None, None, "yp"),
    "T3 N1b": Stage("3", "1b"),
    "pT2a, pN0(sn)": Stage("2a", "0", None, None, "p"),
    "pT1cN0M0": Stage("1c", "0", "0", None, "p"),
    "pT2pN1": Stage("2", "1", None, None, "p"),
    "pT4a pN2b cM0": Stage("4a", "2b", "0", None, "p"),
    "pT3aN0Mx": Stage("3a", "0", "x", None, "p"),
    "PT2N0MX": Stage("2", "0", "x", None, "p"),
    "pt2n0m0": Stage("2", "0", "0", None, "p"),
    "pT 2 N 0 M x": Stage("2", "0", "x", None, "p"),
    "TNM: T1 N0 M0": Stage("1", "0", "0"),
    "T2N2bM1": Stage("2", "2b", "1"),
    "pT3 pN1c": Stage("3", "1c", None, None, "p"),
    "pT1b2": Stage("1b2", prefix="p"),
    "T1mi": Stage("1mi"),
    "pTis": Stage("is", prefix="p"),
    "Tis (DCIS)": Stage("is"),
    "pTa": Stage("a", prefix="p"),
    "pT X": Stage("x", prefix="p"),
    "pT1a (m)": Stage("1a", prefix="p"),
    "mpT1c": Stage("1c", prefix="mp"),
    "rpT2": Stage("2", prefix="rp"),
    "ypT1a ypN0": Stage("1a", "0", prefix="yp"),
    "T4": Stage("4"),
    "T stage 2": Stage("2"),
    "pathologic stage: pT2": Stage("2", prefix="p"),
    "AJCC pathologic stage pT3N1": Stage("3", "1", prefix="p"),
    "pN1mi": Stage(n="1mi", prefix="p"),
    "pN0(i+)": Stage(n="0", prefix="p"),
    "pN1a(sn)": Stage(n="1a", prefix="p"),
    "pNX": Stage(n="x", prefix="p"),
    "N0": Stage(n="0"),
    "N+": Stage(n="+"),
    "pM1a": Stage(m="1a"),
    "M1": Stage(m="1"),
    "pTl": Stage("1", prefix="p"),
    "pTlc NO MX": Stage("1c", "0", "x", prefix="p"),
    "pNO": Stage(n="0", prefix="p"),
    "pTO": Stage("0", prefix="p"),
    "pT4b, NO, MO": Stage("4b", "0", "0", prefix="p"),
    "T1s": Stage("is"),
    "pTis, pT2aN1MX": Stage("2a", "1", "x", prefix="p"),
    "pT1 N0 M0, stage IA": Stage("1", "0", "0", "IA", "p"),
    "Stage IIIC": Stage(group="IIIC"),
    "stage IVa": Stage(group="IVA"),
    "Stage 3c": Stage(group="IIIC"),
    "STAGE IV": Stage(group="IV"),
    "stage I disease": Stage(group="I"),
    "Stage 0": Stage(group="0"),
    "Stage llB": Stage(group="IIB"),
    "clinical stage II": Stage(group="II"),
    "stage group: IIA": Stage(group="IIA"),
    "stage IIIA(i)": Stage(group="IIIA"),
    "AJCC stage II": Stage(group="II"),
    "AJCC 8th edition stage IIA": Stage(group="IIA"),
    "FIGO IB2": Stage(group="IB2"),
    "FIGO stage IIIC1": Stage(group="IIIC1"),
    "FIGO stage IA1": Stage(group="IA1"),
    "Ann Arbor stage IIE": Stage(group="IIE"),
    "Masaoka stage II": Stage(group="II"),
    "Dukes C": Stage(group="III"),
    "Dukes' stage B2": Stage(group="II"),
    "IIIC": Stage(group="IIIC"),
    "II": Stage(group="II"),
}
NO_STAGE = [
    "", "no stage", "NO LYMPH NODES", "left breast", "at 2 o'clock", "grade 2", "Not applicable",
    "the tumour", "early stage", "note 1", "stage", "mm", "12 lymph nodes",
]  # fmt: skip


@pytest.mark.parametrize(("phrase", "stage"), READ.items())
def test_a_stage_is_read_axis_by_axis(phrase: str, stage: Stage) -> None:
    assert read_stage(phrase) == stage


@pytest.mark.parametrize("phrase", NO_STAGE)
def test_other_phrases_give_no_stage(phrase: str) -> None:
    assert read_stage(phrase) is None


def close(a: str, b: str) -> float:
    one, other = read_stage(a), read_stage(b)
    assert one is not None
    assert other is not None
    return agreement(one, other)


def test_prefix_spacing_and_slips_do_not_matter() -> None:
    assert close("pT2 pN0", "T2N0") == close("pTl NO", "pT1, pN0") == 1
    assert close("Stage IIIC", "FIGO 3C") == close("Dukes C", "stage III") == 1


@pytest.mark.parametrize(
    "phrases",
    [
        ("pT2a", "pT2b", "pT3", "pT4"),
        ("pT1", "pT1c", "pT2", "pT3"),
        ("pN1a", "pN1b", "pN2", "pN3"),
        ("N2", "N1", "N0"),
        ("stage IIA", "stage IIB", "stage III", "stage IV"),
        ("pT2 N1 M0", "pT2 N2 M0", "pT3 N2 M0", "pT3 N2 M1", "pT3 N0 M1"),
    ],
)
def test_agreement_falls_with_every_step_away(phrases: tuple[str, ...]) -> None:
    falling = [close(phrases[0], other) for other in phrases]
    assert falling == sorted(set(falling), reverse=True)


def test_free_and_involved_nodes_are_opposites_and_so_are_m0_and_m1() -> None:
    assert close("pN0", "pN1") == close("N0", "N+") == close("M0", "M1") == 0
    assert close("pN1", "N+") > 0.8


def test_what_was_not_assessed_is_neither_right_nor_wrong() -> None:
    assert close("MX", "M0") == close("TX", "T3") == close("NX", "N0") == 0.5


def test_only_what_both_name_is_compared() -> None:
    assert close("pT2", "pT2 N1 M0") == 1
    assert close("pT2", "stage IIA") == 0.5


pieces = st.lists(
    st.sampled_from("p T N M 0 1 2b x is O l stage FIGO IV II C ( ) sn Dukes".split())
)


@given(
    st.text()
    | pieces.map("".join)
    | st.from_regex(r"(y?p|c)?T[0-4lIx][a-d]? ?N[0-3OX][a-c]? ?M[01xO]")
)
def test_any_text_can_be_read(text: str) -> None:
    stage = read_stage(text)
    if stage is not None:
        assert agreement(stage, stage) == 1
        assert stage != Stage(prefix=stage.prefix)


@given(st.sampled_from(list(product(READ, repeat=2))))
def test_agreement_is_symmetric_and_within_bounds(pair: tuple[str, str]) -> None:
    a, b = pair
    assert 0 <= close(a, b) <= 1
    assert close(a, b) == close(b, a)


@pytest.mark.parametrize(
    "phrase",
    "confined to the kidney|too few crypts|left great toe|TA|PNI|Pn1|MIB-1|TIL-rich|LLL|ILC"
    "|no-special-type carcinoma|grade group 2|80 ml of fluid|TI biopsy|Banff i2 t3 ct1"
    "|ypT is not applicable|LIMITED TO KIDNEY|stage is 4 of 6".split("|"),
)
def test_words_and_abbreviations_that_look_like_a_misread_stage_are_none(phrase: str) -> None:
    assert read_stage(phrase) is None


def test_a_word_or_a_full_stop_after_a_stage_is_no_part_of_it() -> None:
    assert read_stage("pT1 at least") == Stage(t="1", prefix="p")
    assert read_stage("FIGO stage II.") == Stage(group="II")


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("pT1", "pT2", 0.6),
        ("pT1a", "pT1b", 0.9),
        ("pT1mi", "pT1", 0.95),
        ("pTis", "pT1", 0.8),
        ("pTa", "pT1", 0.8),
        ("pT4a", "pT1", 0.0),
        ("pT2", "pT2 pN0", 1.0),
        ("pT2 pN0", "pT2 pN1", 0.5),
        ("pT2N0M0", "pT2N0M1", 2 / 3),
        ("pN1mi", "pN1", 0.95),
        ("stage IIB", "stage IIIA", 0.6),
        ("stage II", "stage IIB", 0.95),
    ],
)
def test_a_letter_is_less_apart_than_a_number(one: str, other: str, alike: float) -> None:
    here, there = read_stage(one), read_stage(other)
    assert here is not None
    assert there is not None
    assert agreement(here, there) == agreement(there, here) == pytest.approx(alike)


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("pTis", "pTa", 0.9),
        ("pN0", "pN0(i+)", 1.0),
        ("pN0", "pN1a", 0.0),
        ("pN1a", "pN1b", 0.9),
        ("pN1", "pN1a", 0.95),
        ("pTX", "pT1", 0.5),
        ("pT1", "pT2", 0.6),
        ("pT1", "pT4", 0.0),
        ("stage IIA", "stage IIB", 0.9),
    ],
)
def test_how_far_apart_two_written_stages_are(one: str, other: str, alike: float) -> None:
    here, there = read_stage(one), read_stage(other)
    assert here is not None
    assert there is not None
    assert agreement(here, there) == pytest.approx(alike)
    assert agreement(there, here) == pytest.approx(alike)
