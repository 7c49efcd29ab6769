"""Parts of one report matched with those of the other, and what each report says of them."""

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from histoeval.facts.specimens.clauses import clauses_about, prose_specimens
from histoeval.facts.specimens.divide import specimens_of_text
from histoeval.facts.specimens.places import Clause, Gazetteer
from histoeval.facts.specimens.text import Span, SpecimenText, outside, superseded
from histoeval.terms.plain import words_of

_SAME_LABEL, _SAME_WORDS = 0.1, 0.15
_MATCHED = 0.28  # how alike two parts must be to be one
# How many words two parts must share to be one whose places have no word in common
_SAME_CONTENT = 0.35
# Below these, neither the place of a part is named in prose nor what it holds
_NEAR, _SOME = 0.2, 0.4
# How much of what one part says stands elsewhere, where the other report divides otherwise
_COVERED, _WHOLLY_COVERED = 0.5, 0.75


@dataclass(frozen=True, slots=True)
class SpecimenSide:
    name: str
    spans: tuple[Span, ...]  # where it speaks of it, or may; empty where it does not
    sure: tuple[Span, ...]  # where it plainly speaks of it and of no other
    heading: str = ""
    absent: bool = False  # neither its place nor what it holds is anywhere in the report
    # Where the report has its place on the other side of the body
    other_side: tuple[Span, ...] = ()

    @property
    def known(self) -> bool:
        return bool(self.spans)


NOWHERE = SpecimenSide("", (), (), absent=True)


@dataclass(frozen=True, slots=True)
class SpecimenPair:
    """A specimen in the reference and in the candidate."""

    reference: SpecimenSide
    candidate: SpecimenSide
    swapped: bool = False  # what the candidate says of it stands with another

    @property
    def name(self) -> str:
        return self.reference.name or self.candidate.name


@dataclass(frozen=True, slots=True)
class MatchedSpecimens:
    pairs: tuple[SpecimenPair, ...]
    divided: bool  # both reports are written part by part, so that each fact stands in its part
    reference_common: tuple[Span, ...] = ()
    candidate_common: tuple[Span, ...] = ()


@lru_cache(maxsize=512)
def match_specimens(reference: str, candidate: str) -> MatchedSpecimens | None:
    """The parts of two reports by label, site, side, procedure and words; None for one part.

    Where only one report is written part by part, the clauses of the other are looked through for
    the places of these parts.
    """
    ref, cand = specimens_of_text(reference), specimens_of_text(candidate)
    if ref and cand and (both := _both_divided(reference, candidate, ref, cand)):
        return both
    if ref:
        sides, rest = sides_in_prose(ref, reference, candidate)
        pairs = zip(_own(ref, reference), sides, strict=True)
        common = _common(ref, reference), rest
    elif cand:
        sides, rest = sides_in_prose(cand, candidate, reference)
        pairs = zip(sides, _own(cand, candidate), strict=True)
        common = rest, _common(cand, candidate)
    else:
        return None
    return MatchedSpecimens(tuple(SpecimenPair(*pair) for pair in pairs), False, *common)


