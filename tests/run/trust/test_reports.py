"""Trust in one line of Python."""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

pytest.importorskip("openslide")

from histoeval.api import trust as trust_reports
from histoeval.errors import InputError, MissingDependency, ModelError, OutputError, SettingError
from histoeval.nli.entailer import Entailment, NliPair
from histoeval.pathgls.grounding.encoder import Vectors
from histoeval.run.models import Models
from histoeval.run.settings import TrustOptions
from histoeval.run.trust import reports as verdicts
from histoeval.run.trust.setup import tiles_of, top_of
from tests.support.colour_encoder import CautiousEncoder, ColourEncoder
from tests.support.trust_runs import (
    ROWS,
    painted_folder,  # noqa: F401
    quick_instruments,  # noqa: F401
)

pytestmark = pytest.mark.usefixtures("quick")


def raising(error: Exception) -> Mock:
    return Mock(side_effect=error)


def test_records_are_judged_in_memory(folder: Path) -> None:
    found = trust_reports(ROWS, images=folder)
    assert len(found) == 2
    assert [row.id for row in found] == ["steady", "torn <b>"]
    assert all(row.trust is not None for row in found)
    assert not (folder / "evidence").exists()
    assert "2 reports" in repr(found)


def test_a_frame_is_judged_as_the_table_is(folder: Path) -> None:
    polars = pytest.importorskip("polars")
    by_file = trust_reports(folder / "reports.csv", output=folder / "out", pictures=False)
    by_frame = trust_reports(polars.DataFrame(ROWS), images=folder)
    assert list(by_frame) == list(by_file)


@pytest.mark.parametrize("overwrite", [False, True])
def test_images_among_the_evidence_stay(folder: Path, *, overwrite: bool) -> None:
    image = folder / "out" / "evidence" / "00002_image.png"
    image.parent.mkdir(parents=True)
    image.write_bytes((folder / "one.png").read_bytes())
    before = image.read_bytes()
    with pytest.raises(OutputError, match="00002_image"):
        trust_reports(
            [ROWS[0] | {"image": image.name}],
            images=image.parent,
            output=folder / "out",
            overwrite=overwrite,
        )
    assert image.read_bytes() == before


def test_instruments_can_be_given_as_objects(folder: Path) -> None:
    class Alarmed:
        identity = "alarmed"

        def judge(self, pairs: list[NliPair]) -> list[Entailment]:
            return [Entailment(0.0, 0.1, 0.9) for _ in pairs]

    (calm, _) = trust_reports(ROWS, images=folder)
    (row, _) = trust_reports(ROWS, images=folder, options=TrustOptions(nli=Alarmed()))
    assert row.logic is not None
    assert calm.logic is not None
    assert row.logic < calm.logic
    assert "alarmed" in row.evidence["logic"]["signature"]


def test_a_shared_image_is_looked_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    from histoeval.pathgls.grounding.embedded_image import embed_image as look

    def counted(path: Path, *rest: Any, **named: Any) -> Any:
        looked.append(path.name)
        return look(path, *rest, **named)

    monkeypatch.setattr(verdicts, "embed_image", counted)
    again = [*ROWS, {**ROWS[1], "id": "again", "image": "one.png"}]
    found = trust_reports(again, images=folder)
    assert looked == ["one.png", "two.png"]
    assert [row.grounding is None for row in found] == [False, False, False]


def test_a_dimension_that_breaks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "logic_of", raising(RuntimeError("out of luck")))
    (row, _) = trust_reports(ROWS, images=folder)
    assert row.logic is None
    assert row.errors[0].message == "RuntimeError: out of luck"
    assert row.grounding is not None
    assert row.stability is not None
    assert row.route != "deploy"


def test_data_of_another_kind_is_refused() -> None:
    with pytest.raises(InputError):
        trust_reports([{"colour": "blue"}])


def test_a_missing_named_encoder_stops(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("histoeval.run.trust.setup.open_panel", raising(ModelError("no model")))
    with pytest.raises(ModelError):
        trust_reports(ROWS, images=folder, options=TrustOptions(encoder="nowhere"))


def test_a_missing_shipped_encoder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = raising(MissingDependency("no encoder of its own"))
    monkeypatch.setattr("histoeval.run.trust.setup.open_panel", missing)
    (row, _) = trust_reports(ROWS, images=folder)
    assert [(error.dimension, error.code) for error in row.errors] == [("grounding", "no_encoder")]
    with pytest.raises(MissingDependency):
        trust_reports(ROWS, images=folder, options=TrustOptions(encoder="plip"))


def test_k_and_tiles_are_read_as_people_write_them() -> None:
    assert top_of("3").of(100) == 3
    assert top_of("0.3").of(100) == top_of("30%").of(100) == 30
    assert [top_of("0.3,3").of(pairs) for pairs in (2, 7, 100)] == [1, 3, 3]
    for wrong in ("3,4", "0.3,0.4", ",", "1.5", "-1", "nan"):
        with pytest.raises(SettingError):
            top_of(wrong)
    assert tiles_of("all") is None
    assert tiles_of("64") == 64


def test_a_report_in_another_language_has_no_trust_unless_asked(folder: Path) -> None:
    german = {**ROWS[0], "report": "Haut: Basalzellkarzinom. Kein Nachweis von Metastasen."}
    (refused,) = trust_reports([german], images=folder)
    assert refused.trust is None
    assert [error.code for error in refused.errors] == ["not_english"]
    (read,) = trust_reports([german], images=folder, models=Models(language="any"))
    assert "not_english" not in [error.code for error in read.errors]


def test_a_panel_needs_the_majority_and_shows_each_of_its_encoders(folder: Path) -> None:
    class Blind(CautiousEncoder):
        identity = "blind-1"

        def unknown_images(self, vectors: Vectors) -> list[str | None]:
            return ["never seen"] * len(vectors)

    class Hasty(ColourEncoder):
        identity = "hasty-1"

    panel = [ColourEncoder(), Hasty(), Blind()]
    (row, _) = found = trust_reports(ROWS, images=folder, encoder=panel)
    grounding = row.evidence["grounding"]
    assert len(grounding["members"]) == 2
    assert grounding["signature"].startswith("panel-1|majority|[grounding-2|colours-1")
    assert "[blind-1|no vote]" in grounding["signature"]
    assert any(note.startswith("blind-1 has no vote: the image") for note in grounding["notes"])
    (alone, _) = trust_reports(ROWS, images=folder, encoder=ColourEncoder())
    assert row.grounding == pytest.approx(alone.grounding)
    assert found.summary["encoder"] == "panel(colours-1 + hasty-1 + blind-1)"
    with pytest.raises(SettingError, match="all by name or all as objects"):
        trust_reports(ROWS, images=folder, encoder=[ColourEncoder(), "plip"])
