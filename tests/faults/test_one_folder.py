"""One output folder: one run at a time, one verb, no input lost, and nobody else may read it."""

import json
import os
import stat
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from histoeval.errors import OutputError
from histoeval.io.store import RowStore
from tests.support.command import invoked
from tests.support.fake_server import Loopback
from tests.support.fake_vlm import vision
from tests.support.judge_pairs import make_pair, write_pairs
from tests.support.tables import from_table
from tests.support.trust_runs import painted_folder, quick_instruments

pytestmark = pytest.mark.usefixtures("quick")
__all__ = ["painted_folder", "quick_instruments"]

Command = Callable[..., list[str]]  # the words of a verb, given where it writes


def run(words: list[str]) -> Result:
    return invoked(*words)


@pytest.fixture
def eye() -> Iterator[Loopback]:
    with vision() as server:
        yield server


@pytest.fixture
def commands(folder: Path, loopback: Loopback, eye: Loopback) -> dict[str, Command]:
    """Each verb that writes rows, on an input of its own."""
    pairs = folder / "pairs.csv"
    write_pairs(pairs, [make_pair(number) for number in range(4)])
    reports = folder / "reports.csv"

    def judge(out: Path) -> list[str]:
        asked = ["--endpoint", loopback.url, "--model", "m"]
        return ["judge", str(pairs), *asked, "--output", str(out / "out")]

    def generate(out: Path) -> list[str]:
        asked = ["--endpoint", eye.url, "--model", "eye"]
        return ["generate", str(folder), *asked, "--output", str(out / "out")]

    return {
        "score": lambda out: [
            *["score", str(pairs), "--metrics", "rouge_l", "--output", str(out / "out")]
        ],
        "judge": judge,
        "trust": lambda out: ["trust", "--reports", str(reports), "--output", str(out / "out")],
        "generate": generate,
        "extract": lambda out: ["extract", str(reports), "--output", str(out / "out.jsonl")],
        "perturb": lambda out: [
            *["experiment", "perturb", str(reports), "--output", str(out / "out.jsonl")]
        ],
    }


def study_sheet(folder: Path) -> str:
    lines = [f"{n},yes {n},yes {n % 3},{n % 4}" for n in range(12)]
    sheet = folder / "sheet.csv"
    sheet.write_text("\n".join(["id,reference,candidate,rater", *lines]), "utf-8")
    return str(sheet)


