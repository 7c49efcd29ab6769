"""The specimens of a report: which stretches of its text are about which of them.

Parts are labelled (`A.`, `2)`, `III:`, `Part 4`, `Specimen B -`, `#5`), or they are lines headed by
a site or a procedure. What stands under a label that comes again, in the microscopy or in an
addendum, belongs to the same part, and so does a sentence that refers to one ("positive in part
B"). All other text is common to the parts.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
_NAMED = r"(?:part|specimen|sample|jar|pot|container)[ \t]{0,2}(?:no\.?[ \t]?)?#?[ \t]?"
_LABEL = (
    rf"(?:(?i:{_NAMED}){_MARK.format('named')}(?![\w/+])[ \t]?(?:[).:,]|[-\u2013\u2014](?=\s))?"
    rf"|\(?#?(?i:{_MARK.format('mark')})(?:\)[.:]?|[.:](?=\s|\Z|[A-Z\"])|,(?=\s)"
    r"|/(?=\s)|[ \t]?[-\u2013\u2014](?=\s))|#(?P<hash>\d{1,2})(?=[ \t])"
)
_BARE = r"(?P<bare>\d{1,2}(?=[ \t][A-Z][a-z])|[A-Z](?=[ \t]\())"
_AT_LINE = re.compile(rf"^[ \t>*\u2022_-]{{0,6}}(?:{_LABEL}|{_BARE}))[ \t]*", re.MULTILINE)
_AT_SENTENCE = re.compile(
    rf"(?:\A|(?<=[.;:][ \n])|(?<=[.;:][ \n]{{2}}))\s*{_LABEL}|(?P<bare>(?!)))[ \t]*"
)
_HEAD_END = re.compile(r":(?=\s|\Z|[A-Z])|[ \t][-\u2013\u2014|][ \t]|[.;](?=\s|\Z)|[\n\r|]")
_MAX_HEAD = 160
_HEADED = re.compile(
    r"^[ \t>*\u2022_-]{0,6}(?P<head>[A-Z\"](?:[^\n\r:.;|]|\.(?=\d)){2,110}?)"
    r"(?::(?=\s|\Z)|[ \t][-\u2013\u2014|][ \t])",
    re.MULTILINE,
)
_HEADED_SENTENCE = re.compile(
    r"(?:\A|(?<=[.;]\s))(?P<head>[A-Z](?:[^\n\r:.;|]|\.(?=\d)){2,70}?):(?=\s)"
)
_OVER_LIST = re.compile(
    r"^(?P<head>[A-Z][^\n\r:.;]{3,110}?):?[ \t]*(?=[\n\r]+[ \t]*[-*\u2022][ \t])", re.MULTILINE
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
_REFERENCE = re.compile(
    rf"(?i:\b(?:part|specimen|sample)s?[ \t]){_MARK.format('part')}(?![\w/+])"
    rf"|\(#?{_MARK.format('bracket')}\)|(?:\A|(?<=[.;:][ \t])){_MARK.format('lead')}[ \t]?[-:][ \t]"
)
_ROMANS = {"I": 1, "V": 5, "X": 10}
_SPARE = 2
"""How many labels of a sequence may be missing."""
_NAME_A_PLACE = 0.5
_SHORT_HEAD = 3
"""How many words a heading has that names no known place, but stands between others that do."""
_SUPERSEDED = re.compile(
    r"^[ \t]*frozen[^\n:]{0,60}:[^\n]*"
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

    def has(self, place: int) -> bool:
        """Whether a place of the text is in it."""
        return any(start <= place < end for start, end in self.stretches)


@dataclass(frozen=True, slots=True)
class _Begin:
    """Where a part begins, or continues."""

    start: int
    after: int
    label: str


@lru_cache(maxsize=1 << 10)
def specimens_of_text(text: str) -> tuple[SpecimenText, ...]:
    """The parts that a report is written in; none where it has only one, or they are not clear."""
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
        _Begin(found.start(), found.end(), label.upper())
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
    labels = list(dict.fromkeys([*(each.label for each in before), begin.label]))
    numbers = _numbers(labels)
    return len(numbers) > 1 and labels[-1] == begin.label and numbers[-1] == numbers[-2] + 1


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
    if len(labels) < 2 or not numbers or max(numbers) > len(labels) + _SPARE:
        return ()
    heads = {label: _head(text, firsts[label].after) for label in labels}
    if sum(map(_names_place, heads.values())) < _NAME_A_PLACE * len(heads):
        return ()
    taken = [(each.start, each.after) for each in begins]
    stretches = _with_references(text, labels, list(_reach(text, begins)), taken)
    return tuple(
        SpecimenText(
            label,
            heads[label],
            tuple(stretches[label]),
            tuple((each.start, each.after) for each in begins if each.label == label),
        )
        for label in labels
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


def _with_references(
    text: str,
    labels: Sequence[str],
    reach: Sequence[tuple[str, Stretch]],
    taken: Sequence[Stretch],
) -> dict[str, list[Stretch]]:
    """The stretches of each part, with the sentences elsewhere that refer to it."""
    found: dict[str, list[Stretch]] = {label: [] for label in labels}
    for label, stretch in reach:
        found[label].append(stretch)
    for start, end in outside([*taken, *(stretch for _, stretch in reach)], len(text)):
        for sentence in sentences(text[start:end]):
            at, until = start + sentence.start, start + sentence.end
            named = [
                (at + each.start(), label)
                for each in _REFERENCE.finditer(text[at:until])
                if (label := each["part"] or each["bracket"] or each["lead"]) in found
            ]
            if len(named) == 1:
                found[named[0][1]].append((at, until))
            for (place, label), (after, _) in pairwise([*named, (until, "")]):
                if len(named) > 1:
                    found[label].append((place, after))
    return found


# --- headings without labels ---------------------------------------------------------------------


def _headed(text: str) -> tuple[SpecimenText, ...]:
    """Parts by lines or sentences that begin with a site or a procedure."""
    lines = _heads(text, _HEADED, _OVER_LIST)
    if found := _under_heads(text, lines):
        return found
    within = _heads(text, _HEADED_SENTENCE)
    if min(within, default=1):
        return ()  # prose, which only comes to a heading later
    return _under_heads(text, within, whole=True)


def _heads(text: str, *patterns: re.Pattern[str]) -> dict[int, str]:
    """What may be the heading of a specimen, by where it stands."""
    every = {
        found.start("head"): found["head"].strip()
        for pattern in patterns
        for found in pattern.finditer(text)
        if not _NO_SPECIMEN.search(found["head"]) and not is_field(found["head"])
    }
    named = [at for at, head in every.items() if _is_specimen(head)]
    listed = sum(1 for pattern in patterns for _ in pattern.finditer(text)) > len(every)
    if not _are_specimens([every[at] for at in named], listed=listed):
        return {}
    between = range(min(named, default=0), max(named, default=0) + 1)
    return {
        at: head
        for at, head in every.items()
        if at in named or (at in between and len(head.split()) <= _SHORT_HEAD)
    }


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
    text: str, heads: Mapping[int, str], *, whole: bool = False
) -> tuple[SpecimenText, ...]:
    """What stands under headings: their line and a list below it, or all up to the next."""
    if len({head.casefold() for head in heads.values()}) < 2:
        return ()
    starts = sorted(heads)
    parts = []
    for start, following in pairwise([*starts, len(text)]):
        lines = text[start:following].splitlines(keepends=True)
        end = following if whole else start + len(lines[0])
        for line in () if whole else lines[1:]:
            if line.strip() and line.lstrip()[0] not in "-*\u2022":
                break
            end += len(line)
        parts.append(SpecimenText("", heads[start], ((start, end),)))
    return tuple(parts)


def _is_specimen(head: str) -> bool:
    return bool(
        find_sites(head)
        or find_operated(head)
        or side_of(head)
        or names_procedure(head)
        or _NUMBERED_PLACE.search(head)
    )