def _both_divided(
    reference: str, candidate: str, ref: Sequence[SpecimenText], cand: Sequence[SpecimenText]
) -> MatchedSpecimens | None:
    """Both part by part; None where one divides finer than the other."""
    ref_places, cand_places = Gazetteer.of(ref), Gazetteer.of(cand)
    matched = _assigned(reference, candidate, ref, cand, ref_places, cand_places)
    ref, cand = _with_places(ref, reference, ref_places), _with_places(cand, candidate, cand_places)
    ref_sides, cand_sides = _own(ref, reference), _own(cand, candidate)
    left = [i for i in range(len(ref)) if i not in matched]
    extra = [j for j in range(len(cand)) if j not in matched.values()]
    # Headings without labels may leave out what stands under them, and stands elsewhere
    for others, text, parts, own_text, alone in (
        (cand, candidate, ref, reference, left),
        (ref, reference, cand, candidate, extra),
    ):
        words = {word.plain for word in words_of(text)} if alone and not others[0].label else set()
        if words and any(_covered(own_text, parts[i], words) >= _WHOLLY_COVERED for i in alone):
            return None
    if _speaks_of(ref_places, left, ref, reference, candidate, cand):
        return None
    if _speaks_of(cand_places, extra, cand, candidate, reference, ref):
        return None
    pairs = [
        SpecimenPair(side, cand_sides[matched[i]] if i in matched else NOWHERE)
        for i, side in enumerate(ref_sides)
    ]
    pairs += [SpecimenPair(NOWHERE, cand_sides[j]) for j in extra]
    return MatchedSpecimens(tuple(pairs), True, _common(ref, reference), _common(cand, candidate))


def _with_places(parts: Sequence[SpecimenText], text: str, places: Gazetteer) -> list[SpecimenText]:
    """Parts with what stands outside of them and names the place of one of them."""
    spans_of = {index: list(part.spans) for index, part in enumerate(parts)}
    for start, end in _common(parts, text):
        for clause in clauses_about(text[start:end], places):
            if clause.clear and len(clause.about) == 1:
                spans_of[next(iter(clause.about))].append(
                    (start + clause.start, start + clause.end)
                )
    return [replace(part, spans=tuple(spans_of[i])) for i, part in enumerate(parts)]


def _assigned(
    reference: str,
    candidate: str,
    ref: Sequence[SpecimenText],
    cand: Sequence[SpecimenText],
    ref_places: Gazetteer,
    cand_places: Gazetteer,
) -> dict[int, int]:
    words = [_words(reference, part) for part in ref]
    others = [_words(candidate, part) for part in cand]

    def overlap(i: int, j: int) -> float:
        return len(words[i] & others[j]) / max(1, len(words[i] | others[j]))

    alike = np.array(
        [
            [
                (
                    ref_places.likeness(i, cand_places.places[j])
                    + cand_places.likeness(j, ref_places.places[i])
                )
                / 2
                + _SAME_LABEL * (bool(ref_part.tag) and ref_part.tag == cand_part.tag)
                + _SAME_WORDS * overlap(i, j)
                for j, cand_part in enumerate(cand)
            ]
            for i, ref_part in enumerate(ref)
        ]
    )
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(alike, maximize=True)
    pairs = {int(i): int(j) for i, j in zip(rows, columns, strict=True)}
    sure = {i: j for i, j in pairs.items() if alike[i, j] >= _MATCHED}
    sure |= {i: j for i, j in pairs.items() if i not in sure and overlap(i, j) >= _SAME_CONTENT}
    return sure | {  # of a part without a heading, there is only the label
        i: j
        for i, ref_part in enumerate(ref)
        for j, cand_part in enumerate(cand)
        if i not in sure and j not in sure.values()
        if ref_part.tag
        and ref_part.tag == cand_part.tag
        and not (ref_part.heading and cand_part.heading)
    }


def _words(text: str, part: SpecimenText) -> frozenset[str]:
    return frozenset(word.plain for start, end in part.spans for word in words_of(text[start:end]))


def _speaks_of(
    places: Gazetteer,
    missing: Sequence[int],
    parts: Sequence[SpecimenText],
    own: str,
    text: str,
    others: Sequence[SpecimenText],
) -> bool:
    """True if a text names the place of a part that it lacks, and says something of what is there.

    Then it has what is in that part under the heading of another.
    """
    if not missing:
        return False
    headings = [
        (part.spans[0][0], part.spans[0][0] + len(part.heading)) for part in others if part.spans
    ]
    clauses, of_heading = [], False
    for clause in clauses_about(text, places):
        if clause.named:
            of_heading = any(start < clause.end and clause.start < end for start, end in headings)
        if not of_heading:
            clauses.append(clause)
    for index in missing:
        about = [clause for clause in clauses if index in clause.about]
        words = {w.plain for clause in about for w in words_of(text[clause.start : clause.end])}
        named = [clause for clause in about if clause.named]
        if named and _covered(own, parts[index], words) >= _COVERED:
            return True
        if not others[0].label and any(clause.clear for clause in named):
            return True
    return False


