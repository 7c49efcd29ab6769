"""The nouns of trust: what a report claims, and what each dimension found about it.

Each dimension is a value between 0 and 1 with evidence that can be checked. Where it cannot be
measured there is a `Problem` in its place, and never a number.
"""

from typing import Annotated, Literal

from pydantic import Field, FiniteFloat

from histoeval.report import Assertion, EntityType, Noun

Share = Annotated[FiniteFloat, Field(ge=0.0, le=1.0)]
# What an image says of a claim or of a report
GroundingVerdict = Literal["supported", "contradicted", "not_known"]


class ReportSpan(Noun):
    """A stretch of a report: ``text == report.text[start:end]``."""

    text: str
    start: Annotated[int, Field(ge=0)]
    end: int


class Claim(Noun):
    """Something that a report asserts, denies or leaves open, with words for what would be seen."""

    span: ReportSpan
    type: EntityType
    assertion: Assertion
    phrase: str  # short and visual, for an image encoder: "adenocarcinoma of the colon"


class Spot(Noun):
    x: int
    y: int
    width: int
    height: int


class Support(Noun):
    claim: Claim
    cosine: FiniteFloat | None = None
    # Calibrated against decoys; missing where the claim is out of the encoder's scope
    value: Share | None = None
    spot: Spot | None = None
    # Why the claim is out of scope; such claims are not part of the mean
    unknown: str | None = None
    verdict: GroundingVerdict | None = None  # missing where the encoder was never validated
    why: str = ""  # the verdict in plain words
    # Patches that would be enough by themselves for the claim to be supported
    agreeing: Annotated[int, Field(ge=0)] | None = None
    against: Spot | None = None  # where the claim has least support
    decoy: str | None = None  # the claim of another organ or disease that the image supports most


class OrganSeen(Noun):
    likeliest: str
    share: Share  # of the patches, which look most like it
    margin: FiniteFloat  # by how much it stands above the likeliest other organ, in mean cosine
    # The organs that the report names, as far as the encoder can tell them
    claimed: tuple[str, ...] = ()


# `open`: the report leaves it open; `nothing`: it states no diagnosis
StatedBehaviour = Literal["benign", "malignant", "open", "nothing"]
# agreement of image and report on whether the tissue is malignant
CancerVerdict = Literal["agrees", "disagrees", "undecided", "not_checked"]


class CancerCheck(Noun):
    """Benign or malignant: what a report says of its tissue, and whether the image agrees.

    A report that names no malignancy calls its tissue benign, whether it says so or is silent.
    """

    stated: StatedBehaviour
    verdict: CancerVerdict
    why: str


class Grounding(Noun):
    """Equation (1): for every claim the best patch, then the mean over claims."""

    value: Share
    raw: FiniteFloat  # the mean of plain cosines, which cannot be compared between encoders
    patches: Annotated[int, Field(ge=1)]
    supports: tuple[Support, ...]
    # of the report as a whole; None where nobody decided, and the value alone counts
    verdict: GroundingVerdict | None = None
    why: str = ""
    cancer: CancerCheck | None = None  # none in runs of earlier versions, which did not check
    organ: OrganSeen | None = None
    denied: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()
    signature: str
    # What each encoder of a panel found, claim for claim in the same order
    members: tuple["Grounding", ...] = ()

    @property
    def claims_known(self) -> float:
        return sum(support.unknown is None for support in self.supports) / len(self.supports)


class Contradiction(Noun):
    """Two stretches of a report that cannot both be true."""

    first: ReportSpan
    second: ReportSpan
    probability: Share
    source: str  # `nli`, or the rule that found it, such as `rule:side`
    why: str = ""

    @property
    def is_likely(self) -> bool:
        return self.probability > 0.5


class Logic(Noun):
    """Equation (2): 1 minus the mean of the K highest contradiction probabilities."""

    value: Share
    pairs: Annotated[int, Field(ge=0)]  # none where only rules could judge
    top: Annotated[int, Field(ge=0)]  # K: how many pairs were averaged
    # Those of the K that may well be some (a probability above 0.3), the worst first
    contradictions: tuple[Contradiction, ...] = ()
    notes: tuple[str, ...] = ()
    signature: str


class Shift(Noun):
    """Distance that a report moved under one attack, and what of it changed."""

    attack: str  # `stain`, or the name of an adversarial prompt
    kind: Annotated[str, Field(pattern="^(visual|semantic)$")]
    distance: Share
    report: str
    # What was reported before and is not now, or the reverse, human-readable
    changed: tuple[str, ...] = ()


class Stability(Noun):
    """Equation (3): 1 minus the mean of the visual and the semantic distance."""

    value: Share
    shifts: tuple[Shift, ...]
    worst: str  # the attack that moved the report most
    notes: tuple[str, ...] = ()
    signature: str
