"""GeoJSON as QuPath reads it: closed polygons in pixels, types, classes and measurements."""

import json
from pathlib import Path
from uuid import UUID

import pytest
from PIL import Image

from histoeval.run.trust.rows import FinishedTrust
from histoeval.view.image_evidence import geojson, grounding_of, objects
from tests.support.painted_slides import stained
from tests.support.slide_runs import write_slide_run


@pytest.fixture
def run(tmp_path: Path) -> FinishedTrust:
    image = tmp_path / "one.png"
    Image.fromarray(stained(448, 672)).save(image)
    return FinishedTrust(write_slide_run(tmp_path / "run", image, (672, 448)))


def features(run: FinishedTrust) -> list[dict[str, object]]:
    row = run.row(1)
    text = geojson(objects(row.id, grounding_of(row.evidence), run.scores(1)))
    content = json.loads(text)
    assert content["type"] == "FeatureCollection"
    found: list[dict[str, object]] = content["features"]
    return found


def test_every_object_is_a_closed_polygon_with_an_id_of_its_own(run: FinishedTrust) -> None:
    found = features(run)
    assert len({str(UUID(str(each["id"]))) for each in found}) == len(found)
    for each in found:
        assert each["type"] == "Feature"
        geometry = each["geometry"]
        assert isinstance(geometry, dict)
        assert geometry["type"] == "Polygon"
        (ring,) = geometry["coordinates"]
        assert ring[0] == ring[-1]
        assert len(ring) == 5
        xs, ys = {x for x, _ in ring}, {y for _, y in ring}
        assert max(xs) - min(xs) == max(ys) - min(ys) == 224
        assert min(xs) >= 0
        assert max(xs) <= 672


def test_claims_are_annotations_and_patches_are_tiles(run: FinishedTrust) -> None:
    found = [each["properties"] for each in features(run)]
    notes = [each for each in found if each["objectType"] == "annotation"]  # type: ignore[index]
    tiles = [each for each in found if each["objectType"] == "tile"]  # type: ignore[index]
    assert len(notes) == 4
    assert len(tiles) == 6
    assert notes[0] == {
        "objectType": "annotation",
        "name": "claim 1, basal cell carcinoma of the skin: best tile for it",
        "classification": {"name": "claim supported", "color": [0, 114, 178]},
        "measurements": {"support (0 to 1)": 0.9},
        "metadata": {
            "report": "basal cell carcinoma",
            "verdict": "supported",
            "reason": "stands out from claims of other organs and diseases",
        },
        "isLocked": True,
    }
    assert notes[1]["classification"]["name"] == "tile against a claim"  # type: ignore[index]
    assert tiles[0]["measurements"] == {  # type: ignore[index]
        "claim 1, basal cell carcinoma of the skin": 0.1,
        "claim 2, ulceration of the skin": 0.6,
    }


def test_the_same_evidence_gives_the_same_text_and_none_gives_no_object(run: FinishedTrust) -> None:
    assert features(run) == features(run)
    assert objects("x", None, None) == []
    assert json.loads(geojson([])) == {"type": "FeatureCollection", "features": []}