def _covered(text: str, part: SpecimenText, said: Set[str]) -> float:
    """Share of what a part says, besides its heading, that is among some words."""
    content = _words(text, part) - {word.plain for word in words_of(part.heading)}
    return len(content & said) / max(1, len(content))


def _own(parts: Sequence[SpecimenText], text: str) -> list[SpecimenSide]:
    """A report's own parts, without what it replaces later."""
    gone = superseded(text)
    found = []
    for part in parts:
        spans = _less(part.spans, gone) or part.spans
        found.append(SpecimenSide(part.name, spans, spans, part.heading))
    return found


def _less(spans: Sequence[Span], gone: Sequence[Span]) -> tuple[Span, ...]:
    found = []
    for start, end in spans:
        inside = [
            (max(a, start) - start, min(b, end) - start) for a, b in gone if a < end > start < b
        ]
        found += [(start + a, start + b) for a, b in outside(inside, end - start)]
    return tuple(found)


def _common(parts: Sequence[SpecimenText], text: str) -> tuple[Span, ...]:
    taken = [span for part in parts for span in (*part.spans, *part.labels)]
    return _less(outside(taken, len(text)), superseded(text))


def sides_in_prose(
    parts: Sequence[SpecimenText], own: str, text: str
) -> tuple[list[SpecimenSide], tuple[Span, ...]]:
    """Parts of one report in the prose of another, and the prose that is of none of them."""
    places = Gazetteer.of(parts)
    clauses = clauses_about(text, places)
    gone = superseded(text)
    every = {word.plain for word in words_of(text)}
    found = []
    for place, part in enumerate(parts):
        maybe = [clause for clause in clauses if place in clause.about]
        sure = [clause for clause in maybe if clause.clear and len(clause.about) == 1]
        near = max((places.likeness(place, clause.place) for clause in clauses), default=0.0)
        found.append(
            SpecimenSide(
                part.name,
                _less(_joined(maybe), gone),
                _less(_joined(sure), gone),
                absent=near < _NEAR and _covered(own, part, every) < _SOME,
                other_side=() if sure else places.on_other_side(place, clauses),
            )
        )
    rest = _less(outside([s for side in found for s in side.spans], len(text)), gone)
    number_clear = sum(bool(side.sure) for side in found)
    if number_clear < len(found) / 2:
        found = [replace(side, absent=False) for side in found]
    return found, rest


def _joined(clauses: Sequence[Clause]) -> list[Span]:
    """Clauses that follow each other as one span, so that nothing is cut in two."""
    joined: list[Span] = []
    for clause in clauses:
        if joined and clause.start - joined[-1][1] <= 2:
            joined[-1] = (joined[-1][0], clause.end)
        else:
            joined.append((clause.start, clause.end))
    return joined


@lru_cache(maxsize=512)
def match_prose(reference: str, candidate: str) -> MatchedSpecimens | None:
    """Places that the reference names, in two reports in prose; None for one place.

    Both are looked through in the same way, so that a sentence taken for another specimen than it
    is of is taken so in both. A place counts where both plainly speak of it.
    """
    places = prose_specimens(reference)
    if not places:
        return None
    sides = [sides_in_prose(places, reference, text)[0] for text in (reference, candidate)]
    pairs = tuple(
        SpecimenPair(replace(here, heading=place.heading), there)
        for place, here, there in zip(places, *sides, strict=True)
        if here.sure and there.sure
    )
    return MatchedSpecimens(pairs, divided=True) if len(pairs) > 1 else None
