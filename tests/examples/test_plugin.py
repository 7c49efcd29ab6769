"""The example of a plug-in: installed from its folder by pip, used from the shell and Python."""

import subprocess
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from histoeval import Models, SettingError
from histoeval.metrics import registry
from histoeval.run.models import load_metrics
from tests.support.command import histoeval, python_path
from tests.support.paths import ROOT

FOLDER = ROOT / "examples" / "plugin"
PAIRS = "id,reference,candidate\n1,Left breast carcinoma,left breast benign\n2,ab,cd\n"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that pip has installed the example into, offline, as a user would into Python."""
    for needed in ("pip", "hatchling"):
        if find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed")
    place = tmp_path_factory.mktemp("installed")
    alone = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", "-q", *alone, "--target", place, FOLDER]
    subprocess.run(list(map(str, command)), check=True, timeout=100)
    return place


def test_an_installed_plugin_scores_from_the_command_line(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text(PAIRS, "utf-8")
    ran = histoeval(
        *("score", "pairs.csv", "--metrics", "term_recall:shortest=5,rouge_l"),
        cwd=tmp_path,
        PYTHONPATH=python_path(installed),
    )
    assert ran.code == 1, ran.err
    assert "term_recall:shortest=5     0.5000" in ran.out
    assert "term_recall|shortest:5|near:0.8|histoeval-term-recall:0.1.0|histoeval:" in ran.out
    assert "the reference has no word of 5 letters or more" in " ".join(ran.out.split())


def test_it_is_listed_as_ready_with_the_package_it_is_of(installed: Path, tmp_path: Path) -> None:
    ran = histoeval("metrics", cwd=tmp_path, PYTHONPATH=python_path(installed), COLUMNS="120")
    assert ran.code == 0, ran.err
    (line,) = [line for line in ran.out.splitlines() if line.startswith("term_recall")]
    assert line.split() == "term_recall plug-in of histoeval-term-recall ready".split()


class Letters:
    """An encoder of words by the letters they have."""

    identity = "letters@1"

    def embed(self, words: list[str]) -> Any:
        counts = np.array([[word.count(chr(97 + n)) for n in range(26)] for word in words], float)
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)


@pytest.fixture
def term_recall(monkeypatch: pytest.MonkeyPatch) -> None:
    """The metric of the example under its name, in this process."""
    spec = spec_from_file_location("term_recall", FOLDER / "src" / "histoeval_term_recall.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "term_recall", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(registry, "METRICS", dict(registry.METRICS))
    registry.register("term_recall")(module.TermRecall)


@pytest.mark.usefixtures("term_recall")
def test_its_model_is_optional_and_signed_where_there_is_one() -> None:
    pair = ("adenocarcinoma of colon", "adenocarcinomas of colon")
    (plain,) = load_metrics("term_recall")
    (near,) = load_metrics("term_recall", Models(encoder=Letters()))
    assert plain(*pair).evidence == {"missing": ("adenocarcinoma",)}
    assert near(*pair).value == 1
    assert "encoder:letters@1" in str(near.signature)
    assert "encoder" not in str(plain.signature)


@pytest.mark.usefixtures("term_recall")
def test_its_settings_are_checked() -> None:
    with pytest.raises(SettingError, match="near: input should be less than or equal to 1"):
        load_metrics("term_recall:near=2")
