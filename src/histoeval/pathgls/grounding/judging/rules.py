"""Verdicts on claims and reports: the organ first, then benign or malignant, then the rest."""

from collections.abc import Sequence

from histoeval.pathgls.grounding.decisions import OrganMargin
from histoeval.pathgls.grounding.decoys import calibrated
from histoeval.pathgls.grounding.judging.limits import ClaimLimits, Judgement, Limits
from histoeval.pathgls.results import GroundingVerdict
from histoeval.report import EntityType

UNSUPPORTED = 0.49
"""What a lesion without an organ, or a report that is not supported, is worth at most."""
_HALF = 0.5


def gated(value: float, organ: float) -> float:
    """The value of a claim: its own where its organ is supported, else no more than that has."""
    return value if organ >= _HALF else min(value, organ)


def judge_organ(margin: OrganMargin, limits: Limits) -> Judgement:
    """An organ that stands so far above all that are unlike it."""
    own = limits[EntityType.SITE]
    verdict = own.verdict(margin.plain)
    if verdict == "supported":
        verdict = own.verdict(margin.less)
        verdict = "not_known" if verdict == "contradicted" else verdict
    return Judgement(calibrated(margin.less, own.curve), verdict)


def weighed(value: float, behaviour: float) -> float:
    """The value of a claim: its own where its behaviour is likely, else less in proportion."""
    return value * min(1.0, behaviour / _HALF)


def judge_lesion(
    stands: float,
    limits: ClaimLimits,
    organs: Sequence[Judgement],
    behaviour: Judgement | None = None,
) -> Judgement:
    """A diagnosis or finding that stands so far above decoys, in a report that names some organs.

    It is worth no more than the least likely of these. Without any it may be of anybody: nothing
    supports it, and it is worth less than one half. Nor is it supported where the image looks too
    little like the behaviour that it has, if that was judged.
    """
    value, verdict = calibrated(stands, limits.curve), limits.verdict(stands)
    if not organs:
        return Judgement(
            min(value, UNSUPPORTED), "not_known" if verdict == "supported" else verdict
        )
    organ = min(organs, key=lambda each: each.value)
    value = gated(value, organ.value)
    verdict = verdict if organ.verdict == "supported" else organ.verdict
    if behaviour is None:
        return Judgement(value, verdict)
    value = weighed(value, behaviour.value)
    if behaviour.verdict == "contradicted":
        return Judgement(value, "contradicted")
    return Judgement(value, "not_known" if verdict == "supported" and value < _HALF else verdict)


def judge_report(
    sites: Sequence[Judgement],
    lesions: Sequence[Judgement | None],
    whole: Judgement | None,
    specimens: Sequence[Judgement],
    *,
    is_confirmed: bool,
) -> GroundingVerdict:
    """A report, by its claims, by all organs that it names together, and by each of them.

    A lesion that the encoder does not know is None. The organ alone supports no report: one of the
    lesions must be supported, and a report that names no malignancy must be confirmed as benign.
    """
    claims = [*sites, *(each for each in lesions if each is not None)]
    verdicts = [each.verdict for each in claims]
    if "contradicted" in verdicts or (whole is not None and whole.verdict == "contradicted"):
        return "contradicted"
    if whole is None or not is_confirmed or any(each.verdict != "supported" for each in specimens):
        return "not_known"
    value = sum(each.value for each in claims) / max(1, len(claims))
    decisive = [each and each.verdict for each in lesions]
    return "supported" if value >= _HALF and "supported" in decisive else "not_known"
