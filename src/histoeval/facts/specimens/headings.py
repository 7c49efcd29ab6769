"""Parts of a report without labels: lines or sentences headed by a site or a procedure."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from histoeval.facts.specimens.text import TAG, SpecimenText
from histoeval.reader.lexicon import is_field, names_procedure
from histoeval.reader.sentences import sentences
from histoeval.terms.sites import find_operated, find_sites, organ_of
from histoeval.terms.values.laterality import side_of

_HEADED = re.compile(
    r"^[ \t>*\u2022_-]{0,6}(?P<head>[A-Za-z\"](?:[^\n\r:.;|]|\.(?=\d)){2,110}?)"
    r"(?::(?=\s|\Z)|[ \t][-\u2013\u2014|][ \t])",
    re.MULTILINE,
)
_HEADED_SENTENCE = re.compile(
    r"(?:\A|(?<=[.;]\s))(?P<head>[A-Z](?:[^\n\r:.;|]|\.(?=\d)){2,70}?):(?=\s)"
)
_OVER_LIST = re.compile(
    r"^[ \t]{0,4}(?P<head>[A-Za-z][^\n\r:.;]{3,110}?):?[ \t]{0,8}"
    r"(?=[\n\r]{1,4}[ \t]{0,8}[-*>\u2022][ \t])",
    re.MULTILINE,
)
# Words of a head that is not the head of a specimen, but of a line of a checklist
NO_SPECIMEN = re.compile(
    r"\b(?:margins?|stag(?:e|ing)|grade|type|size|receptors?|immuno\w*|ihc|background|comment|note|"
    r"addendum|amended|summary|synops\w*|synoptic|diagnos[ie]s|history|procedure|invasion|extension|"
    r"extent|site|histology|component|necrosis|budding|biomarkers?|fish|"
    r"molecular|stains?|immunostains|final|frozen|protocol|data ?set|pt|pn|"
    r"negative|positive|other|distant|depth|activity|dysplasia|granulomas?|tumou?r (?:\w+)|"
    r"characteristics|lines?|background \w+)\b",
    re.IGNORECASE,
)
# A line of a checklist on the specimen that is named above it
_CHECKLIST = re.compile(
    r"[ \t]{0,8}(?:(?:histolog\w*|tumou?r) )?(?:type|grade|size|subtype|margins?|depth|extent|"
    r"histology|extension|invasion|greatest dimension|dimensions?|differentiation|focality|in situ|"
    r"doi|breslow|\w{1,24} invasion|necrosis|mitos[ei]s|mitotic \w+|weight|diagnosis|procedure|"
    r"excision)[^:\n]{0,24}:[ \t]",
    re.IGNORECASE,
)
# What follows the name of an organ in the title of a report
_TITLE = re.compile(
    r"\s{0,4}(?:synop\w+|report|check ?list|data ?set|protocol|case summary)\b", re.IGNORECASE
)
_NUMBERED_PLACE = re.compile(
    r"\b\d{1,2}(?::00| o.?clock|[RL])\b|\b(?:station|level|segment|quadrant|ebus)\b", re.IGNORECASE
)
MAX_PARTS = 60  # A text of more labels is not divided
# How many words a heading has that names no known place, but stands between others that do
SHORT_HEAD = 3


def headed_parts(text: str) -> tuple[SpecimenText, ...]:
    """Parts by lines or sentences that begin with a site or a procedure."""
    lines = _heads(text, _HEADED, _OVER_LIST)
    if parts := _under_heads(text, lines):
        return parts
    within = _heads(text, _HEADED_SENTENCE)
    if min(within, default=1):
        return ()  # prose, which only comes to a heading later
    return _under_heads(text, within, within=True)


def _heads(text: str, *patterns: re.Pattern[str]) -> dict[int, str]:
    """Lines that may be the heading of a specimen, by where they stand."""
    every = {
        found.start("head"): head
        for pattern in patterns
        for found in pattern.finditer(text)
        if (head := _whole_head(text, found)) and not _TITLE.match(text, found.end())
    }
    named = [at for at, head in every.items() if _is_specimen(head)]
    lines = {at: text.rfind("\n", 0, at) + 1 for at in every}
    if items := {at for at in every if text[lines[at] : at].strip()[:1] in tuple("-*>\u2022")}:
        of_items = _are_specimens([every[at] for at in named if at in items], listed=True)
        every = {
            at: head
            for at, head in every.items()
            if (of_items and not _OVER_LIST.match(text, lines[at])) or (at in items) == of_items
        }
        named = [at for at in named if at in every]
    listed = sum(1 for pattern in patterns for _ in pattern.finditer(text)) > len(every)
    if not _are_specimens([every[at] for at in named], listed=listed):
        return {}
    between = range(min(named, default=0), max(named, default=0) + 1)
    return {
        at: head
        for at, head in every.items()
        if at in named or (at in between and len(head.split()) <= SHORT_HEAD)
    }


def _whole_head(text: str, match: re.Match[str]) -> str:
    """A heading; one of a line in a checklist that gives the label of a part, with that line."""
    head = match["head"].strip()
    if TAG.search(head) and not _is_specimen(head):
        return head + text[match.end("head") :].split("\n", 1)[0]
    return "" if NO_SPECIMEN.search(head) or is_field(head) else head


def _are_specimens(heads: Sequence[str], *, listed: bool) -> bool:
    """True if headings are of specimens, and not of the lines of a checklist on one of them.

    Two say how, on which side or by number where they were taken; or each is of an organ of its
    own, and no line says grade or margin.
    """
    if sum(bool(side_of(head)) or names_procedure(head) for head in heads) > 1:
        return True
    if len({head for head in heads if _NUMBERED_PLACE.search(head)}) > 1:
        return True
    organs = [organ_of(sites[0].id) for head in heads if (sites := find_sites(head))]
    return not listed and len(organs) == len(heads) == len(set(organs))


def _under_heads(
    text: str, heads: Mapping[int, str], *, within: bool = False
) -> tuple[SpecimenText, ...]:
    """Parts under headings: their line and a list below it; inside of a line, a sentence."""
    if not 2 <= len({head.casefold() for head in heads.values()}) <= MAX_PARTS:
        return ()
    starts = sorted(heads)
    parts = []
    for start, following in pairwise([*starts, len(text)]):
        lines = text[start:following].splitlines(keepends=True)
        end = start + len(lines[0])
        if within:
            first = next(iter(sentences(text[start:following])), None)
            end = start + first.end if first else following
        for line in () if within else lines[1:]:
            is_item = line.lstrip()[:1] in tuple("-*>\u2022") or _CHECKLIST.match(line)
            if line.strip() and not is_item:
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
