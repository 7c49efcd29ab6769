"""Parts of a report by their labels."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from histoeval.facts.specimens.headings import MAX_PARTS, NO_SPECIMEN, SHORT_HEAD
from histoeval.facts.specimens.references import referring
from histoeval.facts.specimens.text import SpecimenText, Stretch, outside
from histoeval.reader.lexicon import is_field, names_procedure, names_specimen
from histoeval.reader.sections import OTHER, PART, sections
from histoeval.terms.findings import find_findings
from histoeval.terms.naming import find_diagnoses
from histoeval.terms.sites import find_operated, find_sites
from histoeval.terms.values.laterality import side_of

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
_ROMANS = {"I": 1, "V": 5, "X": 10}
_SPARE = 2  # how many labels of a sequence may be missing
_NAME_A_PLACE = 0.5


@dataclass(frozen=True, slots=True)
class _Begin:
    """Where a part begins, or continues."""

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
        _Begin(found.start(), found.end(), label.upper(), bool(found["named"]))
        for found in pattern.finditer(text)
        if (label := found["named"] or found["mark"] or found["hash"] or found["bare"])
    ]


def _and_following(text: str, begins: Sequence[_Begin]) -> list[_Begin]:
    """Labels at the start of lines, and those at the start of sentences that count on from them."""
    known = {begin.after for begin in begins}
    within = [each for each in _labelled(text, _AT_SENTENCE) if each.after not in known]
    found: list[_Begin] = []
    for begin in sorted((*begins, *within), key=lambda each: each.after):
        if begin.after in known or _counts_on(found, begin):
            found.append(begin)
    return found


def _counts_on(before: Sequence[_Begin], begin: _Begin) -> bool:
    """Whether a label is the next after the last one, or the first of all."""
    if not before:
        return _numbers([begin.label]) == [1]
    known = list(dict.fromkeys(each.label for each in before))
    numbers = _numbers([*known, begin.label])
    return begin.label not in known and len(numbers) > 1 and numbers[-1] == numbers[-2] + 1


def _numbers(labels: Sequence[str]) -> list[int]:
    """What labels count: letters, numbers or Roman numerals; nothing where they are mixed."""
    if all(label.isdigit() for label in labels):
        return [int(label) for label in labels]
    if any(label.isdigit() for label in labels):
        return []
    if any(len(label) > 1 for label in labels) or list(labels) == ["I"]:
        return [_roman(label) for label in labels] if _all_roman(labels) else []
    return [ord(label) - ord("A") + 1 for label in labels]


def _all_roman(labels: Iterable[str]) -> bool:
    return all(set(label) <= set(_ROMANS) for label in labels)


def _roman(label: str) -> int:
    values = [_ROMANS[letter] for letter in label]
    return sum(-a if a < b else a for a, b in pairwise([*values, 0]))


def _parts(text: str, begins: Sequence[_Begin]) -> tuple[SpecimenText, ...]:
    """Parts by their labels, if these are labels of specimens."""
    kinds = [_kind(begin.label) for begin in begins]
    most = max(kinds, key=kinds.count, default="")
    if most in ("letter", "roman") and "roman" in kinds:
        most = (
            "roman" if _all_roman(b.label for b in begins if _kind(b.label) != "number") else most
        )
    begins = [b for b in begins if _is_of_kind(b.label, most)]
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
    taken = [(each.start, each.after) for each in begins]
    reach = list(_reach(text, begins))
    elsewhere = referring(text, labels, outside([*taken, *(each for _, each in reach)], len(text)))
    return tuple(
        SpecimenText(
            label,
            heads[label],
            (
                *(stretch for each, stretch in reach if each == label),
                *(stretch for each, stretch, _ in elsewhere if each == label),
            ),
            (
                *((each.start, each.after) for each in begins if each.label == label),
                *(span for each, _, written in elsewhere if each == label for span in written),
            ),
        )
        for label in labels
    )


def _listed(text: str, labels: Sequence[str]) -> dict[str, str]:
    """The headings of parts from a list of them above: 1 right tube; 2 endometrium, curettings."""
    found = dict.fromkeys(labels, "")
    for item in _ITEM.finditer(text):
        label = item["label"].upper()
        if not found.get(label, "known"):
            found[label] = item["head"].strip(" ()")
    return found


def _are_labels(text: str, begins: Sequence[_Begin], heads: Sequence[str]) -> bool:
    """Whether labels are of specimens: they say so, or half of them are followed by a place.

    One place will do where all others are followed by a few words and a colon, and are no lines of
    a checklist.
    """
    if all(begin.named for begin in begins):
        return True
    named = [names_place(head) for head in heads]
    if sum(named) >= _NAME_A_PLACE * len(heads):
        return True
    return any(named) and all(
        place or _is_short_heading(text, begin.after, head)
        for begin, head, place in zip(begins, heads, named, strict=True)
    )


def _is_short_heading(text: str, start: int, head: str) -> bool:
    return (
        bool(head)
        and len(head.split()) <= SHORT_HEAD
        and text[start : start + len(head) + 1].endswith(":")
        and not is_field(head)
        and not NO_SPECIMEN.search(head)
    )


def _kind(label: str) -> str:
    return "number" if label.isdigit() else "roman" if len(label) > 1 else "letter"


def _is_of_kind(label: str, kind: str) -> bool:
    if kind == "roman":
        return _all_roman([label])
    return _kind(label) == kind


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
    """Whether a label is followed by what was found at once: no heading, but a list of findings."""
    head = _MARGIN.sub("", head)
    if names_procedure(head) or side_of(head):
        return False
    return bool(find_diagnoses(head) or find_findings(head))


def names_place(head: str) -> bool:
    """Whether a heading says where from, or how, a specimen was taken."""
    if not head or is_field(head):
        return False
    return bool(
        find_sites(head)
        or find_operated(head)
        or side_of(head)
        or names_specimen(head)
        or _PLACE.search(head)
    )


def _reach(text: str, begins: Sequence[_Begin]) -> Iterator[tuple[str, Stretch]]:
    """How far each part goes: to the next label, the next section, or the end of its line."""
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
