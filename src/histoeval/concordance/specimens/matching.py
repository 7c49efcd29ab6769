"""Which part of one report is which of the other, and what each report says of it."""

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from histoeval.facts.specimens.clauses import clauses_about
from histoeval.facts.specimens.divide import specimens_of_text
from histoeval.facts.specimens.places import Clause, Gazetteer
from histoeval.facts.specimens.text import SpecimenText, Stretch, outside, superseded
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
    """What one report says of a specimen."""

    name: str
    stretches: tuple[Stretch, ...]  # where it speaks of it, or may; empty where it does not
    sure: tuple[Stretch, ...]  # where it plainly speaks of it and of no other
    heading: str = ""
    absent: bool = False  # neither its place nor what it holds is anywhere in the report
    # Where the report has its place on the other side of the body
    other_side: tuple[Stretch, ...] = ()

    @property
    def known(self) -> bool:
        """Whether the report speaks of it."""
        return bool(self.stretches)


NOWHERE = SpecimenSide("", (), (), absent=True)


@dataclass(frozen=True, slots=True)
class SpecimenPair:
    """A specimen in the reference and in the candidate."""

    reference: SpecimenSide
    candidate: SpecimenSide
    swapped: bool = False  # what the candidate says of it stands with another

    @property
    def name(self) -> str:
        """What it is called, by the reference if that names it."""
        return self.reference.name or self.candidate.name


@dataclass(frozen=True, slots=True)
class MatchedSpecimens:
    """The specimens of two reports, and what is common to all of them."""

    pairs: tuple[SpecimenPair, ...]
    divided: bool  # both reports are written part by part, so that each fact stands in its part
    reference_common: tuple[Stretch, ...] = ()
    candidate_common: tuple[Stretch, ...] = ()


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
    here, there = Gazetteer.of(ref), Gazetteer.of(cand)
    matched = _assigned(reference, candidate, ref, cand, here, there)
    ref, cand = _with_places(ref, reference, here), _with_places(cand, candidate, there)
    own, other = _own(ref, reference), _own(cand, candidate)
    left = [i for i in range(len(ref)) if i not in matched]
    extra = [j for j in range(len(cand)) if j not in matched.values()]
    if not cand[0].label and any(_stands_in(candidate, ref[i], reference) for i in left):
        return None  # headings without labels may leave out what stands under them
    if not ref[0].label and any(_stands_in(reference, cand[j], candidate) for j in extra):
        return None
    if _speaks_of(here, left, ref, reference, candidate, cand):
        return None
    if _speaks_of(there, extra, cand, candidate, reference, ref):
        return None
    pairs = [
        SpecimenPair(side, other[matched[i]] if i in matched else NOWHERE)
        for i, side in enumerate(own)
    ]
    pairs += [SpecimenPair(NOWHERE, other[j]) for j in extra]
    return MatchedSpecimens(tuple(pairs), True, _common(ref, reference), _common(cand, candidate))


def _with_places(parts: Sequence[SpecimenText], text: str, places: Gazetteer) -> list[SpecimenText]:
    """Parts with what stands outside of them and names the place of one of them."""
    found = {place: list(part.stretches) for place, part in enumerate(parts)}
    for start, end in _common(parts, text):
        for each in clauses_about(text[start:end], places):
            if each.clear and len(each.about) == 1:
                found[next(iter(each.about))].append((start + each.start, start + each.end))
    return [replace(part, stretches=tuple(found[i])) for i, part in enumerate(parts)]


def _assigned(
    reference: str,
    candidate: str,
    ref: Sequence[SpecimenText],
    cand: Sequence[SpecimenText],
    here: Gazetteer,
    there: Gazetteer,
) -> dict[int, int]:
    """The candidate's part for each of the reference's that it has."""
    words = [_words(reference, part) for part in ref]
    others = [_words(candidate, part) for part in cand]
    alike = np.array(
        [
            [
                (here.likeness(i, there.places[j]) + there.likeness(j, here.places[i])) / 2
                + _SAME_LABEL * (bool(one.tag) and one.tag == other.tag)
                + _SAME_WORDS * _overlap(words[i], others[j])
                for j, other in enumerate(cand)
            ]
            for i, one in enumerate(ref)
        ]
    )
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(alike, maximize=True)
    pairs = {int(i): int(j) for i, j in zip(rows, columns, strict=True)}
    sure = {i: j for i, j in pairs.items() if alike[i, j] >= _MATCHED}
    sure |= {
        i: j
        for i, j in pairs.items()
        if i not in sure and _overlap(words[i], others[j]) >= _SAME_CONTENT
    }
    return sure | {  # of a part without a heading, there is only the label
        i: j
        for i, one in enumerate(ref)
        for j, other in enumerate(cand)
        if i not in sure and j not in sure.values()
        if one.tag and one.tag == other.tag and not (one.heading and other.heading)
    }


