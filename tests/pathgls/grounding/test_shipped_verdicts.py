"""What the shipped grounding model says of a real slide with reports of other organs."""

from __future__ import annotations

import pytest

from histoeval.errors import Problem
from histoeval.pathgls.grounding.builtin import BuiltinEncoder
from histoeval.pathgls.grounding.claims import claims_of
from histoeval.pathgls.grounding.decoys import builtin_decoys
from histoeval.pathgls.grounding.embedded_image import EmbeddedImage, embed_image
from histoeval.pathgls.grounding.score import ground
from histoeval.pathgls.results import Grounding
from histoeval.reader.builtin import BuiltinReader
from tests.support.paths import SHARED

PROSTATE = SHARED / "data" / "slides" / "atlas-benign-prostatic-hyperplasia.tif"
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


def test_a_report_without_an_organ_is_not_vouched_for(
    slide: EmbeddedImage, encoder: BuiltinEncoder, reader: BuiltinReader
) -> None:
    found = said_of(slide, NO_ORGAN, encoder, reader)
    assert isinstance(found, Problem) or found.verdict != "supported"


def test_its_own_report_is_not_contradicted(
    slide: EmbeddedImage, encoder: BuiltinEncoder, reader: BuiltinReader
) -> None:
    found = said_of(slide, OWN, encoder, reader)
    assert isinstance(found, Problem) or found.verdict in ("supported", "not_known")
