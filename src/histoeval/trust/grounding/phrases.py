"""Words for an image encoder: short and plain, of what would be seen, without doubt or denial."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from histoeval.resources import load_toml
from histoeval.terms.findings import find_findings, finding_of, findings
from histoeval.terms.lexicon import any_of
from histoeval.terms.sites import find_sites, organ_of, site_tree, sites, system_of
from histoeval.terms.values.grades import read_grade

_TIERS = {"low": "low-grade", "intermediate": "intermediate-grade", "high": "high-grade"}
_REGIONS = "body_region"
"""Back or arm is no tissue that could be recognised under a microscope."""
_EDGES = " \t\r\n.,;:-/()[]\"'"
_ASIDE = re.compile(r"[(\[][^)\]]*[)\]]")
_STOP = re.compile(r"[.;:]+(?=\s|$)")
_GRADED = re.compile(r"\b(?:differentiated|grade|dysplasia|anaplastic)\b")
_RANKED = re.compile(r"\d|\b[ivx]+\b|\bgrade$|\bdifferentiation\b")
_ADJECTIVE = re.compile(r"\S+(?:ic|ing|ous|ed|al)")
_MAX_WORDS = 4
"""Of a descriptor; more is a sentence."""


def visual(text: str) -> str:
    """A text in lower case, on one line, without asides and words of doubt and denial."""
    words = _STOP.sub(" ", _ASIDE.sub(" ", text)).lower()
    words = _phrases("unsure").sub(" ", _phrases("denying").sub(" ", words))
    return " ".join(words.split()).strip(_EDGES)


def parted(text: str) -> tuple[str, bool]:
    """A text without its words of denial, and whether they deny all of it.

    "No necrosis" and "necrosis not seen" are denied; "polyp without dysplasia" is a polyp.
    """
    harmless = _phrases("harmless").sub(" ", text.lower())
    found = _phrases("denying").search(harmless)
    if found is None:
        return harmless, False
    before, after = (
        part.strip(_EDGES) for part in (harmless[: found.start()], harmless[found.end() :])
    )
    return before or after, not (before and after)


def noun_of(finding: str) -> str:
    """A finding that is no more than an adjective by its noun: "desmoplastic" is desmoplasia."""
    found = finding_of(finding) if _ADJECTIVE.fullmatch(finding) else None
    return finding if found is None else findings()[found.id].name.lower()


def is_vague(finding: str) -> bool:
    """Whether nothing is named that a patch could show: a margin, a mass, a verb by itself.

    Nor can it show what was seen with the naked eye: two words of that, or one of it alone.
    """
    found = {each.id for each in find_findings(finding)}
    gross = len(_phrases("gross").findall(finding))
    if not found:
        return gross > 0 or len(finding.split()) == 1
    return gross > 1 or found <= set(wording()["vague"])


def tissue_of(site: str) -> str | None:
    """The id of the tissue that a site is of: antrum is stomach, but rectum is rectum."""
    found = [match.id for match in find_sites(site) if system_of(match.id) != _REGIONS]
    if not found:
        return None
    deepest = max(found, key=site_tree().depth)
    distinct = wording()["tissues"]
    line = site_tree().lineage(deepest)
    return next((id_ for id_ in line if id_ in distinct), organ_of(deepest))


def name_of(tissue: str) -> str:
    """What a tissue is called, by its id."""
    return sites()[tissue].name.lower()


def grade_words(text: str) -> str:
    """A grade in words that describe; numbers of a system become low, intermediate or high."""
    plain = visual(text)
    if _GRADED.search(plain) and not _RANKED.search(plain):
        return plain
    grade = read_grade(text)
    return _TIERS.get(grade.tier or "", "") if grade is not None and grade.part is None else ""


def descriptor_words(text: str) -> str:
    """A descriptor, where it is something visible and not a whole sentence."""
    words = visual(text)
    long = len(words.split()) > _MAX_WORDS
    return "" if long or _phrases("unseen").search(words) else words


@cache
def _phrases(name: str) -> re.Pattern[str]:
    listed = [" ".join(each.split()) for each in wording()[name].split(",")]
    longest_first = sorted(filter(None, listed), key=lambda each: (-len(each), each))
    return any_of(longest_first, before=r"\b", after=r"\b", literal=True, flags=0)


def wording() -> dict[str, Any]:
    """The word lists for claims."""
    return load_toml("trust/grounding/data/phrases.toml")
