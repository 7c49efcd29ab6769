"""The findings of a metric on a pair as spans of both texts, alike in terminal, page and notebook.

A place is *matched* where both reports say the same, *omitted* where only the reference says it,
*invented* where only the candidate does, and *contradicted* where the candidate says otherwise.
Matches and errors are numbered as they are listed; a span bears the keys of all that it belongs
to (`m1` is match 1, `e1` error 1), so that both sides can light up together.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from rich.style import Style

from histoeval.concordance.evidence import ErrorKind, Severity
from histoeval.errors import HistoEvalError
from histoeval.metric import Score
from histoeval.report import Entity
from histoeval.view.highlight import HighlightSpan

SPECIMENS = "specimens"  # matches of whole parts, which are shown side by side and not highlighted
SIMILAR = 0.5  # from this similarity on an entity of HARE is shown as matched
MATCH = Style(bgcolor="#56b4e9", color="#000000")
# the worse, the darker, so that the order is visible to every eye; matches are the only blue
SEVERITIES = {
    Severity.MINOR: Style(bgcolor="#f0e442", color="#000000", underline=True),
    Severity.MODERATE: Style(bgcolor="#e69f00", color="#000000", underline=True),
    Severity.MAJOR: Style(bgcolor="#d55e00", color="#000000", underline=True, bold=True),
    Severity.CRITICAL: Style(bgcolor="#882255", color="#ffffff", underline2=True, bold=True),
}
LEFT_OUT = [kind for kind in ErrorKind if kind.look == "omitted"]
# kinds of errors that say what became of a place, also where the other report has a part of it
ADDED = [kind for kind in ErrorKind if kind.look == "invented"]
Side = Literal["reference", "candidate"]
SIDES: tuple[Side, Side] = ("reference", "candidate")


class _Shown(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class ShownMatch(_Shown):
    part: str
    reference: Entity
    candidate: Entity
    similarity: float
    specimen: str = ""

    outcome: ClassVar[str] = "matched"
    rank: ClassVar[int] = 0  # of several at one place an error gives it its style


class ShownError(_Shown):
    kind: str
    part: str
    severity: Severity
    reference: Entity | None
    candidate: Entity | None
    message: str
    specimen: str = ""  # the part of the report that it is of, where there are several
    without: float | None = None  # the score if this error were not counted

    @property
    def marks(self) -> str:
        return "!" * self.severity

    @property
    def outcome(self) -> str:
        if self.reference is None or self.kind in ADDED:
            return "invented"
        return "omitted" if self.candidate is None or self.kind in LEFT_OUT else "contradicted"

    @property
    def rank(self) -> int:
        """The rank by which the worst error gives a span its style."""
        return self.severity

    @property
    def words(self) -> str:
        return self.message.removeprefix(f"{self.kind.replace('_', ' ')}: ")


Listed = tuple[str, str, ShownMatch | ShownError]  # its key, its label, and itself


class Findings(_Shown):
    """Return the matches and errors of a score; None if its metric does not look for them."""

    matches: tuple[ShownMatch, ...] | None = None
    reasoning: str = ""
    errors: tuple[ShownError, ...] | None = None

    @property
    def specimens(self) -> tuple[ShownMatch, ...]:
        return tuple(match for match in self.matches or () if match.part == SPECIMENS)

    @cached_property
    def facts(self) -> tuple[ShownMatch, ...]:
        return tuple(match for match in self.matches or () if match.part != SPECIMENS)

    @cached_property
    def listed(self) -> tuple[Listed, ...]:
        matches = [(f"m{n}", f"={n}", match) for n, match in enumerate(self.facts, start=1)]
        errors = [(f"e{n}", f"{e.marks}{n}", e) for n, e in enumerate(self.errors or (), start=1)]
        return *matches, *errors


def findings_of(score: Score) -> Findings:
    findings = findings_in(score.evidence)
    if findings is None:
        raise HistoEvalError(
            f"the evidence of {score.signature.metric} has a form of its own that cannot be "
            "shown; --json prints it as it is"
        )
    return findings


def findings_in(evidence: Mapping[str, Any]) -> Findings | None:
    """Read findings from evidence; None if it has another form."""
    try:
        findings = Findings.model_validate(evidence)
    except ValidationError:
        return None
    if findings.errors is None:
        return findings
    worst_first = sorted(findings.errors, key=lambda error: -error.severity)
    return findings.model_copy(update={"errors": tuple(worst_first)})


def spans_of(findings: Findings, side: Side, text: str) -> list[HighlightSpan]:
    """Return the spans of one text in the style of the worst error; skip those of other words."""
    places: dict[tuple[int, int], list[Listed]] = {}
    for listed in findings.listed:
        entity = listed[2].reference if side == "reference" else listed[2].candidate
        if entity is not None and text.startswith(entity.text, entity.start):
            places.setdefault((entity.start, entity.end), []).append(listed)
    return [_span(*span, listed) for span, listed in places.items()]


def _span(start: int, end: int, entries: Sequence[Listed]) -> HighlightSpan:
    keys, labels, listed = entries[0]
    if len(entries) > 1:
        keys = " ".join(key for key, _, _ in entries)
        labels = " ".join(label for _, label, _ in entries)
        listed = max((entry for _, _, entry in entries), key=lambda entry: entry.rank)
    style, kind = MATCH, listed.outcome
    if isinstance(listed, ShownError):
        style, kind = SEVERITIES[listed.severity], f"{kind} {listed.severity.name.lower()}"
    return HighlightSpan(start, end, labels, style, kind, mark=keys, rank=listed.rank)


def mention_spans(evidence: Mapping[str, Any]) -> dict[Side, list[HighlightSpan]] | None:
    """Return the spans of HARE's entities, nearest ones with one key; None without entities."""
    mentions = {side: evidence.get(side) for side in SIDES}
    if not all(isinstance(mention, list | tuple) for mention in mentions.values()):
        return None
    keys: dict[str, str] = {}
    return {
        "reference": _mentioned(mentions["reference"], "omitted", keys),
        "candidate": _mentioned(mentions["candidate"], "invented", keys),
    }


def _mentioned(entities: Any, missing: str, keys: dict[str, str]) -> list[HighlightSpan]:
    spans = []
    for entity in entities:
        outcome = missing
        if entity.get("contradicted"):
            outcome = "contradicted"
        elif entity["similarity"] >= SIMILAR:
            outcome = "matched"
        words = sorted(
            {entity["text"].casefold(), entity.get("nearest", entity["text"]).casefold()}
        )
        key = keys.setdefault("\n".join(words), f"m{len(keys) + 1}")
        spans.append(HighlightSpan(entity["start"], entity["end"], kind=outcome, mark=key))
    return spans
