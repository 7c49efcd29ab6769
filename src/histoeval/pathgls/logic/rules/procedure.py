"""Rule: a biopsy that is a resection elsewhere in the report, or the reverse."""

import re
from collections.abc import Iterator
from functools import cache

from histoeval.pathgls.logic.contradiction import clash
from histoeval.pathgls.logic.lexicon import ORGAN
from histoeval.pathgls.logic.sentences import ReportSentence
from histoeval.pathgls.logic.specimen import Specimen
from histoeval.pathgls.results import Contradiction
from histoeval.terms.lexicon import any_of

_THIS = re.compile(r"\b(?:the|this|these|present|our)\s+(?:[\w-]+\s+){0,2}$", re.IGNORECASE)
_AFTER_THIS = re.compile(r"\s*(?:site|cavity|tract|scar|channel)", re.IGNORECASE)


def procedure(specimen: Specimen) -> Iterator[Contradiction]:
    """A biopsy at the head that is a resection later, or the reverse."""
    if not specimen.is_of_one_lesion or not specimen.passages:
        return
    head = specimen.passages[0]
    for here, there in (("small", "large"), ("large", "small")):
        first = _procedure(here).search(head.text)
        if not first or _procedure(there).search(head.text):
            continue
        for passage in specimen.passages[1:]:
            found = _procedure(there).search(passage.text)
            if found and _is_this(found, passage):
                one, other = head.found(first), passage.found(found)
                why = f"{one.span.text} at the head, and {other.span.text}"
                yield clash("procedure", one, other, why)


def _is_this(found: re.Match[str], passage: ReportSentence) -> bool:
    """Whether a procedure is the one that is reported on."""
    before, after = passage.text[: found.start()], passage.text[found.end() :]
    aside = passage.has("supposed", "not_now") or _AFTER_THIS.match(after)
    return bool(_THIS.search(before)) and not aside


@cache
def _procedure(extent: str) -> re.Pattern[str]:
    return any_of(ORGAN.entry("procedures", extent))
