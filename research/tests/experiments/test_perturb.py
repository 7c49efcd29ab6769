"""Perturbed sets as files: written, continued, refused, and read again."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from research.tests.support.edited_reports import BENIGN, MALIGNANT, HandReader

from histoeval.errors import InputError, OutputError, Problem
from histoeval.io.reports import TextSource, open_reports
from histoeval.vlm.model import Ask, VlmAnswer
from histoeval_research.experiments.edits.registry import groups
from histoeval_research.experiments.perturb import (
    MODEL,
    PerturbedRow,
    PerturbSettings,
    perturb_file,
    read_perturbed,
)

ROWS: list[dict[str, Any]] = [
    {"id": "a", "report": MALIGNANT, "image": "a.png", "patient": "p1"},
    {"id": "b", "report": BENIGN, "image": "b.png"},
    {"id": "c", "report": MALIGNANT.replace("left", "right"), "image": None},
]
USUAL = PerturbSettings()


def write(path: Path, rows: list[dict[str, Any]]) -> TextSource:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return open_reports(path)


def perturbed(
    folder: Path, rows: list[dict[str, Any]] = ROWS, settings: PerturbSettings = USUAL, **more: Any
) -> tuple[dict[str, Any], Sequence[PerturbedRow]]:
    source, output = write(folder / "in.jsonl", rows), folder / "set.jsonl"
    summary = perturb_file(source, HandReader(), output, settings, **more)
    return summary, read_perturbed(output).reports


def test_every_report_has_its_control_its_edits_and_its_image(tmp_path: Path) -> None:
    summary, rows = perturbed(tmp_path)
    assert summary["reports"] == 3
    assert summary["groups"]["control"] == 3
    assert sum(summary["edits"].values()) == len(rows)
    own = [row for row in rows if row.case == "a"]
    assert [row.group for row in own] == list(groups())
    assert {(row.image, row.reference, row.patient) for row in own} == {("a.png", MALIGNANT, "p1")}
    assert [row.id for row in own] == [f"a/{row.edit}" for row in own]
    assert {row.image for row in rows if row.case == "c"} == {None}
    one_by_one = perturbed(tmp_path, overwrite=True, batch_size=1)
    assert one_by_one == (summary, rows)


def test_what_could_not_be_made_is_counted_and_stands_on_the_control(tmp_path: Path) -> None:
    summary, rows = perturbed(tmp_path, settings=PerturbSettings(each=None))
    assert sum(summary["not_made"]["other_side"].values()) == 1
    (control,) = [row for row in rows if row.case == "b" and row.group == "control"]
    assert "no side" in control.not_made["other_side"]


def test_a_stopped_run_continues_and_another_does_not(tmp_path: Path) -> None:
    source, output = write(tmp_path / "in.jsonl", ROWS), tmp_path / "set.jsonl"
    perturb_file(source, HandReader(), output, USUAL)
    whole = output.read_bytes()
    lines = whole.splitlines(keepends=True)
    output.write_bytes(b"".join(lines[:8]) + lines[8][:20])
    reader = HandReader()
    summary = perturb_file(source, reader, output, USUAL)
    assert output.read_bytes() == whole
    assert reader.seen == 2
    assert summary["reports"] == 3
    with pytest.raises(OutputError):
        perturb_file(source, HandReader(), output, PerturbSettings(seed=1))
    perturb_file(source, HandReader(), output, PerturbSettings(seed=1), overwrite=True)


def test_bad_rows_are_named_and_the_others_edited(tmp_path: Path) -> None:
    bad = [{"id": "a", "report": "again"}, {"id": "d", "report": ""}]
    summary, rows = perturbed(tmp_path, [*ROWS, *bad])
    assert summary["rows_with_errors"] == 2
    assert set(summary["errors"]) == {"duplicate_id", "empty_text"}
    assert len({row.case for row in rows}) == 3


def test_a_group_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="no group"):
        PerturbSettings(groups=["typos"])


def test_with_answers_every_row_has_what_trust_needs_for_stability(tmp_path: Path) -> None:
    _, rows = perturbed(tmp_path, settings=PerturbSettings(answers=True))
    assert all(row.report_augmented == row.report_attacked == row.reference for row in rows)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no rows|empty"),
        ('{"id": "a"}\n', "needs case"),
        ('{"id": 3}\n', "line 1"),
        ("{\n", "line 1"),
    ],
)
def test_what_is_no_perturbed_set_is_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError, match=said):
        read_perturbed(path)


class Editor:
    """A model that contradicts reports well, rewords them badly and hallucinates nothing."""

    identity = "editor"

    def __init__(self, before: str, after: str, report: str) -> None:
        self.contradiction = {"before": before, "after": after, "report": report}

    def describe_all(self, asks: list[Ask]) -> list[VlmAnswer | Problem]:
        return [self._answer(ask) for ask in asks]

    def _answer(self, ask: Ask) -> VlmAnswer | Problem:
        if "other words" in ask.text:
            return VlmAnswer(f"I would{' ' * 200_000}rather not.")  # quickly seen to be no edit
        if "another disease" in ask.text:
            return Problem("subject_unreachable", "nobody there")
        return VlmAnswer(f"```json\n{json.dumps(self.contradiction)}\n```")


def test_a_language_model_edits_too_and_what_it_spoils_is_counted(tmp_path: Path) -> None:
    before, after = "The diagnosis", "No atypical cells are seen. The diagnosis"
    editor = Editor(before, after, MALIGNANT.replace(before, after))
    summary, rows = perturbed(tmp_path, ROWS[:1], subject=editor)
    (row,) = [row for row in rows if row.by == MODEL]
    assert (row.edit, row.level) == ("llm_contradiction", 4)
    assert "No atypical cells" in (row.report or "")
    assert "not the JSON" in next(iter(summary["not_made"]["llm_rewording"]))
    assert "nobody there" in next(iter(summary["not_made"]["llm_hallucination"]))


def test_an_answer_that_changes_other_words_than_it_says_is_no_edit(tmp_path: Path) -> None:
    liar = Editor("a rose", "a thorn", f"{MALIGNANT} Also a thorn.")
    summary, rows = perturbed(tmp_path, ROWS[:1], subject=liar)
    assert all(row.by != MODEL for row in rows)
    assert "are not there" in next(iter(summary["not_made"]["llm_contradiction"]))
