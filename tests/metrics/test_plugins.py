"""A broken plug-in is named with its reason, and nothing else suffers from it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from histoeval import list_metrics, load
from histoeval.errors import SettingError
from histoeval.metrics.registry import installed_plug_ins
from histoeval.run.doctor import metric_details, metric_states, plug_in_problems
from tests.support.command import histoeval, python_path

MODULE = """
import histoeval
from histoeval.metrics.base import PairMetric

class Fine(PairMetric):
    def score_pair(self, reference, candidate):
        return histoeval.Score(value=1, signature=self.signature)

class Unfinished(PairMetric):
    pass

class Nothing:
    pass

class Raises(Fine):
    def unavailable_reason(self):
        raise RuntimeError("no idea")

number = 5
"""
POINTS = {
    "fine": "odd_plugin:Fine",
    "spaced": "odd_plugin : Fine",
    "absent": "no_such_module:Metric",
    "misspelt": "odd_plugin:Fien",
    "exits": "exiting_plugin:Metric",
    "number": "odd_plugin:number",
    "unfinished": "odd_plugin:Unfinished",
    "nothing": "odd_plugin:Nothing",
    "raises": "odd_plugin:Raises",
    "bleu": "odd_plugin:Fine",
    "no_class": "odd_plugin",
    "no module": "odd_plugin:Fine",
    "syntax": "odd plugin;;",
}
REASONS = {
    "absent": "ModuleNotFoundError: No module named 'no_such_module'",
    "misspelt": "AttributeError: module 'odd_plugin' has no attribute 'Fien'",
    "exits": "SystemExit: bye",
    "number": "TypeError: 5 is not a callable object",
    "unfinished": "TypeError: Can't instantiate abstract class Unfinished",
    "nothing": "is not a metric: it needs `name` and `score(pairs)`",
    "raises": "RuntimeError: no idea",
    "bleu": "is ignored: a metric of histoeval has that name; rename the entry point",
    "no_class": "is ignored: its entry point must be of the form module:Class",
    "no module": "is ignored: a name has no colon, comma, equals sign or space",
    "syntax": "is ignored: its entry point must be of the form module:Class, and is 'odd plugin;;'",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    (folder / "odd_plugin.py").write_text(MODULE, "utf-8")
    (folder / "exiting_plugin.py").write_text("raise SystemExit('bye')", "utf-8")
    for package, points in {"odd-plugin": POINTS, "second": {"fine": "odd_plugin:Fine"}}.items():
        about = folder / f"{package.replace('-', '_')}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [f"{name} = {target}" for name, target in points.items()]
        (about / "entry_points.txt").write_text("\n".join(["[histoeval.metrics]", *lines]))
    return folder


@pytest.fixture
def _installed(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(place))
    installed_plug_ins.cache_clear()
    yield
    installed_plug_ins.cache_clear()


@pytest.mark.usefixtures("_installed")
def test_good_ones_work_beside_broken_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "odd_plugin", raising=False)
    names = [metric.name for metric in list_metrics()]
    assert {"fine", "spaced", "absent", "raises"} <= set(names)
    assert not {"no_class", "no module", "syntax"} & set(names)
    assert "odd_plugin" not in sys.modules, "to list is not to import"
    with pytest.warns(UserWarning, match="is skipped") as warned:
        runnable = {metric.name for metric in list_metrics(runnable=True)}
    assert {"fine", *REASONS} & runnable == {"fine", "bleu"}
    skipped = " ".join(str(warning.message) for warning in warned)
    assert all(f"{name!r} is skipped" in skipped for name in ("absent", "number", "raises"))
    assert load("fine")("a", "b").value == load("spaced")("a", "b").value == 1
    assert float(load("bleu")("a b c d", "a b c d")) > 99
    with pytest.raises(SettingError, match=r"the metric 'nothing' cannot be used: .* is not a"):
        load("nothing")
    with pytest.raises(SettingError, match="'absent', a plug-in of odd-plugin, cannot be loaded"):
        load("absent")


@pytest.mark.usefixtures("_installed")
def test_every_broken_one_is_named_with_its_reason() -> None:
    problems = plug_in_problems()
    for name, reason in REASONS.items():
        (line,) = [each for each in problems if f"metric {name!r}" in each]
        assert reason in line, line
    assert sum("'fine'" in each and "has one of that name" in each for each in problems) == 1
    assert len(problems) == len(REASONS) + 1
    states = {each.name: each.state for each in metric_states()}
    assert states["fine"] == "ready"
    assert {name for name, state in states.items() if state == "broken"} == {
        *("absent", "misspelt", "exits", "number", "unfinished", "nothing", "raises")
    }
    assert metric_details("raises") == (
        None,
        "the metric 'raises' is broken: RuntimeError: no idea",
    )


@pytest.mark.parametrize("verb", ["metrics", "doctor"])
def test_the_commands_that_look_around_name_them(verb: str, place: Path, tmp_path: Path) -> None:
    ran = histoeval(verb, cwd=tmp_path, PYTHONPATH=python_path(place))
    assert ran.code == 0, ran.err
    out = " ".join(ran.out.split())
    assert "The metric 'bleu' of odd-plugin is ignored: a metric of histoeval has that name" in out
    assert "The metric 'absent', a plug-in of odd-plugin, cannot be loaded" in out
    assert not ran.err


def test_scoring_does_not_notice_them(place: Path, tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("reference,candidate\na b,a b\n", "utf-8")
    command = ("score", "pairs.csv", "--metrics", "rouge_l")
    ran = histoeval(*command, cwd=tmp_path, PYTHONPATH=python_path(place))
    assert (ran.code, ran.err) == (0, "")
