"""A grounding with every kind of verdict, as people would have to check it."""

from histoeval.pathgls.results import Claim, Grounding, OrganSeen, ReportSpan, Spot, Support
from histoeval.report import Assertion, EntityType

FOR, AGAINST = Spot(x=1024, y=0, width=224, height=224), Spot(x=0, y=448, width=224, height=224)


def claim_at(start: int, phrase: str) -> Claim:
    span = ReportSpan(text="x", start=start, end=start + 1)
    return Claim(span=span, type=EntityType.FINDING, assertion=Assertion.PRESENT, phrase=phrase)


def judged_grounding() -> Grounding:
    known = {"cosine": 0.3141, "spot": FOR, "against": AGAINST}
    return Grounding(
        value=0.5,
        raw=0.2718,
        patches=337,
        supports=(
            Support(
                claim=claim_at(0, "glands of the prostate"),
                value=0.9,
                verdict="supported",
                why="the tissue looks like prostate",
                agreeing=120,
                decoy="renal tubules",
                **known,
            ),
            Support(
                claim=claim_at(2, "crypts of the <colon>"),
                value=0.1,
                verdict="contradicted",
                why="the image shows <b>renal tubules</b> rather than this",
                agreeing=0,
                decoy="renal tubules",
                **known,
            ),
            Support(claim=claim_at(4, "amyloid"), unknown="never seen", verdict="not_known"),
            Support(claim=claim_at(6, "oedema"), value=0.8, **known),
        ),
        verdict="contradicted",
        why="the tissue looks like prostate & not like colon",
        organ=OrganSeen(likeliest="prostate", share=0.84, margin=0.1, claimed=("colon",)),
        signature="grounding-2|colours@12/onnx|patch=224",
    )
