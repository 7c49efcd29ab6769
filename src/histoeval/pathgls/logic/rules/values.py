"""Rules: two grades, sizes or stages of one tumour, and figures that do not go with their words."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import combinations
from typing import Any

from histoeval.pathgls.logic.contradiction import clash, two_values
from histoeval.pathgls.logic.lexicon import GRADE, pattern
from histoeval.pathgls.logic.mentions import (
    GradeMention,
    are_at_odds,
    gradings,
    implied_by,
    is_of_early_lesion,
)
from histoeval.pathgls.logic.sentences import ReportMention, ReportSentence
from histoeval.pathgls.logic.specimen import Specimen, behaviour_of
from histoeval.pathgls.results import Contradiction
from histoeval.terms.assertion import denies, is_denied
from histoeval.terms.catalogue import Behaviour, diagnosis_tree
from histoeval.terms.lexicon import any_of
from histoeval.terms.values.grades import Grade
from histoeval.terms.values.implied_stages import organ_at, rank, worked_out
from histoeval.terms.values.marker_results import Result
from histoeval.terms.values.measurements import Measurement
from histoeval.terms.values.stages import Stage

_NEAR_CHARS = 60
# A score or a group, and not one pattern of several
_GLEASON = re.compile(r"\d\s*\+\s*\d|group|(?<!\d)(?:[6-9]|10)(?!\d)", re.IGNORECASE)
# What dysplasia is a grade of: it may have one at one place and another beside it
_LESION = "lesion"
_SHARE = (
    r"(?P<bound>more than|over|above|less than|under|below|up to|at most|at least|>|<)?\s{0,20}"
    r"(?P<share>\d{1,3})\s*(?:%|per ?cent)"
)
_THE = re.compile(r"\b(?:the|this|only)\s+(?:[\w-]+\s+){0,2}$", re.IGNORECASE)
_GROUP = re.compile("group", re.IGNORECASE)
_LESS = frozenset({"less than", "under", "below", "up to", "at most", "<"})
_MORE = frozenset({"more than", "over", "above", ">"})
_NEAR_NAME = 12  # characters between a size and the name of the tumour after it
_APART = 1.5  # the ratio from which two sizes are not the same
# A result in a word, and the figure behind it
_CALLED = re.compile(
    r"(?P<word>positive|negative)[\s,:]{0,3}\(?\s?(?:IHC |score |in )?"
    r"(?P<figure>(?P<score>[0-3])(?:\s?\+(?!\s?\d)|(?=\)))|(?P<share>\d{1,3})\s?%)",
    re.IGNORECASE,
)
_SUM = re.compile(r"(?P<terms>(?P<one>[1-5])\s?\+\s?(?P<other>[1-5]))\s?=\s?(?P<sum>\d{1,2})\b")
_HER2 = "HER2"
_STRONG, _WEAK = 3, 1  # from and up to this score HER2 is positive and negative, whatever the gene
_SEVERAL = 10  # from this share of cells on no marker is negative


# --- grades ---------------------------------------------------------------------------------------


def grade(specimen: Specimen) -> Iterator[Contradiction]:
    if specimen.is_of_one_tumour:
        grades = [
            mention
            for mention in specimen.grades
            if _is_of_all(mention)
            and not is_denied(specimen.text, mention.span.start, mention.span.end)
            and not is_of_early_lesion(mention.before[-_NEAR_CHARS:])
        ]
        yield from two_values("grade", grades, _grades_differ)


def _is_of_all(graded: ReportMention[Grade]) -> bool:
    value = graded.value
    is_single = value.part is None and value.level == int(value.level)
    is_pattern_only = value.scheme == "Gleason" and not _GLEASON.search(graded.span.text)
    is_partial = pattern("part_of_tumour").search(graded.clause) is not None
    has_several = graded.passage.has("several_tumours")
    return (
        is_single and not (is_pattern_only or is_partial or has_several) and value.about != _LESION
    )


def _grades_differ(first: Grade, second: Grade) -> bool:
    """Grades of different schemes never differ."""
    are_comparable = first.scheme == second.scheme and (
        first.of == second.of or None in (first.of, second.of)
    )
    return are_comparable and first.level != second.level


def grade_in_words(specimen: Specimen) -> Iterator[Contradiction]:
    """Grades of one lesion that cannot both be right, whatever the scheme."""
    if not specimen.is_of_one_lesion:
        return
    # A lesion with a grading of its own is not graded by the usual words.
    is_apart = _is_any_of(GRADE.ids("words", "apart"), specimen)
    schemes = GRADE.ids("words", "alike")
    mentions = gradings(specimen.passages)
    stated = [mention for mention in mentions if not (is_apart and mention.scheme in schemes)]
    by_name = [implied for name in specimen.names if name.settled for implied in implied_by(name)]
    for first, second in combinations([*stated, *by_name], 2):
        if _may_differ(first, second) and are_at_odds(first, second) and _is_same(second):
            reason = f"{first.span.text} and {second.span.text} are two grades of one lesion"
            yield clash("grade", first, second, reason)
    for graded in stated:
        for passage in specimen.passages:
            if passage == graded.passage or graded.early or passage.has("beyond"):
                continue
            for description in _otherwise_described(graded, passage, specimen):
                reason = f"{description.span.text} does not go with {graded.span.text}"
                yield clash("grade", graded, description, reason)


def _may_differ(first: GradeMention, second: GradeMention) -> bool:
    if first.passage != second.passage:
        return True
    groups = [bool(_GROUP.search(mention.span.text)) for mention in (first, second)]
    return first.scheme == second.scheme == "Gleason" and groups[0] != groups[1]


def _is_same(later: GradeMention) -> bool:
    """True if a later grade is of the same lesion: dysplasia may differ from place to place."""
    before = later.passage.text[: later.span.start - later.passage.start]
    return not later.early or bool(_THE.search(before)) or later.passage.is_conclusion


@cache
def _described() -> tuple[tuple[re.Pattern[str], Mapping[str, Any]], ...]:
    return tuple((any_of(row["words"]), row) for row in GRADE.entry("described"))


def _otherwise_described(
    graded: GradeMention, passage: ReportSentence, specimen: Specimen
) -> Iterator[ReportMention[str]]:
    """Words that stand for another grade of the same scheme."""
    for words, row in _described():
        ranks, of = row["ranks"].get(graded.scheme), row.get("of")
        if ranks is None or graded.levels & {*ranks} or (of and not _is_any_of(of, specimen)):
            continue
        match = words.search(passage.text)
        remainder = passage.text.replace(match.group(), " ") if match else ""
        denied = match is not None and is_denied(passage.text, *match.span())
        if match and not denied and not pattern("partly").search(remainder):
            yield passage.found(match)
    for row in GRADE.entry("share"):
        match = _share_of(row["of"], passage)
        if match and graded.scheme in row["scheme"] and not graded.levels & _ranks(row, match):
            yield passage.found(match)


def _is_any_of(ids: Iterable[str], specimen: Specimen) -> bool:
    tree = diagnosis_tree()
    return any(tree.is_a(name.concept.id, id_) for name in specimen.names for id_ in ids)


def _share_of(noun: str, passage: ReportSentence) -> re.Match[str] | None:
    word = rf"\b{noun}\w*\b"
    return re.search(rf"{word}[^.;]{{0,40}}?{_SHARE}", passage.text, re.IGNORECASE) or re.search(
        rf"{_SHARE}[^.;]{{0,45}}?{word}", passage.text, re.IGNORECASE
    )


def _ranks(row: Mapping[str, list[float]], match: re.Match[str]) -> frozenset[int]:
    """The ranks that a share stands for; of a bound all that it leaves open."""
    share, bound = float(match["share"]), (match["bound"] or "").lower()
    low = 0.0 if bound in _LESS else share
    high = share if bound in _LESS or not bound else 100.0
    limits = row["up_to"]
    steps = zip(row.get("ranks", [1, 2, 3]), [-1.0, *limits[:-1]], limits, strict=True)
    return frozenset(
        int(rank)
        for rank, least, most in steps
        if high > least and (low < most if bound in _MORE else low <= most)
    )


# --- sizes ----------------------------------------------------------------------------------------


def size(specimen: Specimen) -> Iterator[Contradiction]:
    if not specimen.is_of_one_tumour or specimen.has_several_tumours:
        return
    sizes = [
        mention
        for mention in specimen.measurements
        if mention.value.kind == "length"
        and mention.value.bound is None
        and [m.passage for m in specimen.measurements].count(mention.passage) == 1
        and (mention.passage.has("tumour_size") or _is_of_tumour(mention, specimen))
        and not pattern("part_of_tumour").search(mention.clause)
    ]
    yield from two_values("size", sizes, _sizes_differ)


def _is_of_tumour(measured: ReportMention[Measurement], specimen: Specimen) -> bool:
    """True for a size in prose that stands behind the tumour's name and is no distance."""
    is_named = any(
        mention.passage == measured.passage
        and (
            mention.span.end <= measured.span.start
            or 0 <= mention.span.start - measured.span.end <= _NEAR_NAME
        )
        and behaviour_of(mention) in (Behaviour.MALIGNANT, Behaviour.BENIGN)
        for mention in specimen.made
    )
    is_of_tumour = is_named or measured.passage.has("tumour_is")
    return is_of_tumour and specimen.is_prose and not measured.passage.has("distance")


