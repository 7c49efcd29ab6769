"""Perturbed sets as files: written, continued, refused, and read again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

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
from tests.support.edited_reports import BENIGN, MALIGNANT, HandReader

ROWS: list[dict[str, Any]] = [
    {"id": "a", "report": MALIGNANT, "image": "a.png", "patient": "p1"},
    {"id": "b", "report": BENIGN, "image": "b.png"},
    {"id": "c", "report": MALIGNANT.replace("left", "right"), "image": None},
]


def write(path: Path, rows: list[dict[str, Any]]) -> TextSource:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return open_reports(path)


def rows_in(path: Path) -> Sequence[PerturbedRow]:
    return read_perturbed(path).reports


def test_every_report_has_its_control_its_edits_and_its_image(tmp_path: Path) -> None:
    output = tmp_path / "set.jsonl"
    summary = perturb_file(
        write(tmp_path / "in.jsonl", ROWS), HandReader(), output, PerturbSettings()
    )
    rows = rows_in(output)
    assert summary["reports"] == 3
    assert summary["groups"]["control"] == 3
    assert sum(summary["edits"].values()) == len(rows)
    own = [row for row in rows if row.case == "a"]
    assert [row.group for row in own] == list(groups())
    assert {row.image for row in own} == {"a.png"}
    assert {row.reference for row in own} == {MALIGNANT}
    assert [row.id for row in own] == [f"a/{row.edit}" for row in own]
    assert {row.patient for row in own} == {"p1"}
    assert {row.image for row in rows if row.case == "c"} == {None}


def test_what_could_not_be_made_is_counted_and_stands_on_the_control(tmp_path: Path) -> None:
    output = tmp_path / "set.jsonl"
    settings = PerturbSettings(each=None)
    summary = perturb_file(write(tmp_path / "in.jsonl", ROWS), HandReader(), output, settings)
    assert sum(summary["not_made"]["other_side"].values()) == 1
    (control,) = [r for r in rows_in(output) if r.case == "b" and r.group == "control"]
    assert "no side" in control.not_made["other_side"]


def test_two_runs_give_the_same_file_and_a_stopped_one_continues(tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl", ROWS)
    whole, stopped = tmp_path / "whole.jsonl", tmp_path / "stopped.jsonl"
    perturb_file(source, HandReader(), whole, PerturbSettings())
    perturb_file(source, HandReader(), stopped, PerturbSettings())
    assert whole.read_bytes() == stopped.read_bytes()
    lines = whole.read_bytes().splitlines(keepends=True)
    stopped.write_bytes(b"".join(lines[:8]) + lines[8][:20])
    reader = HandReader()
    summary = perturb_file(source, reader, stopped, PerturbSettings())
    assert stopped.read_bytes() == whole.read_bytes()
    assert reader.seen == 2
    assert summary["reports"] == 3


def test_reports_of_several_blocks_are_written_in_their_order(tmp_path: Path) -> None:
    source, output = write(tmp_path / "in.jsonl", ROWS), tmp_path / "set.jsonl"
    summary = perturb_file(source, HandReader(), output, PerturbSettings(), batch_size=1)
    assert summary["reports"] == 3
    assert [row.case for row in rows_in(output) if row.edit == "control"] == [
        "a",
        "b",
        "c",
    ]


def test_another_input_or_seed_does_not_continue(tmp_path: Path) -> None:
    source, output = write(tmp_path / "in.jsonl", ROWS), tmp_path / "set.jsonl"
    perturb_file(source, HandReader(), output, PerturbSettings())
    with pytest.raises(OutputError):
        perturb_file(source, HandReader(), output, PerturbSettings(seed=1))
    perturb_file(source, HandReader(), output, PerturbSettings(seed=1), overwrite=True)


def test_bad_rows_are_named_and_the_others_edited(tmp_path: Path) -> None:
    rows = [*ROWS, {"id": "a", "report": "again"}, {"id": "d", "report": ""}]
    output = tmp_path / "set.jsonl"
    summary = perturb_file(
        write(tmp_path / "in.jsonl", rows), HandReader(), output, PerturbSettings()
    )
    assert summary["rows_with_errors"] == 2
    assert set(summary["errors"]) == {"duplicate_id", "empty_text"}
    assert len({row.case for row in rows_in(output)}) == 3


def test_a_group_that_is_none_is_refused(tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl", ROWS)
    with pytest.raises(InputError, match="no group"):
        perturb_file(source, HandReader(), tmp_path / "o.jsonl", PerturbSettings(groups=["typos"]))


def test_with_answers_every_row_has_what_trust_needs_for_stability(tmp_path: Path) -> None:
    output = tmp_path / "set.jsonl"
    source = write(tmp_path / "in.jsonl", ROWS)
    perturb_file(source, HandReader(), output, PerturbSettings(answers=True))
    assert all(
        row.report_augmented == row.report_attacked == row.reference for row in rows_in(output)
    )


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

    def describe_all(self, asks: list[Ask]) -> list[VlmAnswer | Problem]:
        return [self._answer(ask) for ask in asks]

    def _answer(self, ask: Ask) -> VlmAnswer | Problem:
        if "other words" in ask.text:
            return VlmAnswer(f"I would{' ' * 200_000}rather not.")  # quickly seen to be no edit
        if "another disease" in ask.text:
            return Problem("subject_unreachable", "nobody there")
        words = "No atypical cells are seen."
        report = MALIGNANT.replace("The diagnosis", f"{words} The diagnosis")
        told = {"before": "The diagnosis", "after": f"{words} The diagnosis", "report": report}
        return VlmAnswer(f"```json\n{json.dumps(told)}\n```")


def test_a_language_model_edits_too_and_what_it_spoils_is_counted(tmp_path: Path) -> None:
    output = tmp_path / "set.jsonl"
    source = write(tmp_path / "in.jsonl", ROWS[:1])
    subject: Any = Editor()
    summary = perturb_file(source, HandReader(), output, PerturbSettings(), subject=subject)
    (row,) = [row for row in rows_in(output) if row.by == MODEL]
    assert row.edit == "llm_contradiction"
    assert row.level == 4
    assert "No atypical cells" in (row.report or "")
    assert "not the JSON" in next(iter(summary["not_made"]["llm_rewording"]))
    assert "nobody there" in next(iter(summary["not_made"]["llm_hallucination"]))


def test_an_answer_that_changes_other_words_than_it_says_is_no_edit(tmp_path: Path) -> None:
    class Liar(Editor):
        def _answer(self, ask: Ask) -> VlmAnswer | Problem:
            told = {"before": "a rose", "after": "a thorn", "report": MALIGNANT + " Also a thorn."}
            return VlmAnswer(json.dumps(told))

    subject: Any = Liar()
    source = write(tmp_path / "in.jsonl", ROWS[:1])
    output = tmp_path / "set.jsonl"
    summary = perturb_file(source, HandReader(), output, PerturbSettings(), subject=subject)
    assert all(row.by != MODEL for row in rows_in(output))
    assert "are not there" in next(iter(summary["not_made"]["llm_contradiction"]))
