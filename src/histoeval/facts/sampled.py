"""Origin of a specimen: the sites of its heading, where its tumour arose, a transplant."""

import re
from functools import lru_cache

from histoeval.terms.matching import NameMatch
from histoeval.terms.sites import find_operated, find_sites

_HEADING = re.compile(r"[^\n;]{1,160}?(?=\.\s|\.$|[\n;]|:\s|$)")
_ARISES = re.compile(
    r"\b(?:carcinomas?|adenocarcinoma|sarcoma|tumou?r|lymphoma|melanoma|neoplasm|adenoma)s?"
    r"(?: \([^()\n]{1,30}\))? (?:of|arising in|arising from|primary in)"
    r"(?: (?:the|a|left|right|both)){0,2} (?=\w)",
    re.IGNORECASE,
)
_GRAFT = re.compile(
    r"(?<!for )(?<!for a )\b(?:allo-?grafts?|grafts?|transplant(?:s|ed)?|homograft)\b"
    r"(?!\W+(?:list|candidate|work-?up|assessment|referral|recipient awaiting|versus))",
    re.IGNORECASE,
)
_OF_TRANSPLANTATION = re.compile(
    r"\b(?:allo-?\w*|graft\w*|\w*transplant\w*|reject\w+|TCMR|ABMR|AMR|ACR|banff|ISHLT|RAI|quilty"
    r"|donor|recipient|explant\w*|GVHD|protocol biopsy|OLT|reperfusion)\b",
    re.IGNORECASE,
)
_KIND = re.compile(r"[ -]?(?:sub)?type\b| phenotype\b|[ -]metaplasia\b|\)", re.IGNORECASE)
_NATIVE = re.compile(r"\bnative\b", re.IGNORECASE)
_TWIN = re.compile(
    r"\b(?:twins?|triplets?|(?:di|mono)chorionic|(?:di|mono)amniotic)\b", re.IGNORECASE
)
_SINGLE = re.compile(r"\bsingleton\b", re.IGNORECASE)

Named = tuple[int, int]  # where some words stand


@lru_cache(maxsize=1 << 10)
def heading_sites(text: str) -> tuple[NameMatch, ...]:
    """The sites of the first words of a report, by name or by an operation."""
    heading = _HEADING.match(text.lstrip())
    if heading is None:
        return ()
    lead = len(text) - len(text.lstrip())
    words = heading.group()
    return tuple(
        NameMatch(match.start + lead, match.end + lead, match.id)
        for match in (*find_sites(words), *find_operated(words))
        if not _KIND.match(words, match.end)
    )


@lru_cache(maxsize=1 << 10)
def tumour_sites(text: str) -> tuple[NameMatch, ...]:
    """The sites that a report calls a tumour one of: carcinoma of the ampulla."""
    sites: list[NameMatch] = []
    for match in _ARISES.finditer(text):
        end = match.end()
        sites_named = find_sites(text[end : end + 40])
        if sites_named and sites_named[0].start == 0:
            sites.append(NameMatch(end, end + sites_named[0].end, sites_named[0].id))
    return tuple(sites)


@lru_cache(maxsize=1 << 10)
def host_of(text: str) -> tuple[str, Named] | None:
    """Host of a text, with where it says so: `native`, `graft`, `several` or `single`."""
    heading = _HEADING.match(text.lstrip())
    end = len(text) - len(text.lstrip()) + (heading.end() if heading else 0)
    for kind, pattern in (
        ("native", _NATIVE),
        ("graft", _GRAFT),
        ("several", _TWIN),
        ("single", _SINGLE),
    ):
        if match := pattern.search(text, 0, end):
            return kind, match.span()
    return None


def may_be_graft(text: str) -> bool:
    return _OF_TRANSPLANTATION.search(text) is not None
