"""Rules: a tumour of one organ in a specimen of another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from histoeval.report import EntityType
from histoeval.terms.sites import find_sites, organ_of, site_closeness
from histoeval.trust.logic.impression import concludes
from histoeval.trust.logic.lexicon import listed, pattern
from histoeval.trust.logic.rules.presence import clash, is_prose
from histoeval.trust.logic.sentences import ReportSentence
from histoeval.trust.logic.specimen import ReportMention, Specimen
from histoeval.trust.results import Contradiction

_CONSISTS = re.compile(
    r"\b(?:specimens?|sections?|biops(?:y|ies)|tissue|fragments?|tumou?r|carcinoma|lesion|neoplasm"
    r"|mass)\b[^.;]{0,30}?\b(?:consists? of|composed of|shows?|contains?|reveals?|arises?|arising"
    r"|located|is in|are of|is of|lies|was found in|centred)\b",
    re.IGNORECASE,
)
_NOT = re.compile(r"\b(?:no|not|without|resembl\w+|like)\b", re.IGNORECASE)
_LINKS = ("of the", "of", "in the")


def site(specimen: Specimen) -> Iterator[Contradiction]:
    """What was sent is of one organ, and the tumour that is concluded arose in one far from it."""
    texts = [passage.text for passage in specimen.passages]
    if not is_prose(specimen) or any(pattern("from_elsewhere").search(text) for text in texts):
        return
    sent = list(_organs(specimen, specimen.passages[0])) if texts else []
    yield from _sent_from_elsewhere(specimen, sent)
    later = [e for e in specimen.made if e.passage != specimen.passages[0] and concludes(e.passage)]
    for final in later if sent else ():
        for place, organ in _organs(specimen, final.passage):
            linked = specimen.text[final.span.end : place.span.start].strip().lower() in _LINKS
            if linked and all(site_closeness(organ, other) == 0 for _, other in sent):
                first = sent[0][0]
                why = f"{final.span.text} of {place.span.text}, in a specimen of {first.span.text}"
                yield clash("site", first, place, why)


def _sent_from_elsewhere(
    specimen: Specimen, sent: Sequence[tuple[ReportMention[object], str]]
) -> Iterator[Contradiction]:
    """A later sentence by which what was sent, or the tumour, is of an organ far away."""
    for passage in specimen.passages[1:] if sent else ():
        told = _CONSISTS.search(passage.text) and not _aside(passage)
        for place, organ in _organs(specimen, passage) if told else ():
            if all(site_closeness(organ, other) == 0 for _, other in sent):
                first = sent[0][0]
                why = f"{place.span.text}, in a specimen of {first.span.text}"
                yield clash("site", first, place, why)


def _aside(passage: ReportSentence) -> bool:
    return bool(pattern("beyond").search(passage.text) or _NOT.search(passage.text))


def _organs(
    specimen: Specimen, passage: ReportSentence
) -> Iterator[tuple[ReportMention[object], str]]:
    """The organs that a sentence names."""
    for each in specimen.entities:
        if each.passage != passage or each.value.type != EntityType.SITE:
            continue
        for match in find_sites(each.value.text):
            if (organ := organ_of(match.id)) and organ not in listed("tissues"):
                yield ReportMention(each.value, each.span, each.passage), organ
