"""Several encoders as a panel: each grounds by itself, and the majority of those that know decides.

A panel never takes the best of several opinions, which would vouch for more than each of its
encoders does. A claim reaches a value, or a verdict, only where more than half of the encoders that
know it reach it; two encoders must agree. Who knows a claim and cannot decide has a vote, which is
neither for it nor against it: otherwise each further encoder would be one more chance to vouch.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from histoeval.errors import Problem
from histoeval.pathgls.grounding.score import UNKNOWN
from histoeval.pathgls.results import (
    CancerCheck,
    Grounding,
    GroundingVerdict,
    OrganSeen,
    Support,
)

SPLIT = "the encoders do not agree whether the tissue looks malignant"


class Opinion(NamedTuple):
    """What one encoder of a panel found."""

    encoder: str
    """Its identity."""
    found: Grounding | Problem


def majority_value(values: Sequence[float | None]) -> float | None:
    """The highest value that more than half of those that have one reach.

    So the panel is at or above any threshold exactly where a majority is. None where nobody knows.
    """
    known = sorted((value for value in values if value is not None), reverse=True)
    return known[len(known) // 2] if known else None


def majority_verdict(verdicts: Sequence[GroundingVerdict | None]) -> GroundingVerdict | None:
    """The verdict of more than half of those that have a vote, else `not_known`.

    Who does not know the claim, or was never validated, has None here and no vote. None where
    nobody has one.
    """
    votes = Counter(verdict for verdict in verdicts if verdict is not None)
    if not votes:
        return None
    verdict, count = votes.most_common(1)[0]
    return verdict if count > votes.total() / 2 else "not_known"


def combine(opinions: Sequence[Opinion]) -> Grounding | Problem:
    """What a panel found: each claim by the majority of the encoders that know it.

    The grounding of every encoder is kept beside it. Encoders that could not ground the report at
    all have no vote, and notes say why. Where none could, that is the problem of the panel.
    """
    if not opinions:
        raise ValueError("a panel needs an encoder")
    members = tuple(each.found for each in opinions if isinstance(each.found, Grounding))
    if not members:
        return _problem(opinions)
    supports = tuple(_combined(each) for each in zip(*(m.supports for m in members), strict=True))
    values = [support.value for support in supports if support.value is not None]
    if not values:
        return Problem(UNKNOWN, "no claim is known to any encoder of the panel")
    signatures = "|".join(
        f"[{found.signature if isinstance(found, Grounding) else f'{encoder}|no vote'}]"
        for encoder, found in opinions
    )
    verdicts = [member.verdict for member in members]
    verdict = majority_verdict(verdicts)
    return Grounding(
        value=float(np.mean(values)),
        raw=float(np.mean([member.raw for member in members])),
        patches=min(member.patches for member in members),
        supports=supports,
        verdict=verdict,
        why=_tally(verdicts, verdict),
        cancer=_cancer([member.cancer for member in members if member.cancer is not None]),
        organ=_organ([member.organ for member in members if member.organ is not None]),
        denied=members[0].denied,
        notes=tuple(_notes(opinions, supports)),
        signature=f"panel-1|majority|{signatures}",
        members=members,
    )


def panel_identity(encoders: Sequence[str]) -> str:
    """One encoder by its identity, several by all of theirs."""
    return encoders[0] if len(encoders) == 1 else f"panel({' + '.join(encoders)})"


def _combined(supports: tuple[Support, ...]) -> Support:
    """One claim: value and verdict of the majority.

    What can be checked on the image is that of the encoder whose value decides.
    """
    value = majority_value([support.value for support in supports])
    if value is None:
        reasons = dict.fromkeys(each.unknown for each in supports if each.unknown is not None)
        unknown = "; ".join(reasons) or None
        was_judged = any(support.verdict is not None for support in supports)
        return Support(
            claim=supports[0].claim,
            unknown=unknown,
            verdict="not_known" if was_judged else None,
            why=unknown or "",
        )
    votes = [None if support.value is None else support.verdict for support in supports]
    verdict = majority_verdict(votes)
    deciding = next(support for support in supports if support.value == value)
    changes = {"cosine": None, "verdict": verdict, "why": _tally(votes, verdict)}
    return deciding.model_copy(update=changes)


def _tally(votes: Sequence[GroundingVerdict | None], verdict: GroundingVerdict | None) -> str:
    """How the encoders voted, in plain words; nothing where none was validated."""
    if verdict is None:
        return ""
    count = Counter(vote for vote in votes if vote is not None)
    return (
        f"of {count.total()} encoders with a vote {count['supported']} support it, "
        f"{count['contradicted']} contradict it, {count['not_known']} cannot tell"
    )


def _cancer(checks: Sequence[CancerCheck]) -> CancerCheck | None:
    """The check that most of the encoders that can tell agree on."""
    votes = [check for check in checks if check.verdict != "not_checked"]
    if not votes:
        return next(iter(checks), None)
    verdict, count = Counter(check.verdict for check in votes).most_common(1)[0]
    if count <= len(votes) / 2:
        return votes[0].model_copy(update={"verdict": "undecided", "why": SPLIT})
    return next(check for check in votes if check.verdict == verdict)


def _organ(seen: Sequence[OrganSeen]) -> OrganSeen | None:
    """The organ that most encoders see, as the first of them does; none where they disagree."""
    votes = Counter(organ.likeliest for organ in seen)
    return next((organ for organ in seen if votes[organ.likeliest] > len(seen) / 2), None)


def _notes(opinions: Sequence[Opinion], supports: Sequence[Support]) -> Iterator[str]:
    """What each encoder noted or why it has no vote, and how many votes the claims had."""
    organs = {}
    for encoder, found in opinions:
        name = encoder.partition("@")[0]
        if isinstance(found, Problem):
            yield f"{name} has no vote: {found.message}"
            continue
        yield from (f"{name}: {note}" for note in found.notes)
        if found.organ is not None:
            organs[encoder] = found.organ.likeliest
    if len(set(organs.values())) > 1:
        listed = ", ".join(f"{name.partition('@')[0]} {organ}" for name, organ in organs.items())
        yield f"the encoders do not see the same organ: {listed}"
    if lost := sum(support.value is None for support in supports):
        yield f"{lost} of {len(supports)} claims are not known to any encoder of the panel"


def _problem(opinions: Sequence[Opinion]) -> Problem:
    """What kept all encoders from grounding: said once where it is the same for all."""
    problems = [(name, found) for name, found in opinions if isinstance(found, Problem)]
    if len({problem for _, problem in problems}) == 1:
        return problems[0][1]
    codes = {problem.code for _, problem in problems}
    reasons = "; ".join(f"{name.partition('@')[0]}: {each.message}" for name, each in problems)
    return Problem(codes.pop() if len(codes) == 1 else UNKNOWN, reasons)