def written(folder: Path) -> dict[str, bytes]:
    """Every file in a folder, by name; costs of requests differ from run to run."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "usage.json"
    }


@pytest.mark.parametrize("verb", ["score", "judge", "trust", "generate", "extract", "perturb"])
def test_a_second_run_into_one_folder_is_refused_and_the_first_is_whole(
    verb: str, commands: dict[str, Command], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone, shared = tmp_path / "alone", tmp_path / "shared"
    assert run(commands[verb](alone)).exit_code in (0, 1)
    write = RowStore.write
    second: list[Any] = []

    def interrupted(store: RowStore[Any], rows: Any) -> None:
        if not second:
            second.append(None)
            second[0] = run(commands[verb](shared))
        write(store, rows)

    monkeypatch.setattr(RowStore, "write", interrupted)
    assert run(commands[verb](shared)).exit_code in (0, 1)
    (refused,) = second
    assert refused.exit_code != 0
    assert isinstance(refused.exception, OutputError)
    assert "is being written by another run (process " in str(refused.exception)
    assert written(shared) == written(alone)


@pytest.mark.parametrize(
    ("verb", "place"),
    [
        ("judge", "histoeval.run.judge.write_json"),
        ("trust", "histoeval.view.html.trust.write_text"),
        ("generate", "histoeval.run.generate.write_whole"),
    ],
)
def test_the_files_that_come_last_are_written_under_the_same_lock(
    verb: str,
    place: str,
    commands: dict[str, Command],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module, _, name = place.rpartition(".")
    home = import_module(module)
    write, seen = getattr(home, name), []

    def watched(*arguments: Any) -> Any:
        seen.append((tmp_path / "out" / ".lock").exists())
        return write(*arguments)

    monkeypatch.setattr(home, name, watched)
    run(commands[verb](tmp_path))
    assert seen
    assert all(seen)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        *(("score", second) for second in ("trust", "generate", "judge")),
        *(("trust", second) for second in ("score", "generate", "judge")),
        *((first, second) for first in ("generate", "judge") for second in ("trust", "score")),
    ],
)
def test_no_verb_replaces_the_results_of_another(
    first: str, second: str, commands: dict[str, Command], tmp_path: Path
) -> None:
    run(commands[first](tmp_path))
    before = written(tmp_path / "out")
    refused = run(commands[second](tmp_path))
    assert isinstance(refused.exception, OutputError)
    assert "give another --output, or --overwrite" in str(refused.exception)
    assert written(tmp_path / "out") == before
    assert run(commands[first](tmp_path)).exit_code in (0, 1)  # and the first one still resumes
    assert written(tmp_path / "out") == before


def test_with_overwrite_the_other_verb_is_gone_for_good(
    commands: dict[str, Command], tmp_path: Path
) -> None:
    run(commands["trust"](tmp_path))
    assert run([*commands["score"](tmp_path), "--overwrite"]).exit_code == 0
    names = {path.name for path in (tmp_path / "out").iterdir() if path.is_file()}
    assert names == {"run.json", "scores.jsonl", "texts.jsonl", "summary.json"}


def test_a_study_does_not_replace_the_page_of_trust_and_a_comparison_lies_beside_scores(
    commands: dict[str, Command], folder: Path, tmp_path: Path
) -> None:
    run(commands["trust"](tmp_path))
    before = written(tmp_path / "out")
    sheet = study_sheet(folder)
    study = ["agree", sheet, "--metrics", "rouge_l", "--output", str(tmp_path / "out")]
    refused = run(study)
    assert "holds the results of `histoeval trust`" in str(refused.exception)
    assert written(tmp_path / "out") == before
    run([*commands["score"](tmp_path), "--overwrite"])
    scores, other = tmp_path / "out", tmp_path / "other.jsonl"
    rows = (scores / "scores.jsonl").read_text("utf-8")
    other.write_text(rows.replace('"system":"candidate"', '"system":"other"'), "utf-8")
    compared = run(["compare", str(scores), str(other), "--output", str(scores)])
    assert compared.exit_code == 0, compared.output
    assert run(commands["score"](tmp_path)).exit_code == 0


@pytest.mark.parametrize("link", [None, os.symlink, os.link])
@from_table
def test_an_input_is_never_deleted_or_replaced(
    words: list[str],
    name: str,
    link: Callable[[Path, Path], None] | None,
    loopback: Loopback,
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    given = home / name if link is None else tmp_path / f"given{Path(name).suffix}"
    columns = ("reference", "candidate", "report", "premise", "hypothesis", "text")
    record: dict[str, Any] = {"id": "1", "entities": []} | dict.fromkeys(columns, "Benign.")
    if words[0] == "agree":
        record = {"id": "1", "reference": "Benign.", "candidate": "Benign.", "rater": 1}
    content = json.dumps(record) if name.endswith("jsonl") else json.dumps([record])
    given.write_text(content, "utf-8")
    if link is not None:
        link(given, home / name)
    places = {"INPUT": given, "FOLDER": home, "OUT": home / name, "URL": loopback.url}
    result = run([str(places.get(word, word)) for word in [*words, "--overwrite"]])
    assert isinstance(result.exception, OutputError), result.output
    assert "is an input of this run" in str(result.exception)
    assert given.read_text("utf-8") == content
    assert [path.name for path in home.iterdir() if path.suffix != ".lock"] == [name]


def test_an_existing_file_is_converted_over_only_when_that_is_wanted(tmp_path: Path) -> None:
    corpus, out = tmp_path / "corpus.jsonl", tmp_path / "out.json"
    corpus.write_text('{"id": "1", "text": "Benign.", "entities": []}\n', "utf-8")
    out.write_text("precious", "utf-8")
    words = ["corpus", "convert", str(corpus), str(out), "--to", "hare"]
    assert "exists; give another name, or --overwrite" in str(run(words).exception)
    assert out.read_text("utf-8") == "precious"
    assert run([*words, "--overwrite"]).exit_code == 0
    assert out.read_text("utf-8") != "precious"


def test_a_document_of_a_folder_is_an_input_too(tmp_path: Path) -> None:
    (tmp_path / "case.txt").write_text("DCIS", "utf-8")
    (tmp_path / "case.ann").write_text("T1\tdiagnosis 0 4\tDCIS\n", "utf-8")
    words = ["corpus", "convert", str(tmp_path), str(tmp_path / "case.txt"), "--to", "ours"]
    assert "is an input of this run" in str(run([*words, "--overwrite"]).exception)
    assert (tmp_path / "case.txt").read_text("utf-8") == "DCIS"


def test_scores_that_a_study_is_given_are_not_scored_over(folder: Path, tmp_path: Path) -> None:
    sheet = study_sheet(folder)
    scores = tmp_path / "study" / "scores"
    run(["score", sheet, "--metrics", "rouge_l", "--output", str(scores)])
    before = written(scores)
    study = ["agree", sheet, "--scores", str(scores), "--metrics", "rouge_l,chrf"]
    refused = run([*study, "--output", str(tmp_path / "study"), "--overwrite"])
    assert "is an input of this run" in str(refused.exception)
    assert written(scores) == before


@pytest.mark.parametrize("verb", ["score", "judge", "trust", "generate", "extract", "perturb"])
def test_results_are_for_their_owner_only(
    verb: str, commands: dict[str, Command], tmp_path: Path
) -> None:
    before = os.umask(0)
    try:
        run(commands[verb](tmp_path / "new" / "place"))
    finally:
        os.umask(before)
    found = [tmp_path / "new", *(tmp_path / "new").rglob("*")]
    assert len(found) > 2
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in found if path.name != ".lock"}
    expected = {path.name: 0o700 if path.is_dir() else 0o600 for path in found}
    assert modes == {name: expected[name] for name in modes}


def test_pages_corpora_and_comparisons_are_for_their_owner_only(
    commands: dict[str, Command], tmp_path: Path
) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"id": "1", "text": "Benign.", "entities": []}\n', "utf-8")
    before = os.umask(0)
    try:
        run(["corpus", "convert", str(corpus), str(tmp_path / "c.json"), "--to", "label_studio"])
        run(["corpus", "split", str(corpus), "--output", str(tmp_path / "parts")])
        run(commands["score"](tmp_path))
        scores = str(tmp_path / "out" / "scores.jsonl")
        run(["compare", scores, scores, "--output", str(tmp_path / "compared")])
    finally:
        os.umask(before)
    files = [tmp_path / "c.json", tmp_path / "c.config.xml", *(tmp_path / "parts").iterdir()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert stat.S_IMODE((tmp_path / "parts").stat().st_mode) == 0o700


def test_a_folder_that_exists_keeps_its_mode_and_sharing_can_be_asked_for(
    commands: dict[str, Command], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out").chmod(0o770)
    monkeypatch.setenv("HISTOEVAL_SHARED_FILES", "1")
    before = os.umask(0o007)
    try:
        run(commands["score"](tmp_path))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o770
    assert stat.S_IMODE((tmp_path / "out" / "scores.jsonl").stat().st_mode) == 0o660
    assert stat.S_IMODE((tmp_path / "out" / "summary.json").stat().st_mode) == 0o660
