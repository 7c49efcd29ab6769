"""`histoeval entail`, as people run it."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

import histoeval.cli.entail
from histoeval.nli.entailer import Entailment, NliPair
from tests.support.command import invoked

GOOD = [
    {"id": "a", "premise": "No invasion.", "hypothesis": "Invasion is present."},
    {"id": "b", "premise": "ER positive.", "hypothesis": "ER is expressed."},
    {"id": "c", "premise": "Left breast.", "hypothesis": "The patient smokes."},
]


class Lengths:
    """Answers by the length of the hypothesis, and breaks on a word."""

    identity = "lengths"

    def __init__(self) -> None:
        self.asked = 0

    def judge(self, pairs: Sequence[NliPair]) -> list[Entailment]:
        if any("break" in pair.premise for pair in pairs):
            raise RuntimeError("broken")
        self.asked += len(pairs)
        share = [len(pair.hypothesis) / 100 for pair in pairs]
        return [Entailment(0.25, 0.75 - each, each) for each in share]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Lengths:
    made = Lengths()
    monkeypatch.setattr(histoeval.cli.entail, "open_entailer", lambda *_: made)
    return made


run = partial(invoked, "entail")


def write(path: Path, rows: Sequence[object]) -> Path:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def rows_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_every_row_gets_its_three_probabilities(model: Lengths, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    done = run(write(tmp_path / "in.jsonl", GOOD), "--output", output)
    assert done.exit_code == 0, done.output
    found = rows_of(output)
    assert [row["id"] for row in found] == ["a", "b", "c"]
    expected = {"entailment": 0.25, "neutral": 0.75 - 0.2, "contradiction": 0.2}
    assert found[0] == {"id": "a", **expected}


def test_bad_rows_are_counted_and_others_judged(model: Lengths, tmp_path: Path) -> None:
    bad = [{"id": "d", "premise": "alone"}, "{", {"id": "e", "premise": "break", "hypothesis": "x"}]
    output = tmp_path / "out.jsonl"
    done = run(write(tmp_path / "in.jsonl", [*GOOD, *bad]), "--output", output)
    assert (done.exit_code, model.asked) == (1, 3), done.output
    assert "3 of 6 pairs judged" in done.output
    errors = [row["errors"][0] for row in rows_of(output)[3:]]  # type: ignore[index]
    assert (errors[0]["column"], errors[2]["code"]) == ("hypothesis", "model_failed")
    meta = json.loads((tmp_path / "out.jsonl.meta.json").read_text("utf-8"))
    assert meta["summary"]["rows_with_errors"] == 3
    none = run(write(tmp_path / "none.jsonl", bad), "--output", tmp_path / "none.out.jsonl")
    assert none.exit_code == 2


def test_a_stopped_run_goes_on_where_it_was(model: Lengths, tmp_path: Path) -> None:
    source, output = write(tmp_path / "in.jsonl", GOOD), tmp_path / "out.jsonl"
    run(source, "--output", output)
    whole = output.read_bytes()
    first, second, _ = whole.splitlines(keepends=True)
    output.write_bytes(first + second[:9])
    assert run(source, "--output", output).exit_code == 0
    assert output.read_bytes() == whole
    assert model.asked == 3 + 2


def test_another_language_is_an_error_of_its_row(tmp_path: Path, model: Lengths) -> None:
    german = {"id": "de", "premise": "Kein Anhalt für Malignität.", "hypothesis": "No tumour."}
    file = write(tmp_path / "in.jsonl", [*GOOD, german])
    refused = run(file, "--output", tmp_path / "out.jsonl")
    assert refused.exit_code == 1
    assert "the premise seems to be written in German" in refused.output
    assert model.asked == len(GOOD)
    read = run(file, "--output", tmp_path / "any.jsonl", "--language", "any")
    assert read.exit_code == 0
