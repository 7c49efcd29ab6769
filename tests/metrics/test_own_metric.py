"""A metric of one's own: the example of docs/python.md runs, in Python and on the command line."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import histoeval
from histoeval.errors import SettingError
from histoeval.metric import Score
from histoeval.metrics import registry
from histoeval.metrics.base import PairMetric
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "python.md").read_text("utf-8")
SECTION = PAGE.partition("## A metric of your own")[2].partition("\n## ")[0]
EXAMPLE, POINTS = (
    re.findall(rf"^```{kind}\n(.*?)^```", SECTION, re.MULTILINE | re.DOTALL)[0]
    for kind in ("python", "toml")
)
TEXTS = {
    "reference": "Left breast: carcinoma.",
    "candidate": "Left breast: benign.",
    "references": ["Left breast: carcinoma.", "Colon: adenoma."],
    "candidates": ["Left breast: benign.", "Colon: adenoma."],
}


@pytest.fixture(autouse=True)
def _registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "METRICS", dict(registry.METRICS))


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    found: dict[str, Any] = dict(TEXTS)
    exec(EXAMPLE, found)
    assert capsys.readouterr().out.startswith("shared_words = 0.667 (0 to 1) shared_words|shortest")
    results = histoeval.score(TEXTS["references"], TEXTS["candidates"], metrics="shared_words,bleu")
    assert results.rows[1].scores["shared_words"].value == 1.0
    assert results.rows[0].scores["shared_words"].evidence == {"missing": ("carcinoma.",)}


def test_the_example_runs_on_the_command_line_by_its_entry_point(tmp_path: Path) -> None:
    body = EXAMPLE.replace('@histoeval.register("shared_words")\n', "").partition("\n\n\nshared")[0]
    (tmp_path / "my_metrics.py").write_text(body, "utf-8")
    package = tmp_path / "my_metrics-0.1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: my-metrics\nVersion: 0.1.0\n")
    (group, name) = re.findall(r'entry-points\."(.*?)"\]\n(\w+ = ".*?")', POINTS)[0]
    (package / "entry_points.txt").write_text(f"[{group}]\n{name}\n".replace('"', ""))
    (tmp_path / "pairs.csv").write_text("id,reference,candidate\n1,left breast,left colon\n")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); "
        "sys.argv = ['histoeval', 'score', 'pairs.csv', '--metrics', 'shared_words:shortest=2']; "
        "from histoeval.cli.main import main; main()"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"shared_words:shortest=2 +0\.5000", ran.stdout)
    assert "shared_words|shortest:2|histoeval:" in ran.stdout


class Forgetful(PairMetric):
    shortest: int = 3

    def score_pair(self, reference: str, candidate: str) -> Score:
        return Score(value=0.5)  # type: ignore[call-arg]


class Infinite(PairMetric):
    def score_pair(self, reference: str, candidate: str) -> Score:
        return Score(value=float("inf"), signature=self.signature)


class Other(BaseModel):
    grade: int


class Misread(PairMetric):
    def score_pair(self, reference: str, candidate: str) -> Score:
        grade = Other.model_validate({"grade": "three"}).grade
        return Score(value=grade, signature=self.signature)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (Forgetful, "Score was made without 'signature': pass signature=self.signature"),
        (Infinite, "'value' of Score is inf: input should be a finite number"),
        (Misread, "'grade' of Other is 'three': input should be a valid integer, unable to parse"),
    ],
)
def test_what_a_metric_did_wrong_is_said_in_words(metric: type[PairMetric], message: str) -> None:
    results = histoeval.score("a b", "a b", metrics=[metric(name="mine"), "bleu"])
    (error,) = results.rows[0].errors
    assert error.message.startswith(message)
    assert "pydantic" not in error.message
    assert "mine failed on 1: " in repr(results)


def test_a_setting_that_is_no_field_is_refused_in_words() -> None:
    registry.register("mine")(Forgetful)
    with pytest.raises(SettingError, match="there is no setting 'longest'"):
        histoeval.load("mine", longest=3)
