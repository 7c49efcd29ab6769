"""A verb that is given a folder of another kind says what it is, and which verb reads it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from histoeval import HistoEvalError
from histoeval.cli.main import app
from histoeval.io.folder_kinds import FOLDER_KINDS, SCORE_CACHE, folder_kind
from histoeval.web.app import create_app as serve_app

KINDS = {kind.name: kind for kind in (*FOLDER_KINDS, SCORE_CACHE)}

SCORED = {"score", "judge"}
REPORTED = {*SCORED, "trust", "agree", "compare", "experiment"}
READ = {"challenge"}
"""A challenge has texts for people in it, which can be read as reports."""

VERBS: dict[str, tuple[str, set[str]]] = {
    "score": ("score F", set()),
    "explain": ("explain F --id a", SCORED),
    "judge": ("judge file F --endpoint http://localhost:9/v1 --model m", set()),
    "judge align": ("judge align F ratings.csv", SCORED),
    "agree": ("agree F", set()),
    "agree scores": ("agree sheet.csv --scores F", SCORED),
    "ablate": ("ablate F", set()),
    "trust": ("trust --reports F --output out", READ),
    "generate": ("generate F --output out --endpoint http://localhost:9/v1 --model m", {"tiles"}),
    "extract": ("extract F", READ),
    "entail": ("entail F --output out.jsonl", set()),
    "study": ("study status F", set()),
    "study init": ("study init F --rater a", set()),
    "challenge": ("challenge check F team.json", {"challenge"}),
    "challenge team": ("challenge check task F", READ),
    "report": ("report F", REPORTED),
    "compare": ("compare F F", SCORED),
    "runs show": ("runs show F", {*REPORTED, "generate", "ranking"}),
    "log": ("log F --to inspect", {*SCORED, "trust"}),
    "experiment": ("experiment hierarchy F --output out", {"experiment", "trust"}),
    "corpus": ("corpus stats F", {"corpus"}),
    "slide": ("slide info F", set()),
    "evaluate": ("evaluate probes F", set()),
}
"""Each verb as it is called with a folder F, and the kinds of folders that it reads."""


def made(folder: Path, kind: str) -> Path:
    """A folder of a kind: the file by which it is known."""
    if kind == SCORE_CACHE.name:
        folder = folder / "scores" / "pairs-0123456789ab"
        folder.mkdir(parents=True)
        (folder / "scores.jsonl").write_text("{}\n", "utf-8")
        return folder
    folder.mkdir()
    (folder / KINDS[kind].files[0].replace("*", "a")).write_text("{}\n", "utf-8")
    return folder


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("ratings.csv", "sheet.csv"):
        Path(name).write_text("id,reference,candidate,score\na,x,y,1\n", "utf-8")
    Path("team.json").write_text(json.dumps([{"id": "a", "report": "x"}]), "utf-8")
    CliRunner().invoke(app, ["challenge", "init", "task", "--truth", "team.json"])
    return tmp_path


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_is_known_by_its_files(kind: str, desk: Path) -> None:
    assert folder_kind(made(desk / "it", kind)) == KINDS[kind]


@pytest.mark.parametrize(
    "verb", [pytest.param(v, marks=pytest.mark.heavy) if v == "log" else v for v in VERBS]
)
def test_a_folder_is_named_with_the_verb_that_reads_it(verb: str, desk: Path) -> None:
    line, own = VERBS[verb]
    for kind in sorted(KINDS.keys() - own):
        folder = made(Path(kind.replace(" ", "_")), kind)
        result = CliRunner().invoke(app, [str(folder) if w == "F" else w for w in line.split()])
        assert isinstance(result.exception, HistoEvalError), (kind, result.output)
        told = [KINDS[kind].describe(place) for place in (folder, folder.resolve())]
        assert any(each in str(result.exception) for each in told), (kind, result.exception)


@pytest.mark.parametrize("kind", ["study", "challenge", "score cache"])
def test_a_folder_without_runs_is_not_served_or_listed_as_one(kind: str, desk: Path) -> None:
    folder = made(desk / "it", kind)
    told = KINDS[kind].describe(folder)
    assert told in CliRunner().invoke(app, ["runs", "list", str(folder)]).output
    with pytest.raises(HistoEvalError, match="the folder that holds your runs") as refused:
        serve_app(folder, token="t")
    assert told in str(refused.value)