def _sizes_differ(first: Measurement, second: Measurement) -> bool:
    small, large = sorted((first.values[0], second.values[0]))
    return small > 0 and large / small >= _APART


# --- stages ---------------------------------------------------------------------------------------


def stage(specimen: Specimen) -> Iterator[Contradiction]:
    """Two stages of the tumour by the same rules: pT2 and pT3."""
    if not specimen.has_several_tumours:
        yield from two_values("stage", specimen.stages, _stages_differ)


def _stages_differ(first: Stage, second: Stage) -> bool:
    if first.prefix != second.prefix or not (first.prefix or "").endswith("p"):
        return False
    return bool(
        first.t
        and second.t
        and first.t[0] != second.t[0]
        and first.t[0].isdigit()
        and second.t[0].isdigit()
    )


def stage_as_described(specimen: Specimen) -> Iterator[Contradiction]:
    """A stage in prose on one tumour whose size or depth, as described, means a higher one."""
    text = " ".join(passage.text for passage in specimen.passages).lower()
    organ = organ_at(text)
    if organ is None or not specimen.is_of_one_lesion or specimen.has_several_tumours:
        return
    for staged in specimen.stages:
        stated = staged.value.t or ""
        if staged.value.prefix != "p" or not stated[:1].isdigit():
            continue
        for passage in specimen.passages:
            is_aside = denies(passage.text) or is_of_early_lesion(passage.text)
            is_aside = is_aside or passage.has(
                "partly", "beyond", "node_word", "margin_word", "spared"
            )
            if passage == staged.passage or is_aside:
                continue
            for implied in worked_out(passage.text.lower(), organ).tumour:
                if rank(implied)[0] > rank(stated)[0]:
                    description = passage.at(0, len(passage.text))
                    reason = f"what is described is pT{implied}, and not {staged.span.text}"
                    yield clash("stage", staged, description, reason)


