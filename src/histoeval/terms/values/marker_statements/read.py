"""Markers of a whole text, each with the result that its words give it.

A result stands behind its marker or behind the last of several (ER and PR positive), or before
them (positive for CD20 and CD10, loss of MLH1).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import NamedTuple

from histoeval.resources import load_toml
from histoeval.terms.marker_wordings import plain_statements
from histoeval.terms.values.marker_results import Result, read_result
from histoeval.terms.values.marker_statements.decisive import (
    LIGHT_CHAIN,
    LIGHT_CHAINS,
    MISMATCH,
    MISMATCH_LOST,
    MISMATCH_PAIRS,
    REARRANGED,
    VARIANT,
    decisive_markers,
)
from histoeval.terms.values.marker_statements.results import (
    DENIED_NEAR,
    RESULT,
    STAIN,
    VARIANT_NAMED,
    MarkerPhrases,
    heading_before,
    result_of,
)
from histoeval.terms.values.markers import MarkerName, named_markers
from histoeval.terms.values.stated import StatedValue

_BREAK = re.compile(r"[;\n|]|(?<!\bH)(?<!\bC)\.(?=\s|$)")
_JOINED = re.compile(r"\)?[\s,/&]*(?:(?:and|or|nor|plus|both)[\s,/&]*)?|-|::", re.IGNORECASE)
_HEAD = re.compile(
    rf"\b(?:{RESULT}|no|not|nor|without|shows?|stain(?:s|ing)?)\b"
    r"(?:\s{1,4}(?:nuclear|diffuse|strong|focal|expression|staining|evidence|reactivity|stains?"
    r"|both|the)){0,3}"
    r"(?:\s{0,4}(?:for|of|in|:|with))?(?:\s{1,4}(?:both|the|nuclear))?\s{0,4}$",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\b(?:no|not|without|absence of|absent|lack of|nor|neither)"
    r"(?:\s+(?:evidence|presence|of|any|definite|detectable|nuclear|convincing|organisms?|show))"
    r"{0,3}\s*$"
    r"|\bneither\b[^;.]{0,30}$",
    re.IGNORECASE,
)
_SHOWN_BY = re.compile(
    r"\s{0,4}(?:\w+\s{1,4})?(?:on|by|with|using)\s{1,4}(?:the |both )?", re.IGNORECASE
)
_LEADING = re.compile(
    r"\s*(?:(?:is|are|was|were|being|again|both|all)\s+)*(?:not |non-?)?(?:amplified|positive"
    r"|negative|detected"
    r"|rearranged|mutated|wild[- ]type|retained|intact|lost|present|absent|methylated|unmethylated"
    r")\b",
    re.IGNORECASE,
)
_IN_SITU = re.compile(
    r"\b(?:[FCDS]ISH|ISH|in[- ]situ hybridi[sz]ation)\b[^;.]{0,60}?amplif", re.IGNORECASE
)
_HER2_SCORE = re.compile(
    r"[\s(:=]*(?:(?:IHC|negative|score|equivocal|positive)[\s(:,=]*)?([0-3])(?:\s?\+|(?![\w.%]|\s?%))",
    re.IGNORECASE,
)
_GENE_TEST = re.compile(r"rearrang|translocat|break|split|fusion|\bFISH\b", re.IGNORECASE)
# Words behind a marker that tell of another test than its stain
_OWN_AXES = tuple(
    (marker, re.compile(words, re.IGNORECASE), axis)
    for marker, words, axis in (
        ("MDM2 amplification", r"", "MDM2"),
        ("CD117", r"\bex(?:on)? ?\d|mutat|mutant|wild|variant", "KIT mutation"),
        ("PD-L1", r"\bCPS\b|\bcombined positive score\b", "PD-L1 CPS"),
        ("p16", r"\bdelet", "CDKN2A deletion"),
        ("MLH1", r"^\s*promoter|^\s*(?:hyper)?methyl", "MLH1 promoter methylation"),
    )
)


class _Group(NamedTuple):
    names: Sequence[MarkerName]

    @property
    def start(self) -> int:
        return self.names[0].start

    @property
    def end(self) -> int:
        return self.names[-1].end


class _Clause(NamedTuple):
    text: str
    start: int
    about_her2: bool
    about_genes: bool


class _Waiting(NamedTuple):
    markers: tuple[str, ...]
    start: int


_NOTHING = _Waiting((), 0)


@cache
def _others() -> tuple[re.Pattern[str], tuple[str, ...]]:
    """One pattern for all that the catalogue does not have, and what each of its groups is."""
    rows = load_toml("terms/data/decisive.toml")["other"]
    either = "|".join(f"(?P<of{at}>{row['names']})" for at, row in enumerate(rows))
    return re.compile(either, re.IGNORECASE), tuple(row["name"] for row in rows)


@lru_cache(maxsize=1 << 11)
def read_marker_statements(text: str) -> tuple[StatedValue, ...]:
    """Markers with a polarity, decisive variants and the light chain that a text states."""
    plainly = plain_statements(text)
    return tuple(
        replace(value, start=plainly.place(value.start), end=plainly.place(value.end, end=True))
        for value in _read_plain(plainly.text)
    )


def _read_plain(text: str) -> tuple[StatedValue, ...]:
    all_values: list[StatedValue] = []
    start, waiting = 0, _NOTHING
    about_her2, about_genes = "HER2" in text, bool(_GENE_TEST.search(text))
    for stop in [*_BREAK.finditer(text), None]:
        end = stop.start() if stop else len(text)
        words = text[start:end]
        if words and not words.isspace():
            values, waiting = _of_clause(_Clause(words, start, about_her2, about_genes), waiting)
            all_values += values
        else:
            waiting = _NOTHING
        start = stop.end() if stop else end
    # IDH is mutated where its commonest mutant is found; where that is not, another may be
    idh = [v for v in all_values if v.axis == "IDH1 R132H" and "positive" in v.options]
    return (
        *all_values,
        *mismatch_status(all_values),
        *(replace(value, axis="IDH") for value in idh),
    )


def _names(clause: str) -> list[MarkerName]:
    """The markers of the catalogue, and what else is looked for in a specimen."""
    names = named_markers(clause)
    pattern, axes = _others()
    for match in pattern.finditer(clause):
        start, end = match.span()
        names = [name for name in names if name.end <= start or end <= name.start]
        axis = axes[int((match.lastgroup or "of0").removeprefix("of"))]
        names.append(MarkerName((axis,), start, end))
    return sorted(names, key=lambda name: name.start)


def _of_clause(clause: _Clause, waiting: _Waiting) -> tuple[list[StatedValue], _Waiting]:
    """The values of a clause, and its markers that wait for a result in the next."""
    text = clause.text
    groups = list(_groups(text, _names(text)))
    if not groups:
        return [*_late(clause, waiting), *light_chain(text, clause.start)], _NOTHING
    all_values: list[StatedValue] = []
    used = False
    for at, group in enumerate(groups):
        end = groups[at + 1].start if at + 1 < len(groups) else len(text)
        between = text[groups[at - 1].end if at else 0 : group.start]
        behind, followed = text[group.end : end], at + 1 < len(groups)
        values, used = _of_group(clause, group, between, behind, followed=followed, used=used)
        if not values and all_values and _SHOWN_BY.fullmatch(between):
            # Stains by which something else was seen, or not: no fungi on PAS
            markers = [marker for name in group.names for marker in name.markers]
            values = [replace(all_values[-1], axis=marker) for marker in markers]
        all_values += values
    last = groups[-1]
    stated = {value.axis for value in all_values}
    left = tuple(m for name in last.names for m in name.markers if m not in stated)
    return [*all_values, *light_chain(text, clause.start)], _Waiting(
        left, clause.start + last.start
    )


def _late(clause: _Clause, waiting: _Waiting) -> Iterator[StatedValue]:
    """Results that stand in a clause of their own: HER2 by FISH; not amplified."""
    markers = waiting.markers if _LEADING.match(clause.text) else ()
    if not markers and clause.about_her2 and _IN_SITU.search(clause.text):
        markers, waiting = ("HER2",), _Waiting(("HER2",), clause.start)
    for marker in markers:
        result = read_result(clause.text, marker)
        if result and result.polarity:
            yield _value(marker, result, waiting.start, clause.start + len(clause.text))


def _groups(clause: str, names: Sequence[MarkerName]) -> Iterator[_Group]:
    """Names that share a result, with nothing but commas between them."""
    held: list[MarkerName] = []
    for name in names:
        if held and not _is_joined(held[-1], name, clause):
            yield _Group(tuple(held))
            held = []
        held.append(name)
    if held:
        yield _Group(tuple(held))


def _is_joined(first: MarkerName, second: MarkerName, clause: str) -> bool:
    """True if two names share a result: a list, or another name in brackets."""
    between = clause[first.end : second.start]
    if between.strip() == "(":
        return clause.startswith(")", second.end)
    if "," in between and STAIN.search(clause[second.start : second.end]):
        return not decisive_markers()["organisms"] & set(first.markers)
    return _JOINED.fullmatch(between) is not None


def _of_group(
    clause: _Clause, group: _Group, between: str, behind: str, *, followed: bool, used: bool
) -> tuple[list[StatedValue], bool]:
    """The values of markers that share a result, and whether the words behind them are used up."""
    hyphened = re.match(r"-\s?[a-z]", behind, re.IGNORECASE)
    head = _HEAD.search(behind) if followed and not hyphened else None
    own = behind[: head.start()] if head and head.group().strip() else behind
    before = "" if used else between
    denied, heading = _DENIED.search(before), heading_before(before)
    group_values: list[StatedValue] = []
    used = False
    for name in group.names:
        for marker in name.markers:
            phrases = MarkerPhrases(
                clause.text[name.start : name.end],
                own,
                behind,
                heading,
                denied is not None,
                name is group.names[-1],
                clause.text[: name.start].rstrip().endswith(",") and name is group.names[-1],
                bool(DENIED_NEAR.search(between)),
            )
            axis = _axis(marker, own, clause.about_genes)
            result, ahead, whole = result_of(marker, phrases)
            if axis in REARRANGED.values() and "intact" in own:
                result = Result("negative")
            used |= whole
            lead = (denied or heading) if ahead else None
            start = group.start - (len(before) - lead.start() if lead else 0)
            end = group.end + (0 if ahead else len((behind if whole else own).rstrip(" ,(")))
            if result is not None and result.polarity and axis not in LIGHT_CHAINS:
                value = _value(axis, result, clause.start + start, clause.start + end)
                scored = _HER2_SCORE.match(own) if axis == "HER2" else None
                if scored:
                    value = replace(value, low=float(scored[1]), high=float(scored[1]))
                group_values.append(value)
            group_values += _variants(clause, group, axis, own)
    return group_values, used


def _variants(clause: _Clause, group: _Group, axis: str, own: str) -> Iterator[StatedValue]:
    if axis in decisive_markers()["genes"]:
        start = clause.start + group.start
        for match in VARIANT_NAMED.finditer(clause.text[group.start : group.end] + own):
            change = f"exon {match['exon']} {(match['change'] or '').lower()}".strip()
            variant = match["point"].lower() if match["point"] else change
            yield StatedValue(axis + VARIANT, frozenset({variant}), start, start + match.end())


def _axis(marker: str, own: str, about_genes: bool) -> str:
    """The marker, or the change of its gene where that is what was looked for."""
    if marker in REARRANGED and (_GENE_TEST.search(own) or (about_genes and "intact" in own)):
        return REARRANGED[marker]
    axes = (axis for name, words, axis in _OWN_AXES if marker == name and words.search(own))
    return "HPV" if marker.startswith("HPV ") else next(axes, marker)


def _value(marker: str, result: Result, start: int, end: int) -> StatedValue:
    low, high = (result.low or 0.0, result.high or 0.0) if result.low is not None else (-1.0, -1.0)
    return StatedValue(marker, frozenset({result.polarity or ""}), start, end, low, high)


_CHAIN = re.compile(r"\b(?P<chain>kappa|lambda|\u03ba|\u03bb)\b", re.IGNORECASE)
_POLYTYPIC = re.compile(
    r"\bpoly(?:typic|clonal)|\bno (?:light[- ]chain )?restriction|\bnot restricted|\bboth\b",
    re.IGNORECASE,
)
_RESTRICTED = re.compile(
    r"\b(?P<chain>kappa|lambda)\b[\s-]*(?:light[- ]chains?[\s-]*)?"
    r"(?:only|restrict\w*|monotyp\w*|monoclon\w*|clonal|positive|\+|type|AL|amyloid)"
    r"|\b(?:restrict\w*|monotyp\w*|monoclon\w*|positive|AL)\b[\w\s(-]{0,24}?\b(?P<chain2>kappa"
    r"|lambda)\b",
    re.IGNORECASE,
)


def light_chain(clause: str, offset: int) -> Iterator[StatedValue]:
    """The light chain that a clause states to be restricted, or that none is."""
    chains = {match["chain"].lower() for match in _CHAIN.finditer(clause)}
    if not chains:
        return
    if _POLYTYPIC.search(clause):
        options = {"polytypic"}
    elif len(chains) == 1:
        options = chains
    else:
        match = _RESTRICTED.search(clause)
        options = {(match["chain"] or match["chain2"]).lower()} if match else set()
    if options:
        first, *_, last = [*_CHAIN.finditer(clause)] * 2
        yield StatedValue(
            LIGHT_CHAIN, frozenset(options), offset + first.start(), offset + last.end()
        )


def mismatch_status(found: Sequence[StatedValue]) -> Iterator[StatedValue]:
    """Mismatch repair, deficient or not: as stated, by a protein lost, by instability."""
    proteins = decisive_markers()["proteins"]
    own = [value for value in found if value.axis in proteins]
    lost = [value for value in own if "negative" in value.options]

    def status(value: StatedValue, deficient: bool) -> StatedValue:
        options = frozenset({"deficient" if deficient else "proficient"})
        return StatedValue(MISMATCH, options, value.start, value.end)

    for value in lost or own[:1]:
        yield status(value, bool(lost))
        if lost:
            pair = next(pair for pair in MISMATCH_PAIRS if value.axis in pair)
            yield replace(value, axis=MISMATCH_LOST, options=frozenset(pair))
    for value in found:
        if value.options <= {"positive", "negative"}:
            if value.axis == "mismatch repair":
                yield status(value, "negative" in value.options)
            if value.axis == "microsatellite instability":
                yield status(value, "positive" in value.options)
