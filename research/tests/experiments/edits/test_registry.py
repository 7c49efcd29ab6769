"""Edits: each does what it says, everywhere or in one place, and nothing else."""

from __future__ import annotations

from random import Random
from time import perf_counter

from hypothesis import given, settings
from hypothesis import strategies as st

from histoeval.report import Report
from histoeval.terms.catalogue import Behaviour, closeness
from histoeval.terms.naming import main_concept
from histoeval_research.experiments.edits.registry import (
    CONTROL,
    EditedReport,
    edits,
    groups,
    kinds,
    levels,
    perturb,
)
from histoeval_research.experiments.edits.rules import apart
from histoeval_research.experiments.edits.source_report import (
    Change,
    NotApplicable,
    Original,
    applied,
)
from tests.support.edited_reports import BENIGN, MALIGNANT, read


def made(name: str, text: str = MALIGNANT, seed: int = 0) -> str:
    """The text after one edit, which can be made."""
    changes = edits()[name](Original(read(text)), Random(seed))
    assert not isinstance(changes, NotApplicable), changes
    return applied(text, changes)


def refused(name: str, text: str) -> str:
    changes = edits()[name](Original(read(text)), Random(0))
    assert isinstance(changes, NotApplicable)
    return changes.reason


def all_made(seed: int = 0) -> list[EditedReport]:
    found, _ = perturb(read(MALIGNANT), "case", seed=seed, each=None)
    return found


def test_every_edit_of_the_table_is_a_function_and_has_a_level_that_is_explained() -> None:
    assert set(edits()) == {kind.name for kind in kinds()}
    assert {kind.level for kind in kinds()} | {0} == set(levels())
    assert len(levels()) >= 5
    assert groups()[0] == CONTROL


def test_a_rich_report_can_be_edited_in_almost_every_way() -> None:
    names = {each.edit for each in all_made()}
    lacking = {kind.name for kind in kinds()} - names
    assert lacking <= {"abbreviation", "order", "subtype"}


def test_every_edited_text_is_the_true_one_with_its_changes_made() -> None:
    for each in all_made():
        assert applied(MALIGNANT, each.changes) == each.text
        for change in each.changes:
            assert MALIGNANT[change.start :].startswith(change.before)
        assert (each.text != MALIGNANT) == (each.edit != CONTROL)


def test_the_same_seed_gives_the_same_edits_and_the_order_of_reports_does_not_matter() -> None:
    one, other = all_made(3), all_made(3)
    assert one == other
    assert perturb(read(BENIGN), "b", seed=3)[0] == perturb(read(BENIGN), "b", seed=3)[0]


def test_other_seeds_and_ids_draw_other_edits() -> None:
    drawn = {
        tuple(e.edit for e in perturb(read(MALIGNANT), f"case-{n}", seed=n)[0]) for n in range(12)
    }
    assert len(drawn) > 1


def test_one_edit_of_each_group_is_made_and_all_when_asked() -> None:
    one, _ = perturb(read(MALIGNANT), "case")
    assert [each.group for each in one] == list(groups())
    assert len(all_made()) > len(one)


def test_only_the_groups_that_are_chosen_are_made() -> None:
    found, _ = perturb(read(MALIGNANT), "case", chosen=["logic"], each=None)
    assert {each.group for each in found} == {CONTROL, "logic"}


def test_what_cannot_be_made_is_told_with_its_reason() -> None:
    _, skipped = perturb(read("Nothing of note."), "case", each=None)
    reasons = dict(skipped)
    assert "no known diagnosis" in reasons["another_diagnosis"]
    assert "no side" in reasons["other_side"]
    assert all(reasons.values())


def test_a_contradicted_finding_is_denied_in_a_sentence_of_its_own() -> None:
    for seed in range(8):
        text = made("assertion_conflict", seed=seed)
        assert text.startswith(MALIGNANT)
        added = text[len(MALIGNANT) :]
        if "ascular invasion" in added:
            assert "no " not in added.lower()
            assert "absent" not in added
        else:
            assert "no " in added.lower() or "absent" in added


def test_a_second_side_is_put_in_and_the_first_stays() -> None:
    text = made("side_conflict")
    assert "left lung" in text
    assert "right lung" in text


def test_where_a_side_is_named_twice_only_one_of_them_is_turned() -> None:
    text = made("side_conflict", f"{MALIGNANT} The left lung is received fresh.")
    assert text.count("left") == 1
    assert text.count("right") == 1


def test_a_report_of_both_sides_gets_no_conflict_of_sides() -> None:
    assert "both sides" in refused("side_conflict", f"{MALIGNANT} The right lung is normal.")


def test_other_side_turns_all_of_them() -> None:
    assert "left" not in made("other_side")
    assert "right lung" in made("other_side")


