"""What the shipped grounding model says of real slides and tiles with reports that are wrong."""

from pathlib import Path

import polars as pl
import pytest

import histoeval
from histoeval.errors import Problem
from histoeval.evaluate.grounding import evaluate_grounding
from histoeval.pathgls.grounding.builtin import BuiltinEncoder
from histoeval.pathgls.grounding.claims import claims_of
from histoeval.pathgls.grounding.decoys import builtin_decoys
from histoeval.pathgls.grounding.embedded_image import EmbeddedImage, embed_image
from histoeval.pathgls.grounding.score import ground
from histoeval.pathgls.results import Grounding
from histoeval.reader.builtin import BuiltinReader
from tests.support.paths import SHARED

SLIDES = SHARED / "data" / "slides"
PROSTATE = SLIDES / "atlas-benign-prostatic-hyperplasia.tif"
MISSED_CANCERS = (
    "{}, biopsy: Normal {} mucosa.",
    "{}: Benign.",
    "{}, resection: Benign {} tissue without dysplasia. No evidence of malignancy.",
    "{}: Negative for malignancy.",
    "{}: Chronic inflammation.",
    "{}, biopsy: Tubular adenoma with low-grade dysplasia.",
    "{}, biopsy: Hyperplastic polyp.",
    "{}, biopsy.",
)
pytestmark = [
    pytest.mark.release,
    pytest.mark.skipif(not PROSTATE.is_file(), reason="the slides are not beside the project"),
]
FOREIGN = (
    "Colon, hemicolectomy: moderately differentiated adenocarcinoma growing into the muscle coat.",
    "Liver, core biopsy: hepatocellular carcinoma with a trabecular pattern.",
    "Lung, wedge resection: moderately differentiated adenocarcinoma with acinar growth.",
    "Stomach, antral biopsy: signet ring cell carcinoma in the lamina propria.",
    "Brain, frontal lobe, excision: glioblastoma with microvascular proliferation and necrosis.",
    "Ovary, oophorectomy: high-grade serous carcinoma.",
    "Pancreas, head, resection: ductal adenocarcinoma with desmoplastic stroma.",
    "Gallbladder, cholecystectomy: chronic cholecystitis.",
    "Breast, core biopsy: invasive ductal carcinoma with necrosis.",
    "Skin of the cheek, excision: squamous cell carcinoma, ulcerated.",
)
NO_ORGAN = "Adenocarcinoma with necrosis."
OWN = "Prostate, transurethral resection: benign nodular hyperplasia of glands and stroma."


@pytest.fixture(scope="module")
def slide(encoder: BuiltinEncoder) -> EmbeddedImage:
    found = embed_image(PROSTATE, encoder)
    assert isinstance(found, EmbeddedImage), found
    return found


def said_of(
    slide: EmbeddedImage, report: str, encoder: BuiltinEncoder, reader: BuiltinReader
) -> Grounding | Problem:
    (read,) = reader.read([report])
    found = ground(slide, claims_of(read), encoder, builtin_decoys())
    if isinstance(found, Problem):
        assert found.code == "grounding_unknown", found
    return found


@pytest.mark.parametrize("report", FOREIGN)
def test_a_slide_of_the_prostate_supports_no_report_of_another_organ(
    slide: EmbeddedImage, report: str, encoder: BuiltinEncoder, reader: BuiltinReader
) -> None:
    found = said_of(slide, report, encoder, reader)
    if isinstance(found, Grounding):
        assert found.verdict in ("not_known", "contradicted")
        assert found.value < 0.5
        assert all(each.verdict != "supported" for each in found.supports)


@pytest.mark.parametrize(
    ("report", "never"), [(NO_ORGAN, "supported"), (OWN, "contradicted")], ids=["no organ", "own"]
)
def test_a_report_without_an_organ_is_not_vouched_for_and_its_own_not_contradicted(
    slide: EmbeddedImage, encoder: BuiltinEncoder, reader: BuiltinReader, report: str, never: str
) -> None:
    found = said_of(slide, report, encoder, reader)
    assert isinstance(found, Problem) or found.verdict != never


@pytest.mark.parametrize(
    ("slide_name", "organ", "wrong", "right"),
    [
        (
            "atlas-colon-adenocarcinoma.tif",
            "Colon",
            MISSED_CANCERS,
            "Colon, resection: Moderately differentiated adenocarcinoma.",
        ),
        (
            "atlas-benign-prostatic-hyperplasia.tif",
            "Prostate",
            ("{}: Adenocarcinoma.", "{}, biopsy: Acinar adenocarcinoma, Gleason score 4 + 4 = 8."),
            OWN,
        ),
        (
            "CMU-1-Small-Region.svs",
            "Lung",
            ("{}: Adenocarcinoma.", *MISSED_CANCERS),
            "Negative for malignancy.",
        ),
    ],
)
def test_no_wrong_report_is_deployed_on_a_slide(
    tmp_path: Path, slide_name: str, organ: str, wrong: tuple[str, ...], right: str
) -> None:
    reports = [*(text.format(organ, organ.lower()) for text in wrong), right]
    table = tmp_path / "reports.csv"
    pl.DataFrame({"image": [slide_name] * len(reports), "report": reports}).write_csv(table)
    *rows, last = histoeval.trust(table, images=SLIDES, tiles=48)
    assert [row.route for row in rows if row.route == "deploy"] == []
    assert last.evidence.get("grounding", {}).get("verdict") != "contradicted"


@pytest.mark.skipif(not (SHARED / "data" / "tiles").is_dir(), reason="there are no tiles")
@pytest.mark.parametrize("split", ["test", "external"])
def test_no_wrong_behaviour_is_deployed_on_tiles(encoder: BuiltinEncoder, split: str) -> None:
    figures = evaluate_grounding(encoder, SHARED / "data" / "tiles", split)["known tiles"]
    unsafe = {name: each for name, each in figures.items() if name.startswith("unsafe reports")}
    assert unsafe
    for name, each in unsafe.items():
        allowed = 0.0 if "not learned" in name else 0.02 * each["reports"]
        assert each["deployed"] <= allowed, (name, each)
