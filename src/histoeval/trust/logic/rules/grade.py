"""Rule: two grades of one lesion in any scheme, or one that what is seen excludes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import combinations
from typing import NamedTuple

from histoeval.terms.catalogue import diagnosis_tree
from histoeval.trust.logic.diagnosis_mentions import DiagnosisMention, is_of_one_lesion, named_in
from histoeval.trust.logic.grade_mentions import GradeMention, are_at_odds, gradings, implied, words
from histoeval.trust.logic.impression import concludes
from histoeval.trust.logic.lexicon import pattern, table, written_as
from histoeval.trust.logic.rules.presence import clash
from histoeval.trust.logic.sentences import ReportSentence
from histoeval.trust.logic.specimen import ReportMention, Specimen, said_in
from histoeval.trust.results import Contradiction

_SHARE = (
    r"(?P<bound>more than|over|above|less than|under|below|up to|at most|at least|>|<)?\s*"
    r"(?P<share>\d{1,3})\s*(?:%|per ?cent)"
)
_THE = re.compile(r"\b(?:the|this|only)\s+(?:[\w-]+\s+){0,2}$", re.IGNORECASE)
_GROUP = re.compile("group", re.IGNORECASE)
_LESS = frozenset({"less than", "under", "below", "up to", "at most", "<"})
_MORE = frozenset({"more than", "over", "above", ">"})


def grade_in_words(specimen: Specimen) -> Iterator[Contradiction]:
    """Grades of one lesion that cannot both be right, whatever the scheme."""
    if not is_of_one_lesion(specimen):
        return
    named = named_in(specimen)
    given = [each for each in gradings(specimen) if not _is_apart(each, named)]
    by_name = [each for one in named if one.settled for each in implied(one)]
    for one, other in combinations([*given, *by_name], 2):
        if _may_differ(one, other) and are_at_odds(one, other) and _is_same(other):
            why = f"{one.said.span.text} and {other.said.span.text} are two grades of one lesion"
            yield clash("grade", one.said, other.said, why)
    for each in given:
        yield from _not_as_described(each, named, specimen)


def _may_differ(one: GradeMention, other: GradeMention) -> bool:
    """Whether two grades are said at two places, or are a score and its group."""
    if one.passage != other.passage:
        return True
    groups = [bool(_GROUP.search(each.said.span.text)) for each in (one, other)]
    return one.scheme == other.scheme == "Gleason" and groups[0] != groups[1]


def _is_same(later: GradeMention) -> bool:
    """Whether a later grade is of the same lesion: dysplasia may differ from place to place."""
    before = later.passage.text[: later.said.span.start - later.passage.start]
    return not later.early or bool(_THE.search(before)) or concludes(later.passage)


def _is_apart(graded: GradeMention, named: list[DiagnosisMention]) -> bool:
    """Whether a diagnosis has such words in its name, or a grade that goes its own ways."""
    return graded.scheme in words()["alike"] and any(
        diagnosis_tree().is_a(each.concept.id, id_) for each in named for id_ in words()["apart"]
    )


class _Described(NamedTuple):
    words: re.Pattern[str]
    ranks: Mapping[str, frozenset[int]]
    of: frozenset[str]


@cache
def _described() -> tuple[_Described, ...]:
    return tuple(
        _Described(
            written_as(row["words"]),
            {scheme: frozenset(ranks) for scheme, ranks in row["ranks"].items()},
            frozenset(row.get("of", ())),
        )
        for row in table("stated_grades")["described"]
    )


def _not_as_described(
    graded: GradeMention, named: list[DiagnosisMention], specimen: Specimen
) -> Iterator[Contradiction]:
    """What is seen in other sentences, and stands for another grade of the same scheme."""
    for passage in specimen.passages:
        if passage == graded.passage or graded.early or pattern("beyond").search(passage.text):
            continue
        for seen in _seen(graded, named, passage, specimen):
            why = f"{seen.span.text} does not go with {graded.said.span.text}"
            yield clash("grade", graded.said, seen, why)


def _seen(
    graded: GradeMention, named: list[DiagnosisMention], passage: ReportSentence, specimen: Specimen
) -> Iterator[ReportMention[str]]:
    for row in _described():
        ranks = row.ranks.get(graded.scheme)
        if ranks is None or graded.levels & ranks or not _is_of(row.of, named):
            continue
        found = row.words.search(passage.text)
        rest = passage.text.replace(found.group(), " ") if found else ""
        if found and not pattern("partly").search(rest):
            yield said_in(found, passage, specimen)
    for row in table("stated_grades")["share"]:
        found = _share_of(row["of"], passage)
        if found and graded.scheme in row["scheme"] and not graded.levels & _ranks(row, found):
            yield said_in(found, passage, specimen)


def _is_of(ids: frozenset[str], named: list[DiagnosisMention]) -> bool:
    """Whether the lesion is one of these, where a description is of few."""
    kinds = [diagnosis_tree().is_a(each.concept.id, id_) for each in named for id_ in ids]
    return not ids or any(kinds)


def _share_of(what: str, passage: ReportSentence) -> re.Match[str] | None:
    """Where a sentence says how much of the tumour is solid, or forms glands."""
    word = rf"\b{what}\w*\b"
    return re.search(rf"{word}[^.;]{{0,40}}?{_SHARE}", passage.text, re.IGNORECASE) or re.search(
        rf"{_SHARE}[^.;]{{0,45}}?{word}", passage.text, re.IGNORECASE
    )


def _ranks(row: Mapping[str, list[float]], found: re.Match[str]) -> frozenset[int]:
    """The ranks that a share stands for; of a bound all that it leaves open."""
    share, bound = float(found["share"]), (found["bound"] or "").lower()
    low = 0.0 if bound in _LESS else share
    high = share if bound in _LESS or not bound else 100.0
    limits = row["up_to"]
    steps = zip(row.get("ranks", [1, 2, 3]), [-1.0, *limits[:-1]], limits, strict=True)
    return frozenset(
        int(rank)
        for rank, least, most in steps
        if high > least and (low < most if bound in _MORE else low <= most)
    )
