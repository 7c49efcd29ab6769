"""The specimens of a report: which stretches of its text are about which of them.

Parts are labelled (`A.`, `2)`, `III:`, `Part 4`, `Specimen B -`, `#5`), or they are lines headed by
a site or a procedure. What stands under a label that comes again, in the microscopy or in an
addendum, belongs to the same part, and so does a sentence that refers to one ("positive in part
B"). All other text is common to the parts.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from statistics import median

from histoeval.reader.lexicon import is_field, names_procedure, names_specimen
from histoeval.reader.section_titles import OTHER, PART
from histoeval.reader.sections import sections
from histoeval.reader.sentences import sentences
from histoeval.report import Entity, Report
from histoeval.terms.findings import find_findings
from histoeval.terms.naming import find_diagnoses
from histoeval.terms.sites import find_operated, find_sites, organ_of
from histoeval.terms.values.laterality import side_of

Stretch = tuple[int, int]

_MARK = r"(?P<{0}>[A-Z]|\d{{1,2}}|[IVX]{{2,5}})"
_NAMED = r"(?:part|specimen|sample|jar|pot|container|bottle|vial|twin|fetus|triplet)[ \t]{0,2}(?:no\.?[ \t]?)?#?[ \t]?"
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
_PLACE_FIELD = re.compile(
    r"\s{0,8}(?:(?:site|procedure|specimen|location|source|organ|anatomic(?:al)? site|side)\b"
    r"(?:[ ]?[/,&][ ]?|[ ]and[ ])?){1,3}[ \t]?:[ \t]{0,4}",
    re.IGNORECASE,
)
"""A line below a label that gives the place as if in a checklist."""
_MAX_HEAD = 160
_MAX_CHARS, _MAX_PARTS = 60_000, 60
"""A longer text, or one of more labels, is not divided."""
_HEADED = re.compile(
    r"^[ \t>*\u2022_-]{0,6}(?P<head>[A-Za-z\"](?:[^\n\r:.;|]|\.(?=\d)){2,110}?)"
    r"(?::(?=\s|\Z)|[ \t][-\u2013\u2014|][ \t])",
    re.MULTILINE,
)
_HEADED_SENTENCE = re.compile(
    r"(?:\A|(?<=[.;]\s))(?P<head>[A-Z](?:[^\n\r:.;|]|\.(?=\d)){2,70}?):(?=\s)"
)
_OVER_LIST = re.compile(
    r"^[ \t]{0,4}(?P<head>[A-Za-z][^\n\r:.;]{3,110}?):?[ \t]{0,8}(?=[\n\r]{1,4}[ \t]{0,8}[-*>\u2022][ \t])",
    re.MULTILINE,
)
_NO_SPECIMEN = re.compile(
    r"\b(?:margins?|stag(?:e|ing)|grade|type|size|receptors?|immuno\w*|ihc|background|comment|note|"
    r"addendum|amended|summary|synops\w*|synoptic|diagnos[ie]s|history|procedure|invasion|extension|"
    r"extent|site|histology|component|necrosis|budding|biomarkers?|fish|"
    r"molecular|stains?|immunostains|final|frozen|protocol|data ?set|pt|pn|"
    r"negative|positive|other|distant|depth|activity|dysplasia|granulomas?|tumou?r (?:\w+)|"
    r"characteristics|lines?|background \w+)\b",
    re.IGNORECASE,
)
"""Words of a head that is not the head of a specimen, but of a line of a checklist."""
_CHECKLIST = re.compile(
    r"[ \t]{0,8}(?:(?:histolog\w*|tumou?r) )?(?:type|grade|size|subtype|margins?|depth|extent|histology|"
    r"extension|invasion|greatest dimension|dimensions?|differentiation|focality|in situ|doi|breslow|"
    r"\w{1,24} invasion|necrosis|mitos[ei]s|mitotic \w+|weight|diagnosis|procedure|excision)"
    r"[^:\n]{0,24}:[ \t]",
    re.IGNORECASE,
)
"""A line of a checklist on the specimen that is named above it."""
_TITLE = re.compile(
    r"\s{0,4}(?:synop\w+|report|check ?list|data ?set|protocol|case summary)\b", re.IGNORECASE
)
"""What follows the name of an organ in the title of a report."""
_MARGIN = re.compile(r"\bmargins?\b", re.IGNORECASE)
_PLACE = re.compile(
    r"\b\d{1,2}(?::00| o.?clock| cm\b)|\b(?:level|station|segment|quadrant|margin|base|apex|mid|"
    r"anterior|posterior|upper|lower|superior|inferior|medial|lateral|proximal|distal|wash\w*|fluid|"
    r"nodes?|nodule|lesion|polyps?|mass|lobe|wall|fornix|lip|smear|eus|ebus)\b",
    re.IGNORECASE,
)
_NUMBERED_PLACE = re.compile(
    r"\b\d{1,2}(?::00| o.?clock|[RL])\b|\b(?:station|level|segment|quadrant|ebus)\b", re.IGNORECASE
)
_ONE = r"(?:[A-Z]|\d{1,2}|[IVX]{2,5})"
_LIST = rf"{_ONE}(?:(?:,[ ]|,?[ ](?:and|or)[ ]|[ ]?&[ ]?){_ONE}(?![\w/+%]))*"
_REFERENCE = re.compile(
    rf"(?i:\b(?:parts?|specimens?|samples?|pots?|jars?|tumou?rs?|twins?)[ \t])(?P<part>{_LIST})(?![\w/+])"
    rf"|(?i:\bblocks?[ \t])(?P<block>[A-Z])\d{{0,2}}\b"
    rf"|\(#?(?P<bracket>{_LIST})\)|(?:\A|(?<=[.;:][ \t]))(?P<lead>{_ONE})[ \t]?[-:][ \t]"
    r"|(?<!\d )\b(?:in|on|of|from|for)[ \t]"
    rf"(?P<prep>[A-Z](?:(?:,[ ]|,?[ ]and[ ])[A-Z](?!\w))*(?=[\s,.;:)]|\Z)|\d{{1,2}}(?=[:;)]))"
)
"""A sentence that is about a part: in part B, (C), on A and B, block A2."""
_TAG = re.compile(
    rf"\(#?(?:(?:part|specimen|pot|sample|jar)[ ]#?)?(?P<tag>{_ONE}|[a-h])(?=[,;)]|\Z)", re.IGNORECASE
)
_EACH = re.compile(rf"\b{_ONE}\b")
_CLAUSE_START = re.compile(r"(?:\A|[.;:]\s|,\s(?:and\s|but\s|while\s|whereas\s)?)[^.;:,]{0,2}\Z")
_ROMANS = {"I": 1, "V": 5, "X": 10}
_SPARE = 2
"""How many labels of a sequence may be missing."""
_NAME_A_PLACE = 0.5
_SHORT_HEAD = 3
"""How many words a heading has that names no known place, but stands between others that do."""
_SUPERSEDED = re.compile(
    r"^[ \t]{0,8}frozen[^\n:]{0,60}:[^\n]*"
    r"|\b(?:FS|frozen(?:[ ]sections?)?)\b[ ]?(?:[:(-]|was|is|:)[^.;\n)]*"
    r"|\b(?:original|initial|previous|earlier)(?:ly)?[ ](?:report(?:ed)?|diagnosis|stated|issued)\b"
    r"[^.;\n)]*",
    re.IGNORECASE | re.MULTILINE,
)
_LATER = re.compile(r"\b(?:final|permanents?|paraffin|amended|corrected|revised)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SpecimenText:
    """One part of a report: what it is called, and where the report speaks of it."""

    label: str
    """Its letter or number; empty where it has only a heading."""
    heading: str
    """The site and the procedure, as far as the report names them with the label."""
    stretches: tuple[Stretch, ...]
    labels: tuple[Stretch, ...] = ()
    """Where its label stands."""

    @property
    def name(self) -> str:
        """Label and heading, to be shown."""
        heading = " ".join(self.heading.split())
        return f"{self.label}: {heading}" if self.label and heading else self.label or heading

    @property
    def tag(self) -> str:
        """Its label, or the one that its heading gives in brackets."""
        found = _TAG.search(self.heading)
        return self.label or (found["tag"].upper() if found else "")

    def has(self, place: int) -> bool:
        """Whether a place of the text is in it."""
        return any(start <= place < end for start, end in self.stretches)


@dataclass(frozen=True, slots=True)
class _Begin:
    """Where a part begins, or continues."""

    start: int
    after: int
    label: str
    named: bool = False
    """It says that it is one: part 2, specimen B."""


@lru_cache(maxsize=1 << 10)
def specimens_of_text(text: str) -> tuple[SpecimenText, ...]:
    """The parts that a report is written in; none where it has only one, or they are not clear."""
    if len(text) > _MAX_CHARS:
        return ()
    begins = _labelled(text, _AT_LINE)
    return _parts(text, _and_following(text, begins)) or _parts(text, begins) or _headed(text)


def superseded(text: str) -> tuple[Stretch, ...]:
    """What a report says itself was replaced: a frozen section before the final diagnosis."""
    if not _LATER.search(text):
        return ()
    return tuple(found.span() for found in _SUPERSEDED.finditer(text))


def outside(stretches: Iterable[Stretch], length: int) -> tuple[Stretch, ...]:
    """What is left of a text."""
    found, at = [], 0
    for start, end in sorted(stretches):
        if start > at:
            found.append((at, start))
        at = max(at, end)
    return (*found, (at, length)) if at < length else tuple(found)


def only(report: Report, stretches: Sequence[Stretch]) -> Report:
    """A report with all but some stretches blank; what stays keeps its place."""
    text = list(" " * len(report.text))
    for place, character in enumerate(report.text):
        if character in "\n\r":
            text[place] = character
    for start, end in stretches:
        text[start:end] = report.text[start:end]
    kept = {
        place: entity
        for place, whole in enumerate(report.entities)
        if (entity := _within(whole, stretches))
    }
    at = {old: new for new, old in enumerate(kept)}
    relations = tuple(
        each.model_copy(update={"head": at[each.head], "tail": at[each.tail]})
        for each in report.relations
        if each.head in at and each.tail in at
    )
    entities = tuple(kept.values())
    return report.model_copy(
        update={"text": "".join(text), "entities": entities, "relations": relations}
    )


def _within(entity: Entity, stretches: Iterable[Stretch]) -> Entity | None:
    """An entity of one of some stretches, without the label that was read with it: 1. 38 cm."""
    for start, end in stretches:
        if start <= entity.start and entity.end <= end:
            return entity
        if entity.start < start < entity.end <= end:
            text = entity.text[start - entity.start :]
            return entity.model_copy(update={"text": text, "start": start})
    return None


# --- labels --------------------------------------------------------------------------------------


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
    if not 2 <= len(labels) <= _MAX_PARTS or not numbers or max(numbers) > len(labels) + _SPARE:
        return ()
    heads = {label: _head(text, firsts[label].after) for label in labels}
    if not _are_labels(text, [firsts[label] for label in labels], list(heads.values())):
        return ()
    taken = [(each.start, each.after) for each in begins]
    reach = list(_reach(text, begins))
    referring = _referring(text, labels, outside([*taken, *(each for _, each in reach)], len(text)))
    return tuple(
        SpecimenText(
            label,
            heads[label],
            (
                *(stretch for each, stretch in reach if each == label),
                *(stretch for each, stretch, _ in referring if each == label),
            ),
            (
                *((each.start, each.after) for each in begins if each.label == label),
                *(span for each, _, written in referring if each == label for span in written),
            ),
        )
        for label in labels
    )


def _are_labels(text: str, begins: Sequence[_Begin], heads: Sequence[str]) -> bool:
    """Whether labels are of specimens: they say so, or half of them are followed by a place.

    One place will do where all others are followed by a few words and a colon, and are no lines of
    a checklist.
    """
    if all(begin.named for begin in begins):
        return True
    named = [_names_place(head) for head in heads]
    if sum(named) >= _NAME_A_PLACE * len(heads):
        return True
    return any(named) and all(
        place or _is_short_heading(text, begin.after, head)
        for begin, head, place in zip(begins, heads, named, strict=True)
    )


def _is_short_heading(text: str, start: int, head: str) -> bool:
    return (
        bool(head)
        and len(head.split()) <= _SHORT_HEAD
        and text[start : start + len(head) + 1].endswith(":")
        and not is_field(head)
        and not _NO_SPECIMEN.search(head)
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


def _names_place(head: str) -> bool:
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


_Referring = tuple[str, Stretch, tuple[Stretch, ...]]
"""A label, what is said of its part outside of it, and where the label stands in that."""


def _referring(
    text: str, labels: Collection[str], stretches: Iterable[Stretch]
) -> list[_Referring]:
    """The sentences in some stretches that refer to parts."""
    return [
        found
        for start, end in stretches
        for sentence in sentences(text[start:end])
        for found in _references(text, start + sentence.start, start + sentence.end, labels)
    ]


@dataclass(frozen=True, slots=True)
class _Reference:
    """Where a sentence refers to parts."""

    start: int
    end: int
    labels: frozenset[str]
    written: tuple[Stretch, ...]
    leads: bool
    """What is said of them follows: A: positive. Else it stands before: positive in A."""


def _references(
    text: str, start: int, end: int, labels: Collection[str]
) -> Iterator[_Referring]:
    """What a sentence says of the parts that it refers to.

    All of it where it refers to them once; else from each reference to the next, or from each to
    the one before (amplified in A; not amplified in B). Numbers of parts are left out: they are no
    findings.
    """
    named = list(_refers(text, start, end, labels))
    if not named:
        return
    leads = named[0].leads
    cuts = [each.start if leads else each.end for each in named]
    cuts = [start, *(cuts[1:] if leads else cuts[:-1]), end]
    for each, (first, last) in zip(named, pairwise(cuts), strict=True):
        written = tuple(span for span in each.written if text[slice(*span)].isdigit())
        inside = [(a - first, b - first) for a, b in written]
        for a, b in outside(inside, last - first):
            if any(map(str.isalnum, text[first + a : first + b])):
                for label in sorted(each.labels):
                    yield label, (first + a, first + b), written


def _refers(text: str, start: int, end: int, labels: Collection[str]) -> Iterator[_Reference]:
    for each in _REFERENCE.finditer(text, start, end):
        group = next(name for name, found in each.groupdict().items() if found)
        written = [
            (each.start(group) + found.start(), each.start(group) + found.end())
            for found in _EACH.finditer(each[group])
        ] or [each.span(group)]
        meant = frozenset(text[a:b] for a, b in written)
        if meant <= set(labels):
            leads = text[each.end() : each.end() + 1] == ":" or bool(
                each["lead"] or _CLAUSE_START.search(text[start : each.start()])
            )
            yield _Reference(each.start(), each.end(), meant, tuple(written), leads)


# --- headings without labels ---------------------------------------------------------------------


def _headed(text: str) -> tuple[SpecimenText, ...]:
    """Parts by lines or sentences that begin with a site or a procedure."""
    lines = _heads(text, _HEADED, _OVER_LIST)
    if found := _under_heads(text, lines):
        return found
    within = _heads(text, _HEADED_SENTENCE)
    if min(within, default=1):
        return ()  # prose, which only comes to a heading later
    return _under_heads(text, within, within=True)


def _heads(text: str, *patterns: re.Pattern[str]) -> dict[int, str]:
    """What may be the heading of a specimen, by where it stands."""
    every = {
        found.start("head"): head
        for pattern in patterns
        for found in pattern.finditer(text)
        if (head := _whole_head(text, found)) and not _TITLE.match(text, found.end())
    }
    named = [at for at, head in every.items() if _is_specimen(head)]
    items = {at for at in every if _is_item(text, at)}
    if items and not _are_specimens([every[at] for at in named if at in items], listed=True):
        every = {at: head for at, head in every.items() if at not in items}
        named = [at for at in named if at in every]
    elif items and _are_specimens([every[at] for at in named if at in items], listed=True):
        every = {at: head for at, head in every.items() if at in items or not _is_over(text, at)}
        named = [at for at in named if at in every]
    listed = sum(1 for pattern in patterns for _ in pattern.finditer(text)) > len(every)
    if not _are_specimens([every[at] for at in named], listed=listed):
        return {}
    between = range(min(named, default=0), max(named, default=0) + 1)
    return {
        at: head
        for at, head in every.items()
        if at in named or (at in between and len(head.split()) <= _SHORT_HEAD)
    }


def _whole_head(text: str, found: re.Match[str]) -> str:
    """A heading; one of a line in a checklist that gives the label of a part, with that line."""
    head = found["head"].strip()
    if _TAG.search(head) and not _is_specimen(head):
        return head + text[found.end("head") :].split("\n", 1)[0]
    return "" if _NO_SPECIMEN.search(head) or is_field(head) else head


def _is_item(text: str, at: int) -> bool:
    """Whether what begins at a place is an item of a list."""
    return text[text.rfind("\n", 0, at) + 1 : at].strip()[:1] in tuple("-*>\u2022")


def _is_over(text: str, at: int) -> bool:
    """Whether what begins at a place is the heading of a list."""
    return bool(_OVER_LIST.match(text, text.rfind("\n", 0, at) + 1))


def _are_specimens(heads: Sequence[str], *, listed: bool) -> bool:
    """Whether headings are of specimens, and not of the lines of a checklist on one of them.

    Two say how or on which side they were taken; or each is of an organ of its own, and no line
    says grade or margin.
    """
    if sum(bool(side_of(head)) or names_procedure(head) for head in heads) > 1:
        return True
    organs = [organ_of(sites[0].id) for head in heads if (sites := find_sites(head))]
    return not listed and len(organs) == len(heads) == len(set(organs))


def _under_heads(
    text: str, heads: Mapping[int, str], *, within: bool = False
) -> tuple[SpecimenText, ...]:
    """What stands under headings: their line and a list below it; inside of a line, a sentence."""
    if not 2 <= len({head.casefold() for head in heads.values()}) <= _MAX_PARTS:
        return ()
    starts = sorted(heads)
    parts = []
    for start, following in pairwise([*starts, len(text)]):
        lines = text[start:following].splitlines(keepends=True)
        end = _sentence_end(text, start, following) if within else start + len(lines[0])
        for line in () if within else lines[1:]:
            if line.strip() and not _is_below(line):
                break
            end += len(line)
        parts.append(SpecimenText("", heads[start], ((start, end),)))
    return tuple(parts)


def _is_below(line: str) -> bool:
    """Whether a line goes on about the specimen above: an item of a list, a line of a checklist."""
    return line.lstrip()[0] in "-*>\u2022" or bool(_CHECKLIST.match(line))


def _sentence_end(text: str, start: int, end: int) -> int:
    """Where the sentence ends that begins at a place."""
    return start + next((each.end for each in sentences(text[start:end])), end - start)


def _is_specimen(head: str) -> bool:
    return bool(
        find_sites(head)
        or find_operated(head)
        or side_of(head)
        or names_procedure(head)
        or _NUMBERED_PLACE.search(head)
    )
