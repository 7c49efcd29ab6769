"""`histoeval explain`: which pair it finds, what it prints, and what it refuses."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic.dataclasses import dataclass

import histoeval
from histoeval import HistoEvalError, Pair, Problem, Score, SettingError
from histoeval.concordance.evidence import (
    ComparedPart,
    EntityMatch,
    ErrorKind,
    ReportError,
    Severity,
    evidence_of,
)
from histoeval.metrics.base import STRICT, ModelMetric
from histoeval.metrics.registry import METRICS, MetricEntry
from tests.support.command import invoked
from tests.support.tables import from_table
from tests.support.word_reader import WordReader, read_words


@dataclass(frozen=True, config=STRICT)
class SharedWords(ModelMetric):
    """The share of the reference's entities that the candidate has too."""

    reader: Any = None
    aligner: Any = None
    models: ClassVar[tuple[str, ...]] = ("reader", "aligner")

    def score_ready(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        return [self._answer(pair) for pair in pairs]

    def _answer(self, pair: Pair) -> Score | Problem:
        if "unscorable" in pair.candidate:
            return Problem(code="metric_failed", message="that is too much", metric=self.name)
        wanted, there = (read_words(t).entities for t in (pair.reference, pair.candidate))
        found = {e.text: e for e in there}
        matched = [EntityMatch("words", e, found[e.text], 1.0) for e in wanted if e.text in found]
        lacking = [
            ReportError(ErrorKind.OMISSION, "words", Severity.MAJOR, e, None)
            for e in wanted
            if e.text not in found
        ]
        share = len(matched) / max(len(wanted), 1)
        return Score(
            value=share,
            parts={"expert_scale": 5 * share, "words": share},
            evidence=evidence_of([ComparedPart(share, tuple(matched), tuple(lacking))]),
            signature=self.signature,
        )


@pytest.fixture(autouse=True)
def _words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Concordance is shared words, read by a reader of six words; nobody asks for colours."""
    monkeypatch.setitem(METRICS, "concordance", MetricEntry(f"{__name__}:SharedWords", "words"))
    monkeypatch.setattr("histoeval.run.models.load_reader", lambda models: WordReader())
    for name in ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    file = tmp_path / "pairs.csv"
    file.write_text(
        "id,reference,candidate\n"
        "case-1,carcinoma of the breast,a carcinoma\n"
        "case-2,HER2 negative,HER2 negative\n"
        "case-3,sarcoma,\n"
        "case-4,sarcoma,unscorable\n",
        "utf-8",
    )
    return file


run = partial(invoked, "explain")


def refusal(*arguments: object) -> str:
    """What is said when nothing can be done."""
    error = run(*arguments).exception
    assert isinstance(error, HistoEvalError), repr(error)
    return str(error)


def test_one_pair_of_a_file_is_explained(pairs: Path) -> None:
    result = run(pairs, "--id", "case-1")
    assert result.exit_code == 0
    first, *_ = result.stdout.splitlines()
    assert first == "case-1: concordance 0.500 (0 to 1), 2.5 on the expert scale (0 to 5)"
    assert "[carcinoma](=1) of the [breast](!!!1)" in result.output
    assert "HER2" not in result.output
    pairs.write_text("id,reference,candidate\na,sarcoma,sarcoma\na,breast,x\n", "utf-8")
    assert "[sarcoma](=1)" in run(pairs, "--id", "a").output, "of two the first"


def test_a_text_is_read_from_a_file_behind_an_at(tmp_path: Path) -> None:
    file = tmp_path / "report.txt"
    file.write_bytes("Łagodny carcinoma\nof the breast\n".encode("cp1250"))
    result = run("--reference", f"@{file}", "--candidate", "x", "--encoding", "cp1250")
    assert "Łagodny [carcinoma](!!!1)\nof the [breast](!!!2)\n" in result.output


def test_json_is_one_object_with_all_that_the_metric_says(pairs: Path) -> None:
    result = run(pairs, "--id", "case-1", "--json")
    assert result.exit_code == 0
    assert result.stdout.count("\n") == 1
    said = json.loads(result.stdout)
    assert (said["id"], said["system"], said["metric"]) == ("case-1", "candidate", "concordance")
    assert (said["value"], said["parts"]) == (0.5, {"expert_scale": 2.5, "words": 0.5})
    assert said["evidence"]["errors"][0]["reference"]["text"] == "breast"
    assert said["signature"].startswith("concordance|")


def test_nothing_in_a_report_reaches_the_terminal_through_json(pairs: Path) -> None:
    pairs.write_text("id,reference,candidate\né\x9b,carcinoma,x\n", "utf-8")
    output = run(pairs, "--id", "é\x9b", "--json").stdout
    assert output.isascii()
    assert json.loads(output)["id"] == "é\x9b"


def test_another_metric_is_named_by_an_option(pairs: Path) -> None:
    result = run(pairs, "--id", "case-2", "--metric", "bleu")
    assert "bleu 100.000 (0 to 100)" in result.output
    assert "bleu gives no matches or errors" in result.output
    assert "no metric 'rouge'" in refusal(pairs, "--id", "case-2", "--metric", "rouge")
    assert "--encoder" in refusal(pairs, "--id", "case-2", "--metric", "bertscore")


def test_models_are_named_by_options(pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    load = "histoeval.run.models.load_reader"
    monkeypatch.setattr(load, lambda models: asked.append(models) or WordReader())  # type: ignore[func-returns-value]
    run(pairs, "--id", "case-2", "--reader", "mine", "--aligner", "lexical", "--device", "cpu")
    (models,) = asked
    assert (models.reader, models.aligner, models.device) == ("mine", "lexical", "cpu")


@from_table
def test_a_missing_pair_or_score_says_why(words: tuple[str, ...], said: str, pairs: Path) -> None:
    assert said in refusal(pairs, *words)


def scored(pairs: Path, *options: str) -> Path:
    """The folder of a run over the pairs."""
    folder = pairs.parent / "results"
    invoked("score", pairs, "--metrics", "concordance,bleu", "--output", folder, *options)
    return folder


def test_a_run_is_explained_from_its_own_texts(pairs: Path) -> None:
    expected = run(pairs, "--id", "case-1").stdout
    folder = scored(pairs)
    pairs.unlink()
    for place in (folder, folder / "scores.jsonl"):
        found = run(place, "--id", "case-1")
        assert (found.exit_code, found.stdout, found.stderr) == (0, expected, "")
    for metric, said in (("bleu", "bleu 100.000"), ("rouge_l", "rouge_l 1.000")):
        assert said in run(folder, "--id", "case-2", "--metric", metric).output
    for id_, said in (("Case_2", "did you mean 'case-2'"), ("case-4", "that is too much")):
        assert said in refusal(folder, "--id", id_)
    assert "Its ids: 'case-1', 'case-2', 'case-3' …" in refusal(folder)


def test_a_run_without_texts_names_the_command_that_reads_its_input(pairs: Path) -> None:
    said = refusal(scored(pairs, "--no-texts"), "--id", "case-1")
    assert "results has no report texts" in said
    assert "`histoeval explain pairs.csv --id case-1`" in said


def test_a_score_that_would_be_another_now_is_shown_as_the_run_has_it(pairs: Path) -> None:
    folder = scored(pairs)
    for name in ("summary.json", "run.json"):
        text = (folder / name).read_text("utf-8")
        (folder / name).write_text(text.replace("order:4", "order:2"), "utf-8")
    found = run(folder, "--id", "case-2", "--metric", "bleu", "--json")
    assert "order: 2 and 4" in found.stderr
    assert "|order:2|" in json.loads(found.stdout)["signature"]


def test_python_explains_a_pair_of_a_run(pairs: Path) -> None:
    folder = scored(pairs)
    score = histoeval.explain(run=folder, id="case-1")
    assert (score.value, score.pair and score.pair.candidate) == (0.5, "a carcinoma")
    with pytest.raises(SettingError, match="not both"):
        histoeval.explain("a", "b", run=folder, id="case-1")
    with pytest.raises(SettingError, match="give reference and candidate, or run and id"):
        histoeval.explain()
    with pytest.raises(SettingError, match=r"Give id='ID'\. Its ids"):
        histoeval.explain(run=folder)


WIDE = "id,reference,candidate_x,candidate_y\na,sarcoma,sarcoma,\n"
LONG = "id,system,reference,candidate\na,candidate_x,sarcoma,sarcoma\na,candidate_y,sarcoma,\n"


@pytest.mark.parametrize("table", [WIDE, LONG])
def test_of_several_systems_one_must_be_chosen(table: str, pairs: Path) -> None:
    pairs.write_text(table, "utf-8")
    result = run(pairs, "--id", "a", "--system", "candidate_x")
    assert result.stdout.startswith("a (candidate_x): concordance 1.000")
    for words, said in (
        ((), "'candidate_x', 'candidate_y': choose one with --system"),
        (("--system", "candidate_y"), "is empty"),
        (("--system", "z"), "no candidate of 'z'; there are: 'candidate_x'"),
    ):
        assert said in refusal(pairs, "--id", "a", *words)


def test_columns_are_named_by_options(pairs: Path) -> None:
    pairs.write_text("k,gold,ours,who\n7,sarcoma,sarcoma,me\n", "utf-8")
    columns = ["--id-column", "k", "--reference-column", "gold", "--candidate-column", "ours"]
    result = run(pairs, "--id", 7, *columns, "--system-column", "who")
    assert result.stdout.startswith("7 (me): concordance 1.000")


def test_parallel_text_files_are_read_as_score_reads_them(tmp_path: Path) -> None:
    files = [tmp_path / "gold.txt", tmp_path / "ours.txt"]
    for file, text in zip(files, ["x\nsarcoma", "x\nbreast"], strict=True):
        file.write_text(text, "utf-8")
    assert "[sarcoma](!!!1)" in run(*files, "--id", "1").output


def test_how_a_file_was_read_is_said_beside_the_result(pairs: Path) -> None:
    pairs.write_bytes("id,reference,candidate\na,sarcoma,naïve sarcoma\n".encode("latin-1"))
    result = run(pairs, "--id", "a", "--json")
    assert "Latin-1" in result.stderr
    assert json.loads(result.stdout)["value"] == 1.0


def test_a_file_that_is_not_there_or_cannot_be_read_is_named(tmp_path: Path) -> None:
    absent, broken = tmp_path / "absent.csv", tmp_path / "broken.txt"
    assert refusal(absent, "--id", "a") == f"{absent} does not exist"
    broken.write_bytes("é ".encode() + b"\xff carcinoma")
    (tmp_path / "empty.txt").write_text("  \n", "utf-8")
    for given, said in (
        (f"@{absent}", "does not exist"),
        (f"@{tmp_path}", "cannot be read"),
        (f"@{broken}", "0xff"),
        (f"@{tmp_path}/empty.txt", "is empty"),
        ("", "--reference is empty (command line)"),
    ):
        assert said in refusal("--reference", given, "--candidate", "x")


def test_json_has_what_parts_and_errors_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # the real concordance
    texts = "--reference", "Left breast: carcinoma.", "--candidate", "Right breast: carcinoma."
    said = json.loads(run(*texts, "--metric", "concordance", "--json").output)
    (error,) = said["evidence"]["errors"]
    assert {"laterality", "safety"} <= {part["part"] for part in said["breakdown"]}
    lost = sum(part["cost"] for part in said["breakdown"])
    assert said["value"] + lost == pytest.approx(error["without"]) == 1
