"""Edits: each does what it says, everywhere or in one place, and nothing else."""

from random import Random
from time import perf_counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from research.tests.support.edited_reports import BENIGN, MALIGNANT, read

from histoeval.report import Report
from histoeval.terms.catalogue import Behaviour, Concept, closeness
from histoeval.terms.naming import main_concept
from histoeval_research.experiments.edits import rules
from histoeval_research.experiments.edits.registry import (
    CONTROL,
    EditedReport,
    groups,
    kinds,
    levels,
    perturb,
)
from histoeval_research.experiments.edits.rules import shifted_grade
from histoeval_research.experiments.edits.source_report import (
    Change,
    NotApplicable,
    Original,
    apart,
    applied,
    in_case_of,
    is_plural,
)


def edited(name: str, text: str = MALIGNANT, seed: int = 0) -> str:
    return applied(text, getattr(rules, name)(Original(read(text)), Random(seed)))


def all_edits(seed: int = 0) -> list[EditedReport]:
    return perturb(read(MALIGNANT), "case", seed=seed, each=None)[0]


def concept(words: str) -> Concept:
    known = main_concept(words)
    assert known is not None
    return known


def concluded(text: str) -> Concept:
    return concept(text.rpartition("diagnosis is ")[2].split(",")[0])


TRUE = concept("squamous cell carcinoma")


def test_every_edit_of_the_table_is_a_function_and_has_a_level_that_is_explained() -> None:
    assert all(hasattr(rules, kind.name) for kind in kinds())
    assert {kind.level for kind in kinds()} | {0} == set(levels())
    assert groups()[0] == CONTROL


def test_a_rich_report_is_edited_in_almost_every_way_and_each_text_is_its_changes_made() -> None:
    edits = all_edits()
    lacking = {kind.name for kind in kinds()} - {edit.edit for edit in edits}
    assert lacking <= {"abbreviation", "order", "subtype"}
    for edit in edits:
        assert applied(MALIGNANT, edit.changes) == edit.text
        assert (edit.text != MALIGNANT) == (edit.edit != CONTROL)


def test_seed_and_id_decide_what_is_drawn() -> None:
    assert all_edits(3) == all_edits(3)
    drawn = {
        tuple(e.edit for e in perturb(read(MALIGNANT), f"case-{n}", seed=n)[0]) for n in range(12)
    }
    assert len(drawn) > 1


def test_one_edit_of_each_group_is_made_or_all_or_those_of_a_group() -> None:
    one, _ = perturb(read(MALIGNANT), "case")
    assert [edit.group for edit in one] == list(groups())
    assert len(all_edits()) > len(one)
    some, _ = perturb(read(MALIGNANT), "case", chosen=["logic"], each=None)
    assert {edit.group for edit in some} == {CONTROL, "logic"}


def test_what_cannot_be_made_has_a_reason() -> None:
    _, reasons = perturb(read("Nothing of note."), "case", each=None)
    assert "no known diagnosis" in reasons["another_diagnosis"]
    assert "no side" in reasons["other_side"]
    assert all(reasons.values())


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("side_conflict", f"{MALIGNANT} The right lung is normal.", "both sides"),
        ("benign_conclusion", BENIGN, "no malignant"),
        ("subtype", MALIGNANT, "no near sibling"),
    ],
)
def test_an_edit_that_would_not_be_wrong_for_certain_is_not_made(
    name: str, text: str, reason: str
) -> None:
    with pytest.raises(NotApplicable, match=reason):
        edited(name, text)


def test_a_contradicted_finding_is_denied_in_a_sentence_of_its_own() -> None:
    for seed in range(8):
        text = edited("assertion_conflict", seed=seed)
        assert text.startswith(MALIGNANT)
        added = text[len(MALIGNANT) :].lower()
        is_denied = "no " in added or "absent" in added
        assert is_denied != ("ascular invasion" in added)


def test_sides_are_turned_in_one_place_or_in_all() -> None:
    text = edited("side_conflict")
    assert "left lung" in text
    assert "right lung" in text
    text = edited("side_conflict", f"{MALIGNANT} The left lung is received fresh.")
    assert (text.count("left"), text.count("right")) == (1, 1)
    text = edited("other_side")
    assert "left" not in text
    assert "right lung" in text


def test_one_of_two_grades_is_moved_for_a_conflict_and_both_for_a_slip() -> None:
    assert edited("grade_conflict").count("moderately differentiated") == 1
    slip = edited("grade_by_one")
    assert "moderately" not in slip
    assert 2 in (slip.count("well differentiated"), slip.count("poorly differentiated"))


def test_a_marker_is_contradicted_in_another_sentence_and_turned_in_its_own() -> None:
    conflict = edited("marker_conflict")
    assert conflict.startswith(MALIGNANT)
    assert "negative" in conflict
    turned = edited("marker_result")
    assert "positive" not in turned
    assert "negative for p40" in turned


