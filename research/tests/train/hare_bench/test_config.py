"""Settings of the bench: defaults of the paper, examples, and names of encoders."""

from pathlib import Path
from typing import Any

import pytest

from histoeval.errors import SettingError
from histoeval.io.settings_files import read_settings
from histoeval_research.train.aligner.config import AlignerSettings
from histoeval_research.train.concordance.train import ConcordanceSettings
from histoeval_research.train.grounding.config import GroundingSettings
from histoeval_research.train.hare_bench.config import NerSettings, RelationSettings, SelectSettings
from histoeval_research.train.nli.config import NliSettings
from histoeval_research.train.reader.config import ReaderSettings
from tests.support.paths import EXAMPLES

EXAMPLES = EXAMPLES / "train"


@pytest.mark.parametrize(
    ("name", "kind", "given"),
    [
        ("ner", NerSettings, ("encoder", "train", "dev")),
        ("relations", RelationSettings, ("encoder", "train", "dev")),
        ("select", SelectSettings, ("encoders", "train", "dev")),
    ],
)
def test_the_examples_say_what_is_so_anyway(
    name: str,
    kind: type[NerSettings] | type[RelationSettings] | type[SelectSettings],
    given: tuple[str, ...],
) -> None:
    settings = read_settings(EXAMPLES / f"{name}.yaml", kind)
    assert settings == kind.model_validate({field: getattr(settings, field) for field in given})
    assert settings.train == EXAMPLES / "train.jsonl"


def test_the_defaults_are_those_of_the_paper() -> None:
    least = RelationSettings(encoder="e", train=Path("t"), dev=Path("d"))
    assert (least.rate, least.batch, least.epochs, least.tokens) == (5e-5, 4, 2, 512)
    assert (least.negatives, least.test_negatives, least.types) == (1, 3, "all")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("aligner", AlignerSettings),
        ("concordance", ConcordanceSettings),
        ("grounding", GroundingSettings),
        ("nli", NliSettings),
        ("reader", ReaderSettings),
        ("reader_small", ReaderSettings),
    ],
)
def test_the_examples_of_other_models_can_be_read(name: str, kind: type[Any]) -> None:
    assert isinstance(read_settings(EXAMPLES / f"{name}.yaml", kind), kind)


def selection(folder: Path, encoders: str, *overrides: str) -> SelectSettings:
    file = folder / "select.yaml"
    file.write_text(f"train: t\ndev: d\nencoders: {encoders}\n", "utf-8")
    return read_settings(file, SelectSettings, overrides)


def test_encoders_may_be_a_list_and_are_named_by_their_last_part(tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    found = selection(tmp_path, "[owner/large, small]")
    assert found.encoders == {"large": "owner/large", "small": str(tmp_path / "small")}


@pytest.mark.parametrize("encoders", ["[a/one, b/one]", "{a/b: c}", "{..: c}", "[]", "3"])
def test_encoders_without_a_name_of_their_own_are_refused(tmp_path: Path, encoders: str) -> None:
    with pytest.raises(SettingError, match=r"select\.yaml: encoders"):
        selection(tmp_path, encoders)


def test_a_seed_cannot_count_twice(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="names a seed twice"):
        selection(tmp_path, "[a]", "seeds=[1, 2, 1]")