# --- figures and the words or the sum beside them, also in one sentence ---------------------------


def figures(specimen: Specimen) -> Iterator[Contradiction]:
    """Negative (3+), positive (0 %), 3+4=8."""
    for marker in specimen.markers:
        yield from _called(marker)
    for passage in specimen.passages:
        for match in _SUM.finditer(passage.text) if "leason" in passage.text else ():
            if int(match["one"]) + int(match["other"]) != int(match["sum"]):
                terms, total = passage.at(*match.span("terms")), passage.at(*match.span("sum"))
                yield clash("figures", terms, total, f"{match['terms']} is not {match['sum']}")


def _called(marker: ReportMention[tuple[str, Result]]) -> Iterator[Contradiction]:
    passage, name = marker.passage, marker.value[0]
    begin = marker.span.start - passage.start
    clause = re.split(r"[;.](?:\s|$)|,\s", passage.text[begin:])[0]
    match = _CALLED.search(clause)
    if match is None or passage.has("some_cells", "of_gene"):
        return
    is_positive = match["word"].lower() == "positive"
    if match["share"]:
        share = int(match["share"])
        is_at_odds = share == 0 if is_positive else share >= _SEVERAL
    else:
        score = int(match["score"])
        is_at_odds = name == _HER2 and (score <= _WEAK if is_positive else score >= _STRONG)
    if is_at_odds:
        word, figure = (
            passage.at(begin + match.start(part), begin + match.end(part))
            for part in ("word", "figure")
        )
        yield clash("figures", word, figure, f"{name} is {word.span.text} by {figure.span.text}")