def test_one_of_two_grades_is_moved_for_a_conflict_and_both_for_a_slip() -> None:
    conflict = made("grade_conflict")
    assert conflict.count("moderately differentiated") == 1
    slip = made("grade_by_one")
    assert "moderately" not in slip
    assert slip.count("well differentiated") == 2 or slip.count("poorly differentiated") == 2


def test_a_marker_is_contradicted_in_another_sentence_and_turned_in_its_own() -> None:
    conflict = made("marker_conflict")
    assert conflict.startswith(MALIGNANT)
    assert "negative" in conflict
    turned = made("marker_result")
    assert "positive" not in turned
    assert "negative for p40" in turned


def test_a_benign_conclusion_leaves_the_malignant_morphology() -> None:
    for seed in range(6):
        text = made("benign_conclusion", seed=seed)
        assert "keratin pearls" in text
        assert "benign" in text or "papilloma" in text
    assert "no malignant" in refused("benign_conclusion", BENIGN)


def test_an_excluded_diagnosis_is_far_from_the_true_one() -> None:
    true = main_concept("squamous cell carcinoma")
    assert true is not None
    for seed in range(6):
        words = made("excluded_diagnosis", seed=seed).rpartition("diagnosis is ")[2]
        other = main_concept(words.split(",")[0])
        assert other is not None
        assert closeness(true, other) < 0.35


def test_another_diagnosis_is_as_grave_and_of_another_family() -> None:
    true = main_concept("squamous cell carcinoma")
    assert true is not None
    for seed in range(6):
        text = made("another_diagnosis", seed=seed)
        assert "squamous cell carcinoma" not in text
        other = main_concept(text.rpartition("diagnosis is ")[2].split(",")[0])
        assert other is not None
        assert other.behaviour is Behaviour.MALIGNANT
        assert closeness(true, other) < 0.3


def test_a_subtype_is_near_and_what_has_no_near_sibling_gets_none() -> None:
    true = main_concept("tubular adenoma")
    assert true is not None
    text = made("subtype", BENIGN)
    assert "Tubular adenoma " not in text
    other = main_concept(text.split(". ")[1].partition(" with")[0])
    assert other is not None
    assert other.behaviour is Behaviour.BENIGN
    assert 0.3 < closeness(true, other) < 1
    assert "no near sibling" in refused("subtype", MALIGNANT)


def test_another_organ_names_neither_the_site_nor_the_diagnosis() -> None:
    text = made("another_organ")
    assert "lung" not in text
    assert "squamous" not in text


def test_benign_for_malignant_is_benign() -> None:
    words = made("benign_for_malignant").rpartition("diagnosis is ")[2].split(",")[0]
    other = main_concept(words)
    assert other is not None
    assert other.behaviour is Behaviour.BENIGN


def test_an_invented_finding_stands_before_the_conclusion_and_was_not_spoken_of() -> None:
    for seed in range(8):
        text = made("invented_finding", seed=seed)
        assert text.endswith("The diagnosis is squamous cell carcinoma, moderately differentiated.")
        (change,) = edits()["invented_finding"](Original(read(MALIGNANT)), Random(seed))
        assert isinstance(change, Change)
        assert change.after.strip() not in MALIGNANT


def test_size_changes_one_number_by_a_third_or_so() -> None:
    text = made("size")
    assert "3.5 cm" not in text
    assert "4.7 cm" in text or "2.3 cm" in text


def test_rewording_keeps_every_number_and_every_denial() -> None:
    for each in all_made():
        if each.group == "rewording":
            assert "3.5 cm" in each.text
            assert each.text.lower().count("no ") == MALIGNANT.lower().count("no ")
            assert "squamous" in each.text or "SCC" in each.text


def test_layout_changes_white_space_and_list_marks_only() -> None:
    assert made("layout").replace("- ", "").split() == MALIGNANT.split()


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=300))
def test_no_text_breaks_any_edit(text: str) -> None:
    found, skipped = perturb(Report(text=text), "odd", each=None)
    assert found[0].text == text
    assert len(found) - 1 + len(skipped) == len(kinds())


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9)), max_size=30))
def test_kept_changes_never_overlap_and_the_first_of_two_wins(spans: list[tuple[int, int]]) -> None:
    changes = [Change(start=start, before="x" * size, after="") for start, size in spans]
    kept = apart(changes)
    held = [set(range(c.start, c.start + len(c.before))) for c in kept]
    assert sum(map(len, held)) == len(set().union(*held))
    for change in changes:
        own = set(range(change.start, change.start + len(change.before)))
        assert change in kept or own & set().union(*held)
    assert not changes or kept[0] == changes[0]


def test_a_report_of_a_megabyte_is_edited_in_seconds() -> None:
    start = perf_counter()
    found, _ = perturb(read(f"{MALIGNANT}\n" * 2500), "long", each=1)
    assert len(found) > 3
    assert perf_counter() - start < 60