def _words(text: str, part: SpecimenText) -> frozenset[str]:
    return frozenset(
        word.plain for start, end in part.stretches for word in words_of(text[start:end])
    )


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(1, len(one | other))


def _speaks_of(
    places: Gazetteer,
    wanted: Sequence[int],
    parts: Sequence[SpecimenText],
    own: str,
    text: str,
    others: Sequence[SpecimenText],
) -> bool:
    """Whether a text names the place of a part that it lacks, and says something of what is there.

    Then it has what is in that part under the heading of another.
    """
    if not wanted:
        return False
    headings = [
        (part.stretches[0][0], part.stretches[0][0] + len(part.heading))
        for part in others
        if part.stretches
    ]
    clauses, of_heading = [], False
    for each in clauses_about(text, places):
        if each.named:
            of_heading = any(start < each.end and each.start < end for start, end in headings)
        if not of_heading:
            clauses.append(each)
    for place in wanted:
        said = _said_in(text, [each for each in clauses if place in each.about])
        named = [each for each in clauses if each.named and place in each.about]
        if named and _covered(own, parts[place], said) >= _COVERED:
            return True
        if not others[0].label and any(each.clear for each in named):
            return True
    return False


def _stands_in(text: str, part: SpecimenText, own: str) -> bool:
    """Whether nearly all that one report says of a part stands somewhere in the other."""
    return _covered(own, part, {word.plain for word in words_of(text)}) >= _WHOLLY_COVERED


def _said_in(text: str, clauses: Sequence[Clause]) -> set[str]:
    return {word.plain for each in clauses for word in words_of(text[each.start : each.end])}


def _covered(text: str, part: SpecimenText, said: Set[str]) -> float:
    """How much of what a part says, besides its heading, is among some words."""
    content = _words(text, part) - {word.plain for word in words_of(part.heading)}
    return len(content & said) / max(1, len(content))


def _own(parts: Sequence[SpecimenText], text: str) -> list[SpecimenSide]:
    """What a report says of its own parts, without what it replaces later."""
    gone = superseded(text)
    found = []
    for part in parts:
        stretches = _less(part.stretches, gone) or part.stretches
        found.append(SpecimenSide(part.name, stretches, stretches, part.heading))
    return found


def _less(stretches: Sequence[Stretch], gone: Sequence[Stretch]) -> tuple[Stretch, ...]:
    """Stretches without others."""
    found = []
    for start, end in stretches:
        inside = [
            (max(a, start) - start, min(b, end) - start) for a, b in gone if a < end > start < b
        ]
        found += [(start + a, start + b) for a, b in outside(inside, end - start)]
    return tuple(found)


def _common(parts: Sequence[SpecimenText], text: str) -> tuple[Stretch, ...]:
    taken = [stretch for part in parts for stretch in (*part.stretches, *part.labels)]
    return _less(outside(taken, len(text)), superseded(text))


def sides_in_prose(
    parts: Sequence[SpecimenText], own: str, text: str
) -> tuple[list[SpecimenSide], tuple[Stretch, ...]]:
    """What a report in prose says of the parts of another, and of none of them."""
    places = Gazetteer.of(parts)
    clauses = clauses_about(text, places)
    gone = superseded(text)
    every = {word.plain for word in words_of(text)}
    found = []
    for place, part in enumerate(parts):
        maybe = [each for each in clauses if place in each.about]
        sure = [each for each in maybe if each.clear and len(each.about) == 1]
        near = max((places.likeness(place, each.place) for each in clauses), default=0.0)
        found.append(
            SpecimenSide(
                part.name,
                _less(_joined(maybe), gone),
                _less(_joined(sure), gone),
                absent=near < _NEAR and _covered(own, part, every) < _SOME,
                other_side=() if sure else places.on_other_side(place, clauses),
            )
        )
    rest = _less(outside([s for side in found for s in side.stretches], len(text)), gone)
    told = sum(bool(side.sure) for side in found)
    if told < len(found) / 2:
        found = [replace(side, absent=False) for side in found]
    return found, rest


def _joined(clauses: Sequence[Clause]) -> list[Stretch]:
    """Clauses that follow each other as one stretch, so that nothing is cut in two."""
    found: list[Stretch] = []
    for each in clauses:
        if found and each.start - found[-1][1] <= 2:
            found[-1] = (found[-1][0], each.end)
        else:
            found.append((each.start, each.end))
    return found
