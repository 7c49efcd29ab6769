"""Trust in the words of those who act on it: checks, reasons, what changed, and what to do next.

No number, option or code of the files occurs in them.
"""

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
from histoeval.run.trust.rows import TrustRow, reasons_of

# from these distances on a report changed in part, and in substance, when asked again
PARTLY, CHANGED = 0.2, 0.5
# what earlier versions wrote behind phrases: "adenocarcinoma (0.31)"
_COSINE = re.compile(r" \(-?[01]\.\d+\)")


@cache
def _words() -> Mapping[str, Any]:
    return load_toml("view/trust_words.toml")


def worst_first(row: TrustRow) -> tuple[int, float, int]:
    """Sort key: rejected rows first, then those to review, each by the upper bound of trust."""
    return -ROUTES.index(row.route), row.evidence["trust"]["high"], row.row


class CheckMeaning(NamedTuple):
    name: Dimension
    question: str
    meaning: str


def check_meanings() -> list[CheckMeaning]:
    checks = [(name, _words()["checks"][name]) for name in DIMENSIONS]
    return [CheckMeaning(name, words["question"], words["meaning"]) for name, words in checks]


def verdict_meanings(policy: Policy) -> dict[str, str]:
    words = _words()["verdicts"] if policy.meaning is None else vars(policy.meaning)
    return {name: words[name] for name in reversed(ROUTES)}


class WordedReason(NamedTuple):
    """A reason in a sentence, and in brief to be counted."""

    brief: str
    words: str
    next: str | None = None  # what would mend it


def worded_reasons(row: TrustRow, policy: Policy) -> list[WordedReason]:
    if row.route == "deploy":
        return [_reason("passed")]
    reasons = [worded for reason in reasons_of(row, policy) for worded in _worded(reason, row)]
    return list(dict.fromkeys(reasons)) or [_reason("other")]


def _worded(reason: Reason, row: TrustRow) -> Iterator[WordedReason]:
    if reason.kind == "missing":
        yield from (missing for name in reason.about for missing in missing_words(row, name))
        return
    worded, more = _reason(reason.kind), ""
    if reason.kind == "contradicts_itself" and reason.about:
        more = "{} and {} cannot both be true".format(*reason.about)
    if reason.kind == "image_not_known":
        more = plain_why(row.evidence["grounding"]["why"] or "")
    if more:
        worded = worded._replace(words=f"{worded.words.rstrip('.')}: {more}.")
    for name in reason.about if reason.kind == "below_floor" else ("",):
        yield worded._replace(
            brief=worded.brief.replace("{about}", name), words=worded.words.replace("{about}", name)
        )


def _reason(kind: str) -> WordedReason:
    return WordedReason(**_words()["reasons"][kind])


def missing_words(row: TrustRow, dimension: str) -> list[WordedReason]:
    codes: Mapping[str, Any] = _words()["missing"]
    reasons = []
    for error in row.errors:
        if error.dimension not in (dimension, None):
            continue
        code = error.code if error.code in codes else "failed"
        if error.dimension is None:
            code = "unreadable"
        elif code == "grounding_unknown" and UNKNOWN_IMAGE in error.message:
            code = "unknown_image"
        elif code == "grounding_unknown" and UNKNOWN_CLAIMS in error.message:
            code = "unknown_claims"
        reasons.append(WordedReason(**codes[code]))
    return list(dict.fromkeys(reasons))


def plain_why(why: str) -> str:
    """Return the reason of an image verdict without details that only engineers need."""
    for begins, words in _words()["whys"].items():
        if why.startswith(begins):
            return str(words)
    return _COSINE.sub("", why).replace("the encoder", "the image check")


def found_words(row: TrustRow, dimension: str) -> str:
    words, evidence = _words()["checks"][dimension], row.evidence.get(dimension)
    if evidence is None:
        kind = "none"
    elif dimension == "grounding":
        kind = Grounding.model_validate(evidence).verdict or "not_known"
    elif dimension == "logic":
        likely = [
            contradiction.is_likely
            for contradiction in Logic.model_validate(evidence).contradictions
        ]
        kind = "found" if any(likely) else "doubtful" if likely else "clear"
    else:
        farthest = max(shift.distance for shift in Stability.model_validate(evidence).shifts)
        kind = "changed" if farthest > CHANGED else "partly" if farthest > PARTLY else "same"
    return str(words[kind])


def changes_when_asked_again(evidence: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    if (stability := evidence.get("stability")) is None:
        return
    words = _words()["asked_again"]
    for shift in Stability.model_validate(stability).shifts:
        changes = []
        for change in shift.changed:
            state, colon, changed = change.replace("(absent)", f"({words['absent']})").partition(
                ": "
            )
            is_known = bool(colon) and state in ("new", "gone")
            changes.append(f"{words[state]}{changed}" if is_known else f"{state}{colon}{changed}")
        attack = words[shift.kind]
        if shift.attack not in ("stain", "prompt"):
            attack += f" ({shift.attack.replace('_', ' ')})"
        yield attack, changes or [words["same"]]


class TrustTally:
    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.verdicts: Counter[str] = Counter()
        self._reasons: dict[str, Counter[WordedReason]] = {name: Counter() for name in ROUTES}

    def add(self, row: TrustRow) -> None:
        self.verdicts[row.route] += 1
        briefs = {reason.brief: reason for reason in worded_reasons(row, self.policy)}
        self._reasons[row.route].update(reason._replace(words="") for reason in briefs.values())

    def commonest(self, verdict: str, most: int = 5) -> list[tuple[str, int]]:
        ranked = sorted(
            self._reasons[verdict].items(), key=lambda entry: (-entry[1], entry[0].brief)
        )
        return [(reason.brief, count) for reason, count in ranked[:most]]

    def next_steps(self) -> list[str]:
        words = _words()["next"]
        steps = [
            words[name].replace("{count}", f"{self.verdicts[name]:,}")
            for name in reversed(ROUTES)
            if self.verdicts[name]
        ]
        mending = [reason.next for reason, _ in self._reasons["review"].most_common()]
        return steps + [step for step in dict.fromkeys(mending) if step]
