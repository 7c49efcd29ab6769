"""Markers of a whole text, each with the result that its words give it.

A result stands behind its marker or behind the last of several (ER and PR positive), or before
them (positive for CD20 and CD10, loss of MLH1).
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from histoeval.resources import load_toml
from histoeval.terms.values.marker_results import Result, read_result
from histoeval.terms.values.markers import MarkerName, named_markers
from histoeval.terms.values.stated import CRITICAL, MAJOR, MINOR, MODERATE, StatedValue

_BREAK = re.compile(r"[;\n]|(?<!\bH)(?<!\bC)\.(?=\s|$)")
_JOINED = re.compile(r"[\s,/&]*(?:and|or|plus|both)?[\s,/&]*", re.IGNORECASE)
_HEAD = re.compile(
    r"(?:,|\band\b|\bbut\b|\bwith\b|^|\()?\s*\b(?:positiv\w+|negativ\w+|loss|lost|retained|retention|intact|absen\w+"
    r"|no|not|without|reactiv\w+|immunoreactiv\w+|preserved|express\w*|lack\w*|wild[- ]type|mutated|amplified"
    r"|stain(?:s|ing)?)\b"
    r"(?:\s+(?:nuclear|diffuse|strong|focal|expression|staining|evidence|reactivity|stains?)){0,3}"
    r"(?:\s*(?:for|of|in|:|with))?\s*$",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\b(?:no|not|without|negative for|absence of|absent|lack of|nor|neither)"
    r"(?:\s+(?:evidence|presence|of|any|definite|detectable|organisms?|convincing)){0,3}\s*$",
    re.IGNORECASE,
)
_HEADING = re.compile(
    r"\b(?:positiv\w*|negativ\w*|loss|lost|retained|retention|intact|preserved|no loss|absen\w+|express\w*|lack\w*|mutated|wild[- ]type"
    r"|amplified|amplification|rearranged|rearrangement|reactiv\w+|immunoreactiv\w+)\b[\w\s,-]{0,30}?(?:\b(?:for|of|in|with)\b|:)?\s*(?:both\s+|the\s+|markers?\s+)*$",
    re.IGNORECASE,
)
_IN_SITU = re.compile(r"\b(?:[FCDS]ISH|ISH|in[- ]situ hybridi[sz]ation)\b[^;.]{0,60}?amplif", re.IGNORECASE)
_VARIANT = re.compile(
    r"\bexons? (?P<exon>\d+)(?: (?:in-frame )?(?P<change>del|ins|dup|mut|skip)\w*)?|\b(?:p\.)?(?-i:(?P<point>[A-Z]\d{2,4}(?:[A-Z]|fs|del)))\b",
    re.IGNORECASE,
)
_CHAIN = re.compile(r"\b(?P<chain>kappa|lambda|\u03ba|\u03bb)\b", re.IGNORECASE)
_POLYTYPIC = re.compile(r"\bpoly(?:typic|clonal)|\bno (?:light[- ]chain )?restriction|\bnot restricted|\bboth\b", re.IGNORECASE)
_RESTRICTED = re.compile(
    r"\b(?P<chain>kappa|lambda)\b[\s-]*(?:light[- ]chains?[\s-]*)?(?:only|restrict\w*|monotyp\w*|monoclon\w*|clonal|positive|\+|type|AL|amyloid)"
    r"|\b(?:restrict\w*|monotyp\w*|monoclon\w*|positive|AL)\b[\w\s(-]{0,24}?\b(?P<chain2>kappa|lambda)\b",
    re.IGNORECASE,
)
_GENES = frozenset({"c-MYC", "BCL2", "BCL6"})
_REARRANGED = re.compile(r"rearrang|translocat|break[- ]?apart", re.IGNORECASE)
_PD_L1 = (1.0, 50.0)
MISMATCH, LIGHT_CHAIN, VARIANT = "mismatch repair status", "light chain", " variant"


class _Group(NamedTuple):
    names: Sequence[MarkerName]

    @property
    def start(self) -> int:
        return self.names[0].start

    @property
    def end(self) -> int:
        return self.names[-1].end


@cache
def _data() -> dict[str, Any]:
    table = load_toml("terms/data/decisive.toml")
    organisms = {row["name"] for row in table["other"] if row.get("organism")}
    return {key: frozenset(table[key]) for key in ("critical", "variants")} | {
        "organisms": frozenset(table["organisms"]) | organisms,
        "proteins": frozenset(table["mismatch"]["proteins"]),
    }


@cache
def _others() -> tuple[tuple[str, re.Pattern[str]], ...]:
    rows = load_toml("terms/data/decisive.toml")["other"]
    return tuple((row["name"], re.compile(row["names"], re.IGNORECASE)) for row in rows)


@lru_cache(maxsize=1 << 11)
def read_marker_statements(text: str) -> tuple[StatedValue, ...]:
    """Markers with a polarity, decisive variants and the light chain that a text states."""
    found: list[StatedValue] = []
    start = 0
    for stop in [*_BREAK.finditer(text), None]:
        end = stop.start() if stop else len(text)
        found += _of_clause(text[start:end], start, "HER2" in text)
        start = stop.end() if stop else end
    return (*found, *_mismatch(found))


def _names(clause: str) -> list[MarkerName]:
    """The markers of the catalogue, and what else is looked for in a specimen."""
    names = named_markers(clause)
    for axis, pattern in _others():
        for found in pattern.finditer(clause):
            names = [each for each in names if each.end <= found.start() or found.end() <= each.start]
            names.append(MarkerName((axis,), found.start(), found.end()))
    return sorted(names, key=lambda each: each.start)


def _of_clause(clause: str, offset: int, about_her2: bool) -> Iterator[StatedValue]:
    groups = list(_groups(clause, _names(clause)))
    for at, group in enumerate(groups):
        end = groups[at + 1].start if at + 1 < len(groups) else len(clause)
        before = clause[groups[at - 1].end if at else 0 : group.start]
        yield from _of_group(group, before, clause[group.end : end], clause, offset)
    if not groups and about_her2 and (found := _IN_SITU.search(clause)):
        result = read_result(clause, "HER2")
        if result and result.polarity:
            yield _value("HER2", result, offset + found.start(), offset + len(clause))
    yield from _light_chain(clause, offset)


def _groups(clause: str, names: Sequence[MarkerName]) -> Iterator[_Group]:
    """Names that share a result, with nothing but commas between them."""
    held: list[MarkerName] = []
    for name in names:
        if held and not _JOINED.fullmatch(clause, held[-1].end, name.start):
            yield _Group(tuple(held))
            held = []
        held.append(name)
    if held:
        yield _Group(tuple(held))


def _of_group(
    group: _Group, before: str, behind: str, clause: str, offset: int
) -> Iterator[StatedValue]:
    head = _HEAD.search(behind)
    own = behind[: head.start()] if head and head.group().strip(" ,(") and _is_head(behind, head) else behind
    denied = _DENIED.search(before)
    for name in group.names:
        for marker in name.markers:
            result = _result(marker, clause[name.start : name.end], own, before, bool(denied))
            if result is not None and result.polarity:
                lead = denied or (None if re.search(r"[\w+]", own) else _HEADING.search(before))
                start = group.start - (len(before) - lead.start() if lead else 0)
                end = group.end + len(own.rstrip(" ,("))
                yield _value(_axis(marker, own), result, offset + start, offset + end)
            if marker in _data()["variants"] | {"CD117", "KRAS", "BRAF", "NRAS", "PDGFRA"}:
                for found in _VARIANT.finditer(own):
                    first = offset + name.start
                    yield StatedValue(
                        marker + VARIANT, frozenset({_variant(found)}), first, offset + group.end + found.end()
                    )


def _axis(marker: str, own: str) -> str:
    """The marker, or its rearrangement where that is what was looked for."""
    return f"{marker} rearrangement" if marker in _GENES and _REARRANGED.search(own) else marker


def _is_head(behind: str, head: re.Match[str]) -> bool:
    """Whether the last words behind a marker lead to the next one."""
    return head.end() == len(behind) and bool(re.search(r"(?:for|of|in|:|with|no|not|without)\s*$", head.group(), re.IGNORECASE))


def _variant(found: re.Match[str]) -> str:
    if found["point"]:
        return found["point"].lower()
    return f"exon {found['exon']} {(found['change'] or '').lower()}".strip()


def _result(marker: str, name: str, own: str, before: str, denied: bool) -> Result | None:
    phrase = own.strip(" ,:()=-\u2013") if own.strip() not in ("+", "-", "(+)", "(-)") else own.strip()
    if own.startswith(("+", "-")) and not re.match(r"-\s?[a-z]", own, re.IGNORECASE):
        phrase = own.strip(" ,")
    if re.match(r"[\s(]*(?:\u2212|-(?=[\s,/).]|$))", own) and not re.match(r"\s-\s", own):
        return Result("negative")
    if denied and not re.match(r"(?:is |are )?(?:positive|negative)", phrase):
        result = read_result(f"no {phrase}", marker)
        return result if result and result.polarity else Result("negative")
    if result := _with_polarity(read_result(phrase, marker) if phrase else None):
        return result
    if result := _with_polarity(read_result(f"{name} {phrase}", marker)):
        return result
    if heading := _HEADING.search(before):
        if result := _with_polarity(read_result(heading.group().strip(" :"), marker)):
            return result
    if marker in _data()["organisms"]:
        return Result("positive")
    return None


def _with_polarity(result: Result | None) -> Result | None:
    return result if result and (result.polarity or not result.tested) else None


def _value(marker: str, result: Result, start: int, end: int) -> StatedValue:
    low, high = (result.low or 0.0, result.high or 0.0) if result.low is not None else (-1.0, -1.0)
    return StatedValue(marker, frozenset({result.polarity or ""}), start, end, low, high)


def _light_chain(clause: str, offset: int) -> Iterator[StatedValue]:
    chains = {found["chain"].lower() for found in _CHAIN.finditer(clause)}
    if not chains:
        return
    if _POLYTYPIC.search(clause):
        options = {"polytypic"}
    elif len(chains) == 1:
        options = chains
    else:
        found = _RESTRICTED.search(clause)
        options = {(found["chain"] or found["chain2"]).lower()} if found else set()
    if options:
        first, *_, last = [*_CHAIN.finditer(clause)] * 2
        yield StatedValue(LIGHT_CHAIN, frozenset(options), offset + first.start(), offset + last.end())


def _mismatch(found: Sequence[StatedValue]) -> Iterator[StatedValue]:
    """Whether mismatch repair is deficient: by itself, by a protein lost, by unstable satellites."""
    proteins = _data()["proteins"]
    own = [each for each in found if each.axis in proteins]
    lost = [each for each in own if "negative" in each.options]
    for each in lost or own[:1]:
        yield _status(each, bool(lost))
    for each in found:
        if each.axis == "mismatch repair" and each.options <= {"positive", "negative"}:
            yield _status(each, "negative" in each.options)
        if each.axis == "microsatellite instability" and each.options <= {"positive", "negative"}:
            yield _status(each, "positive" in each.options)


def _status(each: StatedValue, deficient: bool) -> StatedValue:
    status = frozenset({"deficient" if deficient else "proficient"})
    return StatedValue(MISMATCH, status, each.start, each.end)


def marker_severity(one: StatedValue, other: StatedValue) -> int:
    """How severe it is to state one result for another; 0 where they agree."""
    if one.options & other.options:
        return _by_share(one, other) if one.axis == "PD-L1" else 0
    if one.axis.endswith(VARIANT):
        return _between_variants(one, other)
    if one.axis == LIGHT_CHAIN:
        return CRITICAL if "polytypic" in one.options | other.options else MAJOR
    critical = one.axis == MISMATCH or one.axis in _data()["critical"]
    if "equivocal" in one.options | other.options:
        return MAJOR if critical else MODERATE
    return CRITICAL if critical else MAJOR


def _between_variants(one: StatedValue, other: StatedValue) -> int:
    (here,), (there,) = one.options, other.options
    if here.startswith("exon") != there.startswith("exon") or here.startswith(there) or there.startswith(here):
        return 0
    return CRITICAL if one.axis.removesuffix(VARIANT) in _data()["variants"] else MAJOR


def _by_share(one: StatedValue, other: StatedValue) -> int:
    """Shares of cells that are counted by classes."""
    if one.low < 0 or other.low < 0:
        return 0
    here, there = (sum(each.low >= limit for limit in _PD_L1) for each in (one, other))
    if here == there:
        return MINOR if one.low != other.low else 0
    return CRITICAL if abs(here - there) > 1 else MAJOR
