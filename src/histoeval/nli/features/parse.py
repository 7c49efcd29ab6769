"""Parses premise and hypothesis into comparable facts."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from histoeval.terms.assertion import denies, has_cue, is_denied
from histoeval.terms.findings import find_findings
from histoeval.terms.lexicon import Lexicon
from histoeval.terms.naming import find_diagnoses
from histoeval.terms.sites import find_operated, find_sites, organ_of
from histoeval.terms.values import grades, marker_results, stages
from histoeval.terms.values.counts import CountRange, counts
from histoeval.terms.values.laterality import Side, side_of
from histoeval.terms.values.markers import find_markers
from histoeval.terms.values.nodes import read_nodes
from histoeval.terms.values.quantities import Quantity, quantities

# Word lists; all texts are in lower case
CUES, PAIRS = (
    Lexicon(
        f"nli/features/data/{name}.toml", before="(?<![a-z0-9-])", after="(?![a-z0-9])", flags=0
    )
    for name in ("cues", "pairs")
)

_CLAUSES = re.compile(
    r"[.;:\n](?=\s|$)|\s-\s|,\s|\b(?:but|whereas|while|although)\b", re.IGNORECASE
)
_LISTED = re.compile(r",\s|;|\s(?:and|but|while|or)\s")
_LEADS = re.compile(r"\b(?:positive|negative|reactive|stain\w*|express\w*) (?:for )?\S+,")
# Parts whose degree is no grade of the tumour
_OTHER_PARTS = frozenset({"mitoses", "necrosis", "pattern"})
_WORD = re.compile(r"[a-z][a-z0-9-]{2,}")
_AT = re.compile(r"\b(?:(?P<clock>\d{1,2}) ?o'clock|at (?P<deep>\d{1,2}) ?cm\b)")
_ASSERTION = ("denied", "doubt", "past")
_MAX_CHARS = 600  # characters of a text that are read


@dataclass(frozen=True, slots=True)
class Statements:
    """Statements of a text, as far as its terms are known."""

    text: str
    words: frozenset[str]
    sides: frozenset[tuple[Side, str | None]]
    grades: tuple[tuple[grades.Grade, bool], ...]  # grades, each with whether it is denied
    stages: tuple[stages.Stage, ...]
    markers: tuple[tuple[str, marker_results.Result | None], ...]
    diagnoses: frozenset[tuple[str, bool]]  # diagnoses by id, each with whether it is denied
    findings: frozenset[tuple[str, bool]]
    sites: frozenset[str]
    quantities: tuple[Quantity, ...]
    counts: tuple[CountRange, ...]
    labels: frozenset[str]
    places: frozenset[str]
    contrasts: tuple[frozenset[int], ...]  # for each row of opposites, which of them it has
    bare: bool  # true if it has hardly more than a diagnosis
    nodes: bool | None  # true if lymph nodes are involved, where that is given
    components: frozenset[str]  # what a grade may be of besides the tumour

    def has(self, cue: str) -> bool:
        """True if it denies, doubts or tells of the past, or has a word of `cues.toml`."""
        return _has(self.text, cue)

    def has_word(self, group: str, name: str) -> bool:
        return PAIRS.has(self.text, group, name)

    @property
    def is_pathology(self) -> bool:
        stained = any(result is not None for _, result in self.markers)
        return stained or self.has("pathology")


_NONE: frozenset[Any] = frozenset()
# Of an empty text, for which no catalogue has to be loaded
NOTHING = Statements(
    "", _NONE, _NONE, (), (), (), _NONE, _NONE, _NONE, (), (), _NONE, _NONE, (),
    bare=False, nodes=None, components=_NONE,
)  # fmt: skip


@lru_cache(maxsize=1 << 12)  # a premise is read with every statement of the other report
def _has(text: str, cue: str) -> bool:
    return has_cue(cue, text) if cue in _ASSERTION else CUES.has(text, cue)


@lru_cache(maxsize=1 << 9)  # of the few reports of a block
def statements(text: str) -> Statements:
    text = text[:_MAX_CHARS]
    lowered = text.lower()
    clauses = [part.strip() for part in _CLAUSES.split(text) if part and part.strip()]
    whole = [part.strip() for part in re.split(r"[.;\n](?=\s|$)", text) if part.strip()]
    diagnoses = find_diagnoses(text)
    left = text
    for match in sorted((*diagnoses, *find_sites(text)), key=lambda match: -match.start):
        left = left[: match.start] + " " + left[match.end :]
    common_words = PAIRS.ids("reading", "stop_words") | PAIRS.ids("reading", "plain_words")
    staged = stages.read_stage(text)
    involved = {staged.n[0] != "0"} if staged and staged.n and staged.n[0] != "x" else set[bool]()
    involved |= {
        node.options == {"involved"} for node in read_nodes(text) if len(node.options) == 1
    }
    return Statements(
        text=lowered,
        words=frozenset(_WORD.findall(lowered)) - PAIRS.ids("reading", "stop_words"),
        sides=frozenset(_sides(clauses, whole)),
        grades=tuple(
            (grade, denies(part))
            for part in clauses
            if (grade := grades.read_grade(part)) and grade.part not in _OTHER_PARTS
        ),
        stages=tuple(s for part in whole if (s := stages.read_stage(part))),
        markers=tuple(dict.fromkeys(_markers(whole))),
        diagnoses=frozenset(
            (match.id, is_denied(part, match.start, match.end))
            for part in whole
            for match in find_diagnoses(part)
        ),
        findings=frozenset(
            (finding.id, finding.denied or is_denied(part, finding.start, finding.end))
            for part in whole
            for finding in find_findings(part)
        ),
        sites=frozenset(match.id for match in (*find_sites(text), *find_operated(text))),
        quantities=quantities(text),
        counts=counts(text),
        labels=frozenset(_labels(lowered)),
        places=frozenset(_words("places").findall(lowered)),
        contrasts=contrasts_in(lowered),
        bare=bool(diagnoses) and set(_WORD.findall(left.lower())) <= common_words,
        nodes=involved.pop() if len(involved) == 1 else None,
        components=frozenset(_words("components").findall(lowered)),
    )


@cache
def _words(name: str) -> re.Pattern[str]:
    words = "|".join(PAIRS.entry("reading", name))
    forms = {
        "components": words,
        "places": rf"\b({words})\b",
        "numbered": rf"\b({words})s?\s+([a-z]?\d{{1,2}}|[ivx]{{1,4}}[ab]?|[a-h])\b",
    }
    return re.compile(forms[name])


def _labels(lowered: str) -> Iterator[str]:
    """Parts by their names, and places by the clock or by how far in they lie."""
    yield from (" ".join(match) for match in _words("numbered").findall(lowered))
    for match in _AT.finditer(lowered):
        yield f"clock {match['clock']}" if match["clock"] else f"at {match['deep']}"


def _organs(text: str) -> Iterator[str]:
    for match in (*find_sites(text), *find_operated(text)):
        yield organ_of(match.id)


def _sides(clauses: Iterable[str], whole: Iterable[str]) -> Iterator[tuple[Side, str | None]]:
    """Sides with the organ of their clause, else of their sentence."""
    for part in clauses:
        if side := side_of(part):
            home = next(_organs(part), None)
            sentence = next((text for text in whole if part in text), part)
            yield side, home or next(_organs(sentence), None)


def _markers(whole: Iterable[str]) -> Iterator[tuple[str, marker_results.Result | None]]:
    """Markers with their results; one without a result has that of the list it stands in."""
    for sentence in whole:
        pieces = [piece for piece in _LISTED.split(sentence) if piece and piece.strip()]
        markers = [find_markers(piece) for piece in pieces]
        read = [
            marker_results.read_result(piece, marks[0]) if marks else None
            for piece, marks in zip(pieces, markers, strict=True)
        ]
        led = _LEADS.search(sentence.lower()) is not None
        for index, marks in enumerate(markers):
            own = read[index]
            if own is None:
                near = reversed(read[:index]) if led else iter(read[index:])
                own = next((result for result in near if result), None)
            yield from ((marker, own) for marker in marks)


# One for all: an empty set takes as much memory as one of four
_NO_WORDS: frozenset[int] = frozenset()


@cache
def _contrasts() -> tuple[tuple[re.Pattern[str], ...], ...]:
    return tuple(tuple(map(CUES.any_of, row)) for row in CUES.entry("contrasts"))


def contrasts_in(text: str) -> tuple[frozenset[int], ...]:
    """For each row of opposites, which of them a text has."""
    return tuple(
        frozenset(place for place, word in enumerate(row) if word.search(text)) or _NO_WORDS
        for row in _contrasts()
    )


@cache
def scenes() -> tuple[tuple[str, re.Pattern[str], re.Pattern[str]], ...]:
    """Ways and times of examination, each as a pair of patterns that are not the same."""
    return tuple(
        (name, PAIRS.any_of(first), PAIRS.any_of(second))
        for name, (first, second) in PAIRS.entry("scenes").items()
    )