def test_a_benign_conclusion_leaves_the_malignant_morphology() -> None:
    for seed in range(6):
        text = edited("benign_conclusion", seed=seed)
        assert "keratin pearls" in text
        assert "benign" in text or "papilloma" in text


def test_a_subtype_is_near_another_organ_far_and_a_size_off_by_a_third_or_so() -> None:
    text = edited("subtype", BENIGN)
    assert "Tubular adenoma " not in text
    sibling = concept(text.split(". ")[1].partition(" with")[0])
    assert sibling.behaviour is Behaviour.BENIGN
    assert 0.3 < closeness(concept("tubular adenoma"), sibling) < 1
    text = edited("another_organ")
    assert "lung" not in text
    assert "squamous" not in text
    text = edited("size")
    assert "3.5 cm" not in text
    assert "4.7 cm" in text or "2.3 cm" in text


def test_other_diagnoses_are_far_from_the_true_one_and_of_its_behaviour() -> None:
    for seed in range(6):
        assert closeness(TRUE, concluded(edited("excluded_diagnosis", seed=seed))) < 0.35
        text = edited("another_diagnosis", seed=seed)
        assert "squamous cell carcinoma" not in text
        assert concluded(text).behaviour is Behaviour.MALIGNANT
        assert closeness(TRUE, concluded(text)) < 0.3
    assert concluded(edited("benign_for_malignant")).behaviour is Behaviour.BENIGN


def test_an_invented_finding_stands_before_the_conclusion_and_was_not_spoken_of() -> None:
    for seed in range(8):
        text = edited("invented_finding", seed=seed)
        assert text.endswith("The diagnosis is squamous cell carcinoma, moderately differentiated.")
        (change,) = rules.invented_finding(Original(read(MALIGNANT)), Random(seed))
        assert change.after.strip() not in MALIGNANT


def test_rewording_keeps_every_number_and_every_denial() -> None:
    for edit in all_edits():
        if edit.group == "rewording":
            assert "3.5 cm" in edit.text
            assert edit.text.lower().count("no ") == MALIGNANT.lower().count("no ")
            assert "squamous" in edit.text or "SCC" in edit.text
    assert edited("layout").replace("- ", "").split() == MALIGNANT.split()


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=300))
def test_no_text_breaks_any_edit(text: str) -> None:
    edits, skipped = perturb(Report(text=text), "odd", each=None)
    assert edits[0].text == text
    assert len(edits) - 1 + len(skipped) == len(kinds())


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9)), max_size=30))
def test_kept_changes_never_overlap_and_the_first_of_two_wins(spans: list[tuple[int, int]]) -> None:
    changes = [Change(start=start, before="x" * size, after="") for start, size in spans]
    kept = apart(changes)
    held = [set(range(c.start, c.end)) for c in kept]
    assert sum(map(len, held)) == len(set().union(*held))
    for change in changes:
        assert change in kept or set(range(change.start, change.end)) & set().union(*held)
    assert kept[:1] == changes[:1]


def test_a_report_of_a_megabyte_is_edited_in_seconds() -> None:
    start = perf_counter()
    edits, _ = perturb(read(f"{MALIGNANT}\n" * 2500), "long", each=1)
    assert len(edits) > 3
    assert perf_counter() - start < 60


@pytest.mark.parametrize(
    ("grade", "step", "moved"),
    [
        ("moderately differentiated", 1, "poorly differentiated"),
        ("Moderately-differentiated", -1, "Well-differentiated"),
        ("well differentiated", -1, None),
        ("grade II", 1, "grade III"),
        ("Fuhrman nuclear grade III/IV", 1, "Fuhrman nuclear grade IV/IV"),
        ("grade 3", 1, None),
        ("grade 2 of 4", 2, "grade 4 of 4"),
        ("G2", -1, "G1"),
        ("low-grade", 2, "high-grade"),
        ("well to moderately differentiated", 1, "well to poorly differentiated"),
        ("Gleason 3+4", 1, None),
    ],
)
def test_grades_move_along_their_scale(grade: str, step: int, moved: str | None) -> None:
    assert shifted_grade(grade, step) == moved


def test_words_are_typed_like_those_that_they_replace_and_articles_are_mended() -> None:
    assert in_case_of("LEFT", "right") == "RIGHT"
    assert in_case_of("Left", "right") == "Right"
    assert in_case_of("adenocarcinoma", "diffuse large B-cell lymphoma").startswith("diffuse")
    assert is_plural("psammoma bodies")
    assert not is_plural("necrosis")
    text = "This is a squamous cell carcinoma."
    original = Original(read(text))
    change = original.replaced(original.diagnoses[0].entity, "osteosarcoma")
    assert applied(text, [change]) == "This is an osteosarcoma."
