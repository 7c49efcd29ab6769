"""`histoeval corpus`: stats, agreement, split and convert."""

import json
from pathlib import Path

import pytest
from research.tests.support.annotated_passages import PASSAGE
from typer.testing import CliRunner, Result

from histoeval.errors import InputError
from histoeval_research.cli.corpus import corpus_app
from histoeval_research.corpus import AnnotatedPassage, read_corpus, write_corpus
from tests.support.terminal_tables import table_rows


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    file = tmp_path / "corpus.jsonl"
    names = [{"id": f"p{n}", "report_id": f"r{n // 2}"} for n in range(20)]
    write_corpus(file, [PASSAGE.model_copy(update=name) for name in names])
    return file


def run(*arguments: object) -> Result:
    return CliRunner().invoke(corpus_app, [str(argument) for argument in arguments])


def cells(result: Result, first: str) -> list[str]:
    return table_rows(result.output)[first]


def test_statistics_are_told_in_the_rows_of_the_paper(corpus: Path) -> None:
    result = run("stats", corpus)
    assert result.exit_code == 0
    assert cells(result, "IHC Modifier") == ["40"]
    assert cells(result, "Diagnosis Descriptor") == ["20"]
    assert cells(result, "Relations (of HARE)") == ["60"]
    assert cells(result, "all relations") == ["80"]
    assert cells(result, "NER") == ["20", "260"]
    assert cells(result, "written") == ["20", "10", "260", "140"]


def test_a_passage_that_cannot_be_read_is_told_and_counted(corpus: Path) -> None:
    corpus.write_text(corpus.read_text("utf-8") + '{"id": "x"}\n', "utf-8")
    result = run("stats", corpus)
    assert result.exit_code == 1
    assert cells(result, "NER")[0] == "20"
    assert "broken_annotation" in result.output


def test_agreement_is_told_by_type(corpus: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    cut = PASSAGE.model_dump()
    cut["entities"], cut["relations"] = cut["entities"][:3], []
    write_corpus(other, [AnnotatedPassage.model_validate(cut | {"id": f"p{n}"}) for n in range(19)])
    result = run("agreement", corpus, other)
    assert result.exit_code == 0
    assert cells(result, "grade") == ["19", "19", "1.000"]
    assert cells(result, "marker") == ["19", "0", "0.000"]
    assert cells(result, "all types") == ["133", "57", "0.600"]
    assert "1 passages only in corpus.jsonl and not compared, for example p19" in result.output


def test_a_split_keeps_reports_together_and_can_be_repeated(corpus: Path, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        result = run("split", corpus, "--output", tmp_path / folder, "--seed", 3)
        assert result.exit_code == 0
    assert "train: 16 passages of 8 reports" in result.output
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert files == ["dev.jsonl", "test.jsonl", "train.jsonl"]
    for name in files:
        content = (tmp_path / "one" / name).read_bytes()
        assert content == (tmp_path / "two" / name).read_bytes()
    parts = [list(read_corpus(tmp_path / "one" / name)) for name in files]
    reports = [{passage.report_id for passage in part} for part in parts]
    assert sum(map(len, reports)) == len(set.union(*reports)) == 10


def test_a_corpus_goes_to_label_studio_and_comes_back(corpus: Path, tmp_path: Path) -> None:
    tasks, back = tmp_path / "tasks.json", tmp_path / "back.jsonl"
    result = run("convert", corpus, tasks, "--to", "label_studio")
    assert result.exit_code == 0
    assert "<View>" in (tmp_path / "tasks.config.xml").read_text("utf-8")
    assert len(json.loads(tasks.read_text("utf-8"))) == 20
    assert run("convert", tasks, back, "--to", "ours", "--from", "label_studio").exit_code == 0
    assert back.read_bytes() == corpus.read_bytes()


def test_labels_are_explained_by_a_file(tmp_path: Path) -> None:
    (tmp_path / "case.txt").write_text("DCIS", "utf-8")
    (tmp_path / "case.ann").write_text("T1\tDx 0 4\tDCIS\n", "utf-8")
    labels, out = tmp_path / "labels.json", tmp_path / "out.jsonl"
    labels.write_text('{"Dx": "diagnosis"}', "utf-8")
    refused = run("convert", tmp_path / "case.ann", out, "--to", "ours")
    assert isinstance(refused.exception, InputError)
    assert not out.exists()
    result = run("convert", tmp_path / "case.ann", out, "--to", "ours", "--labels", labels)
    assert result.exit_code == 0
    (passage,) = read_corpus(out)
    assert passage.content.entities[0].type == "diagnosis"
    labels.write_text("[1]", "utf-8")
    out.unlink()
    broken = run("convert", tmp_path / "case.ann", out, "--to", "ours", "--labels", labels)
    assert "must hold an object" in str(broken.exception)


def test_nothing_is_written_when_nothing_can_be_read(tmp_path: Path) -> None:
    corpus, out = tmp_path / "corpus.jsonl", tmp_path / "out.json"
    corpus.write_text('{"id": "x", "text": "a", "entities": 3}\n', "utf-8")
    out.write_text("precious", "utf-8")
    result = run("convert", corpus, out, "--to", "hare", "--overwrite")
    assert isinstance(result.exception, InputError)
    assert "row 1, line 1" in str(result.exception)
    assert out.read_text("utf-8") == "precious"
