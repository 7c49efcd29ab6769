"""Trust in the words of those who act on it: checks, reasons, what changed, and what to do next.

No number, option or code of the files occurs in them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from histoeval.pathgls.fusion import ROUTES, Reason
from histoeval.pathgls.grounding.score import UNKNOWN_CLAIMS, UNKNOWN_IMAGE
from histoeval.pathgls.policy.policy import DIMENSIONS, Dimension, Policy
from histoeval.pathgls.results import Grounding, Logic, Stability
from histoeval.resources import load_toml
from histoeval.run.trust.rows import MissingReason, TrustRow, reasons_of

PARTLY, CHANGED = 0.2, 0.5
"""From these distances on a report changed in part, and in substance, when asked again."""

_COSINE = re.compile(r" \(-?[01]\.\d+\)")
"""What earlier versions wrote behind phrases: "adenocarcinoma (0.31)"."""


@cache
def _words() -> Mapping[str, Any]:
    return load_toml("view/trust_words.toml")


def worst_first(row: TrustRow) -> tuple[int, float, int]:
    """Sorts rejected rows first, then those to review; of each the lowest upper bound of trust."""
    return -ROUTES.index(row.route), row.evidence["trust"]["high"], row.row


class CheckMeaning(NamedTuple):
    """What a dimension asks, and how it finds out."""

    name: Dimension
    question: str
    meaning: str


def check_meanings() -> list[CheckMeaning]:
    """A paragraph on each dimension."""
    checks = _words()["checks"]
    return [
        CheckMeaning(name, checks[name]["question"], checks[name]["meaning"]) for name in DIMENSIONS
    ]


def verdict_meanings(policy: Policy) -> dict[str, str]:
    """What each verdict means in a policy, the gravest first."""
    own = policy.meaning
    usual = _words()["verdicts"]
    return {name: usual[name] if own is None else getattr(own, name) for name in reversed(ROUTES)}


class WordedReason(NamedTuple):
    """A reason in a sentence, and in brief to be counted."""

    brief: str
    words: str
    next: str | None = None
    """What would mend it."""


def worded_reasons(row: TrustRow, policy: Policy) -> list[WordedReason]:
    """Why a report has its verdict, the gravest first; never nothing."""
    if row.route == "deploy":
        return [_reason("passed")]
    reasons = [each for reason in reasons_of(row, policy) for each in _worded(reason, row)]
    return list(dict.fromkeys(reasons)) or [_reason("other")]


def _worded(reason: Reason, row: TrustRow) -> Iterator[WordedReason]:
    if reason.kind == "missing":
        yield from (missing for name in reason.about for missing in missing_words(row, name))
        return
    worded = _reason(reason.kind)
    if reason.kind == "contradicts_itself" and reason.about:
        one, other = reason.about
        words = f"{worded.words.rstrip('.')}: {one} and {other} cannot both be true."
        worded = worded._replace(words=words)
    if reason.kind == "image_not_known" and (why := row.evidence["grounding"]["why"]):
        worded = worded._replace(words=f"{worded.words.rstrip('.')}: {plain_why(why)}.")
    about = reason.about if reason.kind == "below_floor" else ("",)
    for name in about:
        yield worded._replace(
            brief=worded.brief.replace("{about}", name), words=worded.words.replace("{about}", name)
        )


def _reason(kind: str) -> WordedReason:
    return WordedReason(**_words()["reasons"][kind])


def missing_words(row: TrustRow, dimension: str) -> list[WordedReason]:
    """Why a dimension of a report was not measured."""
    errors = [error for error in row.errors if error.dimension in (dimension, None)]
    return list(dict.fromkeys(_missing(error) for error in errors))


def _missing(error: MissingReason) -> WordedReason:
    codes: Mapping[str, Any] = _words()["missing"]
    if error.dimension is None:
        return WordedReason(**codes["unreadable"])
    if error.code == "grounding_unknown" and UNKNOWN_IMAGE in error.message:
        return WordedReason(**codes["unknown_image"])
    if error.code == "grounding_unknown" and UNKNOWN_CLAIMS in error.message:
        return WordedReason(**codes["unknown_claims"])
    return WordedReason(**codes.get(error.code, codes["failed"]))


def plain_why(why: str) -> str:
    """Why the image says what it says, as the files have it, without what only engineers need."""
    for begins, words in _words()["whys"].items():
        if why.startswith(begins):
            return str(words)
    return _COSINE.sub("", why).replace("the encoder", "the image check")


def found_words(row: TrustRow, dimension: str) -> str:
    """What a check found, in a few words."""
    words, evidence = _words()["checks"][dimension], row.evidence.get(dimension)
    if evidence is None:
        kind = "none"
    elif dimension == "grounding":
        kind = Grounding.model_validate(evidence).verdict or "not_known"
    elif dimension == "logic":
        likely = [each.is_likely for each in Logic.model_validate(evidence).contradictions]
        kind = "found" if any(likely) else "doubtful" if likely else "clear"
    else:
        farthest = max(shift.distance for shift in Stability.model_validate(evidence).shifts)
        kind = "changed" if farthest > CHANGED else "partly" if farthest > PARTLY else "same"
    return str(words[kind])


def changes_when_asked_again(evidence: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Under what the model was asked again, and what changed in its report."""
    stability = evidence.get("stability")
    if stability is None:
        return
    words = _words()["asked_again"]

    def worded(change: str) -> str:
        change = change.replace("(absent)", f"({words['absent']})")
        for name in ("new", "gone"):
            if change.startswith(f"{name}: "):
                return f"{words[name]}{change.removeprefix(f'{name}: ')}"
        return change

    for shift in Stability.model_validate(stability).shifts:
        asked = words[shift.kind]
        if shift.attack not in ("stain", "prompt"):
            asked += f" ({shift.attack.replace('_', ' ')})"
        yield asked, [worded(change) for change in shift.changed] or [words["same"]]


class TrustTally:
    """Counts verdicts and their reasons while reports are read."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.verdicts: Counter[str] = Counter()
        self._reasons: dict[str, Counter[WordedReason]] = {name: Counter() for name in ROUTES}

    def add(self, row: TrustRow) -> None:
        self.verdicts[row.route] += 1
        briefs = {each.brief: each for each in worded_reasons(row, self.policy)}
        self._reasons[row.route].update(each._replace(words="") for each in briefs.values())

    def commonest(self, verdict: str, most: int = 5) -> list[tuple[str, int]]:
        """The reasons for a verdict, in brief, with the number of reports."""
        ranked = sorted(self._reasons[verdict].items(), key=lambda each: (-each[1], each[0].brief))
        return [(reason.brief, count) for reason, count in ranked[:most]]

    def next_steps(self) -> list[str]:
        """What to do with the reports of each verdict, and what would mend reasons for review."""
        words = _words()["next"]
        steps = [
            words[name].replace("{count}", f"{self.verdicts[name]:,}")
            for name in reversed(ROUTES)
            if self.verdicts[name]
        ]
        mending = [reason.next for reason, _ in self._reasons["review"].most_common()]
        return steps + [each for each in dict.fromkeys(mending) if each]
