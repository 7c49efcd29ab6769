"""The specimens of a report: which spans of its text are about which of them.

Parts are labelled (`A.`, `2)`, `III:`, `Part 4`, `Specimen B -`, `#5`), or they are lines headed by
a site or a procedure. What stands under a label that comes again, in the microscopy or in an
addendum, belongs to the same part, and so does a sentence that refers to one ("positive in part
B"). All other text is common to the parts.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from statistics import median

from histoeval.facts.specimens.headings import MAX_PARTS, NO_SPECIMEN, SHORT_HEAD, headed_parts
from histoeval.facts.specimens.text import ONE, Span, SpecimenText, outside
from histoeval.reader.lexicon import is_field, names_procedure, names_specimen
from histoeval.reader.sections import OTHER, PART, sections
from histoeval.reader.sentences import sentences
from histoeval.terms.findings import find_findings
from histoeval.terms.naming import find_diagnoses
from histoeval.terms.number_words import is_roman, roman_number
from histoeval.terms.sites import find_operated, find_sites
from histoeval.terms.values.laterality import side_of

_MAX_CHARS = 60_000  # A longer text is not divided


@lru_cache(maxsize=1 << 10)
def specimens_of_text(text: str) -> tuple[SpecimenText, ...]:
    """The parts that a report is written in; none where it has only one, or they are not clear."""
    if len(text) > _MAX_CHARS:
        return ()
    return labelled_parts(text) or headed_parts(text)


def label_places(text: str) -> tuple[Span, ...]:
    """Spans of the labels of the parts: before the parts, and in what refers to them.

    They say which part is meant, and nothing else: another report may call it otherwise.
    """
    parts = specimens_of_text(text)
    labels = {part.tag for part in parts if part.tag}
    if len(labels) < 2:
        return ()
    before = (span for part in parts for span in part.labels)
    within = (span for ref in _refers(text, 0, len(text), labels) for span in ref.written)
    return tuple(sorted({*before, *within}))


_MARK = r"(?P<{0}>[A-Z]|\d{{1,2}}|[IVX]{{2,5}})"
_NAMED = (
    r"(?:part|specimen|sample|jar|pot|container|bottle|vial|twin|fetus|triplet)(?!s\b)[ \t]{0,2}"
    r"(?:no\.?[ \t]?)?#?[ \t]?"
)
_LABEL = (
    rf"(?:(?i:{_NAMED}){_MARK.format('named')}(?![\w/+])[ \t]?(?:[).:,]|[-\u2013\u2014](?=\s))?"
    rf"|\(?#?(?i:{_MARK.format('mark')})(?:\)[.:]?|[.:](?=\s|\Z|[A-Z\"])|,(?=\s)"
    r"|/(?=\s)|[ \t]?[-\u2013\u2014](?=\s))|#(?P<hash>\d{1,2})(?=[ \t])"
)
_BARE = r"(?P<bare>\d{1,2}(?=[ \t][A-Z][A-Za-z])|[A-Z](?=[ \t]\())"
_AT_LINE = re.compile(rf"^[ \t>*\u2022_-]{{0,6}}(?:{_LABEL}|{_BARE}))[ \t]{{0,8}}", re.MULTILINE)
_AT_SENTENCE = re.compile(
    rf"(?:\A|(?<=[.;:][ \n])|(?<=[.;:][ \n]{{2}}))\s{{0,4}}{_LABEL}|(?P<bare>(?!)))[ \t]{{0,8}}"
)
_HEAD_END = re.compile(
    r":(?=\s|\Z|[A-Z])|[ \t][-\u2013\u2014|][ \t]|[.;](?=\s|\Z)|[\n\r|]"
    r"|[ ](?:is|are|was|were|shows?|contains?|has|have|holds?|reveals?|consists?|comprises?|gave|"
    r"demonstrates?|includes?|yields?)[ ]"
)
# A line below a label that gives the place as if in a checklist
_PLACE_FIELD = re.compile(
    r"\s{0,8}(?:(?:site|procedure|specimen|location|source|organ|anatomic(?:al)? site|side)\b"
    r"(?:[ ]?[/,&][ ]?|[ ]and[ ])?){1,3}[ \t]?:[ \t]{0,4}",
    re.IGNORECASE,
)
_MAX_HEAD = 160
_MARGIN = re.compile(r"\bmargins?\b", re.IGNORECASE)
_PLACE = re.compile(
    r"\b\d{1,2}(?::00| o.?clock| cm\b)|\b(?:level|station|segment|quadrant|margin|base|apex|mid|"
    r"anterior|posterior|upper|lower|superior|inferior|medial|lateral|proximal|distal|wash\w*|fluid|"
    r"nodes?|nodule|lesion|polyps?|mass|lobe|wall|fornix|"
    r"fundus|corpus|dome|trigone|pole|lip|smear|eus|ebus)\b",
    re.IGNORECASE,
)
# An item of a list of specimens that stands above what was found in them
_ITEM = re.compile(
    r"(?:^|[:;,(]\s?|\band\s|\bspecimens?\s)(?P<label>[A-Z]|\d{1,2}|[IVX]{2,5})[).:=]?[ ]"
    r"(?P<head>\([^()\n]{3,80}\)|[A-Za-z][^;\n]{2,80}?)(?=[;.\n]|\Z|,?\sand\s(?:[A-Z]|\d)|,\s\d)",
    re.IGNORECASE | re.MULTILINE,
)
_SPARE = 2  # how many labels of a sequence may be missing
_NAME_A_PLACE = 0.5


@dataclass(frozen=True, slots=True)
class _Begin:
    """The beginning of a part, or of more about it."""

    start: int
    after: int
    label: str
    named: bool = False  # it says that it is one: part 2, specimen B


def labelled_parts(text: str) -> tuple[SpecimenText, ...]:
    """Parts by labels at the start of lines, and of the sentences that count on from them."""
    begins = _labelled(text, _AT_LINE)
    return _parts(text, _and_following(text, begins)) or _parts(text, begins)


def _labelled(text: str, pattern: re.Pattern[str]) -> list[_Begin]:
    return [
        _Begin(match.start(), match.end(), label.upper(), bool(match["named"]))
        for match in pattern.finditer(text)
        if (label := match["named"] or match["mark"] or match["hash"] or match["bare"])
    ]


def _and_following(text: str, begins: Sequence[_Begin]) -> list[_Begin]:
    """Labels at the start of lines, and those at the start of sentences that count on from them."""
    starts = {begin.after for begin in begins}
    within = [begin for begin in _labelled(text, _AT_SENTENCE) if begin.after not in starts]
    sequence: list[_Begin] = []
    for begin in sorted((*begins, *within), key=lambda begin: begin.after):
        if begin.after in starts or _counts_on(sequence, begin):
            sequence.append(begin)
    return sequence


def _counts_on(before: Sequence[_Begin], begin: _Begin) -> bool:
    """True if a label is the next after the last one, or the first of all."""
    if not before:
        return _numbers([begin.label]) == [1]
    labels_before = list(dict.fromkeys(previous.label for previous in before))
    numbers = _numbers([*labels_before, begin.label])
    return begin.label not in labels_before and len(numbers) > 1 and numbers[-1] == numbers[-2] + 1


def _numbers(labels: Sequence[str]) -> list[int]:
    """Numbers that labels stand for, in letters, digits or Roman numerals; none where mixed."""
    if all(label.isdigit() for label in labels):
        return [int(label) for label in labels]
    if any(label.isdigit() for label in labels):
        return []
    if any(len(label) > 1 for label in labels) or list(labels) == ["I"]:
        return [roman_number(label) for label in labels] if is_roman("".join(labels)) else []
    return [ord(label) - ord("A") + 1 for label in labels]


def _parts(text: str, begins: Sequence[_Begin]) -> tuple[SpecimenText, ...]:
    """Parts by their labels, if these are labels of specimens."""
    kinds = [_kind(begin.label) for begin in begins]
    most = max(kinds, key=kinds.count, default="")
    letters = "".join(begin.label for begin in begins if _kind(begin.label) != "number")
    if most in ("letter", "roman") and "roman" in kinds and is_roman(letters):
        most = "roman"
    begins = [
        b for b in begins if (is_roman(b.label) if most == "roman" else _kind(b.label) == most)
    ]
    firsts = {begin.label: begin for begin in reversed(begins)}
    labels = sorted(firsts, key=lambda label: firsts[label].start)
    numbers = _numbers(labels)
    if not 2 <= len(labels) <= MAX_PARTS or not numbers or max(numbers) > len(labels) + _SPARE:
        return ()
    heads = {label: _head(text, firsts[label].after) for label in labels}
    if not _are_labels(text, [firsts[label] for label in labels], list(heads.values())):
        heads = _listed(text[: begins[0].start], labels)
        if not all(map(names_place, heads.values())):
            return ()
    reach = list(_reach(text, begins))
    taken = [(begin.start, begin.after) for begin in begins] + [span for _, span in reach]
    elsewhere = referring(text, labels, outside(taken, len(text)))
    parts = []
    for label in labels:
        spans = [span for of, span in reach if of == label]
        spans += [span for of, span, _ in elsewhere if of == label]
        written = [(begin.start, begin.after) for begin in begins if begin.label == label]
        written += [
            span for of, _, labels_there in elsewhere if of == label for span in labels_there
        ]
        parts.append(SpecimenText(label, heads[label], tuple(spans), tuple(written)))
    return tuple(parts)


def _listed(text: str, labels: Sequence[str]) -> dict[str, str]:
    """The headings of parts from a list of them above: 1 right tube; 2 endometrium, curettings."""
    heads = dict.fromkeys(labels, "")
    for item in _ITEM.finditer(text):
        label = item["label"].upper()
        if not heads.get(label, "known"):
            heads[label] = item["head"].strip(" ()")
    return heads


def _are_labels(text: str, begins: Sequence[_Begin], heads: Sequence[str]) -> bool:
    """True if labels are of specimens: they say so, or half of them are followed by a place.

    One place will do where all others are followed by a few words and a colon, and are no lines of
    a checklist.
    """
    if all(begin.named for begin in begins):
        return True
    places = [names_place(head) for head in heads]
    if sum(places) >= _NAME_A_PLACE * len(heads):
        return True
    return any(places) and all(
        place
        or (
            0 < len(head.split()) <= SHORT_HEAD
            and text[begin.after : begin.after + len(head) + 1].endswith(":")
            and not is_field(head)
            and not NO_SPECIMEN.search(head)
        )
        for begin, head, place in zip(begins, heads, places, strict=True)
    )


def _kind(label: str) -> str:
    return "number" if label.isdigit() else "roman" if len(label) > 1 else "letter"


def _head(text: str, start: int) -> str:
    """The words after a label, up to the colon."""
    line = text[start : start + _MAX_HEAD].lstrip(" (")
    if field := _PLACE_FIELD.match(line):
        line = line[field.end() :]
    end = _HEAD_END.search(line)
    head = line[: end.start() if end else _MAX_HEAD].strip(" \t()*\"'")
    says_it = not end or end.group() in ".;\n\r"
    return "" if head.startswith("*") or (says_it and _names_disease(head)) else head


def _names_disease(head: str) -> bool:
    """True if a label is followed by what was found: no heading, but a list of findings."""
    head = _MARGIN.sub("", head)
    if names_procedure(head) or side_of(head):
        return False
    return bool(find_diagnoses(head) or find_findings(head))


def names_place(head: str) -> bool:
    """True if a heading says where from, or how, a specimen was taken."""
    if not head or is_field(head):
        return False
    return bool(
        find_sites(head)
        or find_operated(head)
        or side_of(head)
        or names_specimen(head)
        or _PLACE.search(head)
    )


def _reach(text: str, begins: Sequence[_Begin]) -> Iterator[tuple[str, Span]]:
    """Extent of each part: to the next label, the next section, or the end of its line."""
    walls = [s.start for s in sections(text) if s.kind not in (PART, OTHER) and s.start]
    ends = [*(begin.start for begin in begins[1:]), len(text)]
    whole = [(begin, end) for begin, end in zip(begins, ends, strict=True)]
    lines = [len(text[begin.after : end].strip().splitlines()) for begin, end in whole[:-1]]
    one_line = bool(lines) and median(lines) <= 1
    for begin, end in whole:
        until = min([end, *(wall for wall in walls if begin.after < wall)])
        if one_line and (line := re.search(r"[\n\r]", text[begin.after : until].rstrip())):
            until = begin.after + line.start()
        yield begin.label, (min(begin.after, until), until)


_LIST = rf"{ONE}(?:(?:,[ ]|,?[ ](?:and|or)[ ]|[ ]?&[ ]?){ONE}(?![\w/+%]))*"
# A sentence that is about a part: in part B, (C), on A and B, block A2
_REFERENCE = re.compile(
    rf"(?i:\b(?:parts?|specimens?|samples?|pots?|jars?|tumou?rs?|twins?)[ \t])"
    rf"(?P<part>{_LIST})(?![\w/+])"
    rf"|(?i:\bblocks?[ \t])(?P<block>[A-Z])\d{{0,2}}\b"
    rf"|\(#?(?P<bracket>{_LIST})\)|(?:\A|(?<=[.;:][ \t]))(?P<lead>{ONE})[ \t]?[-:][ \t]"
    r"|(?<!\d )\b(?:in|on|of|from|for)[ \t]"
    rf"(?P<prep>[A-Z](?:(?:,[ ]|,?[ ]and[ ])[A-Z](?!\w))*(?=[\s,.;:)]|\Z)|\d{{1,2}}(?=[:;)]))"
)
_EACH = re.compile(rf"\b{ONE}\b")
_CLAUSE_START = re.compile(r"(?:\A|[.;:]\s|,\s(?:and\s|but\s|while\s|whereas\s)?)[^.;:,]{0,2}\Z")
# A label, what is said of its part outside of it, and where the label stands in that
Referring = tuple[str, Span, tuple[Span, ...]]


def referring(text: str, labels: Collection[str], spans: Iterable[Span]) -> list[Referring]:
    """The sentences in some spans that refer to parts."""
    return [
        reference
        for start, end in spans
        for sentence in sentences(text[start:end])
        for reference in _references(text, start + sentence.start, start + sentence.end, labels)
    ]


@dataclass(frozen=True, slots=True)
class _Reference:
    """A reference to parts in a sentence."""

    start: int
    end: int
    labels: frozenset[str]
    written: tuple[Span, ...]
    leads: bool  # what is said of them follows: A: positive. Else it stands before: positive in A.


def _references(text: str, start: int, end: int, labels: Collection[str]) -> Iterator[Referring]:
    """Spans of a sentence for the parts that it refers to.

    All of it where it refers to them once; else from each reference to the next, or from each to
    the one before (amplified in A; not amplified in B). Numbers of parts are left out: they are no
    findings.
    """
    references = list(_refers(text, start, end, labels))
    if not references:
        return
    leads = references[0].leads
    cuts = [reference.start if leads else reference.end for reference in references]
    cuts = [start, *(cuts[1:] if leads else cuts[:-1]), end]
    for reference, (first, last) in zip(references, pairwise(cuts), strict=True):
        written = tuple(span for span in reference.written if text[slice(*span)].isdigit())
        inside = [(a - first, b - first) for a, b in written]
        for a, b in outside(inside, last - first):
            if any(map(str.isalnum, text[first + a : first + b])):
                for label in sorted(reference.labels):
                    yield label, (first + a, first + b), written


def _refers(text: str, start: int, end: int, labels: Collection[str]) -> Iterator[_Reference]:
    for match in _REFERENCE.finditer(text, start, end):
        group = next(name for name, words in match.groupdict().items() if words)
        at = match.start(group)
        written = [(at + m.start(), at + m.end()) for m in _EACH.finditer(match[group])]
        written = written or [match.span(group)]
        meant = frozenset(text[a:b] for a, b in written)
        if meant <= set(labels):
            leads = text[match.end() : match.end() + 1] == ":" or bool(
                match["lead"] or _CLAUSE_START.search(text[start : match.start()])
            )
            yield _Reference(match.start(), match.end(), meant, tuple(written), leads)
