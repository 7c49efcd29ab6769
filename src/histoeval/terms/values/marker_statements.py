"""Markers of a whole text, each with the result that its words give it.

A result stands behind its marker or behind the last of several (ER and PR positive), or before
them (positive for CD20 and CD10, loss of MLH1).
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any, NamedTuple

from histoeval.resources import load_toml
from histoeval.terms.lexicon import any_of
from histoeval.terms.marker_wordings import plain_statements
from histoeval.terms.values.marker_results import Result, read_result
from histoeval.terms.values.markers import MarkerName, named_markers
from histoeval.terms.values.stated import CRITICAL, MAJOR, MINOR, MODERATE, StatedValue

_BREAK = re.compile(r"[;\n|]|(?<!\bH)(?<!\bC)\.(?=\s|$)")
_JOINED = re.compile(r"\)?[\s,/&]*(?:(?:and|or|nor|plus|both)[\s,/&]*)?|-|::", re.IGNORECASE)
_RESULT = (
    r"positiv\w*|negativ\w*|loss|lost|retain\w*|retention|intact|absen\w+|preserv\w+|express\w*"
    r"|lack\w*|mutated"
    r"|wild[- ]type|amplif\w+|rearrang\w+|(?:immuno|un|non-?)?reactiv\w+|pathogenic|deleterious"
    r"|monotypic|detected|aberrant|abnormal|mutant|equivocal|indeterminate"
)
_HEAD = re.compile(
    rf"\b(?:{_RESULT}|no|not|nor|without|shows?|stain(?:s|ing)?)\b"
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
_HEADING = re.compile(
    rf"\b(?:(?:no|not|without|does not|do not)\s{{1,4}})?(?:{_RESULT})\b"
    r"(?:(?:\s{1,4}[\w-]+){0,4}?\s{0,4}(?P<governs>\b(?:for|of)\b|:))?"
    r"\s{0,4}(?:(?:both|the|all|nuclear|markers?|stains?|staining|expression|in|with)\s{1,4}){0,4}"
    r"\(?\s{0,4}$",
    re.IGNORECASE,
)
_HEADS = re.compile(rf"\b(?:(?:no|not|without|does not|do not)\s+)?(?:{_RESULT})\b", re.IGNORECASE)
_REWORDED = tuple(
    (re.compile(pattern, re.IGNORECASE), written)
    for pattern, written in (
        (r"\b(?:un|non-?)reactive\b", "negative"),
        (
            r"\b(?:been )?(?:excluded|ruled out|not supported|(?:is|are|was|were) lacking)\b"
            r"|\blacking\W*$",
            "absent",
        ),
        (r"\bretains?\b", "retained"),
        (
            r"\b(?:immuno)?stain(?:s|ing)?\b"
            r"(?=.{0,60}\b(?:negativ|positiv|unreact|absent|none))",
            " ",
        ),
        (
            r"\bnot (?:\w+ )?"
            r"(?:aberrant|abnormal|block(?:[- ]type)?(?:[- ]positive)?|express\w*)\b",
            "negative",
        ),
        (r"\b(?:does|do) not (?:show|express|stain)\b", "negative"),
        (r"\bno\s+(?:nuclear |aberrant )?(?:expression|alteration|variant)\b", "negative"),
        (r"^\W*(?:(?:is|are) )?(?:not|no)\W*$", "negative"),
        (r"\bnormal (?:copy|pattern)\b", "normal expression"),
    )
)
_FOUND = re.compile(
    r"[\s(,:]{0,4}(?:[\w.:>*+-]+\s{1,4}){0,4}?(?:mutation|mutant|fusion|alteration"
    r"|pathogenic variant|rearrange\w+|amplification|translocation|expression|positivity"
    r"|overexpression|breaks?|split|(?:co-?)?deletion|insertion|duplication|deposit(?:ion)?)s?\b",
    re.IGNORECASE,
)
_DENIED_NEAR = re.compile(
    r"\b(?:no|not|nor|without|neg\w*|absen\w+|undetect\w+|wild|loss|lost|lack\w*)\b", re.IGNORECASE
)
_NEAR = 25
_ADVICE = re.compile(
    r"\b(?:advised|recommended|suggested|requested|to follow|awaited|pending)\b", re.IGNORECASE
)
_GOVERNS = re.compile(r"\b(?:for|of|no|not|nor|without)\s*$", re.IGNORECASE)
_MINUS = re.compile(r"[\s(]*(?:\u2212|-(?=\s*[,/);.]|\s*$|\s(?!and\b|or\b|to\b|\()[A-Za-z]))")
_STAIN = re.compile(r"\bstain|\bZN\b|Ziehl", re.IGNORECASE)
_SHOWS = re.compile(
    r"\b(?:shows?|reveals?|demonstrates?|highlights?|identif(?:y|ies))\s{1,4}"
    r"(?P<none>no|neither)?\s{0,4}$"
    r"|\b(?:shows?|reveals?|demonstrates?)\s{1,4}(?P<no>no)\b",
    re.IGNORECASE,
)
_SHOWN_BY = re.compile(
    r"\s{0,4}(?:\w+\s{1,4})?(?:on|by|with|using)\s{1,4}(?:the |both )?", re.IGNORECASE
)
_UNDECIDED = re.compile(r"2\s?\+|equivocal|indeterminate", re.IGNORECASE)
_FIRST = re.compile(r",|\bwith\b")
_SCORED = re.compile(r"[\s(:]{0,4}(?:score )?[0-3]\s?\+")
_LEADING = re.compile(
    r"\s*(?:(?:is|are|was|were|being|again|both|all)\s+)*(?:not |non-?)?(?:amplified|positive"
    r"|negative|detected"
    r"|rearranged|mutated|wild[- ]type|retained|intact|lost|present|absent|methylated|unmethylated"
    r")\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"(?:,|\band\b|\bwith\b)[^,]*\b(?:negative|positive|no|without)\b.*$", re.IGNORECASE
)
_IN_SITU = re.compile(
    r"\b(?:[FCDS]ISH|ISH|in[- ]situ hybridi[sz]ation)\b[^;.]{0,60}?amplif", re.IGNORECASE
)
_VARIANT = re.compile(
    r"\bex(?:ons?)? ?(?P<exon>\d+)(?: (?:in-frame )?(?P<change>del|ins|dup|mut|skip)\w*)?"
    r"|\b(?:p\.)?(?-i:(?P<point>[A-Z]\d{2,4}(?:[A-Z]|fs|del)))\b",
    re.IGNORECASE,
)
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
_GENE_TEST = re.compile(r"rearrang|translocat|break|split|fusion|\bFISH\b", re.IGNORECASE)
_MUTATION = re.compile(r"\bex(?:on)? ?\d|mutat|mutant|wild|variant", re.IGNORECASE)
_NORMAL_P53 = re.compile(
    r"\b(?:scattered|intact|not (?:aberrant|abnormal|mutat\w+|overexpressed))\b", re.IGNORECASE
)
_CHAINS = ("kappa light chain", "lambda light chain")
_PD_L1 = (1.0, 50.0)
MISMATCH, LIGHT_CHAIN, VARIANT = "mismatch repair status", "light chain", " variant"
_REARRANGED = {
    "c-MYC": "MYC rearrangement",
    "BCL2": "BCL2 rearrangement",
    "BCL6": "BCL6 rearrangement",
}


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
    """Markers that were named without a result."""

    markers: tuple[str, ...]
    start: int


class _Phrases(NamedTuple):
    """The words around a marker in which its result may stand."""

    name: str
    own: str
    behind: str
    heading: re.Match[str] | None
    denied: bool
    last: bool
    """Whether it is the last of those that share a result."""
    apart: bool
    """Whether it stands after a comma, and may have a result of its own."""
    doubted: bool
    """Whether the words between it and the marker before it deny anything."""

    def near(self, marker: str) -> str:
        """The words behind the marker up to a comma; HER2 2+ is decided by what follows."""
        first = _FIRST.split(self.own)[0]
        return self.own if marker == "HER2" and _UNDECIDED.search(first) else first


_NOTHING = _Waiting((), 0)


@cache
def _data() -> dict[str, Any]:
    table = load_toml("terms/data/decisive.toml")
    organisms = {row["name"] for row in table["other"] if row.get("organism")}
    return {key: frozenset(table[key]) for key in ("critical", "variants", "genes")} | {
        "organisms": frozenset(table["organisms"]) | organisms,
        "proteins": frozenset(table["mismatch"]["proteins"]),
    }


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
        replace(each, start=plainly.place(each.start), end=plainly.place(each.end, end=True))
        for each in _read_plain(plainly.text)
    )


def _read_plain(text: str) -> tuple[StatedValue, ...]:
    found: list[StatedValue] = []
    start, waiting = 0, _NOTHING
    about_her2, about_genes = "HER2" in text, bool(_GENE_TEST.search(text))
    for stop in [*_BREAK.finditer(text), None]:
        end = stop.start() if stop else len(text)
        clause = _Clause(text[start:end], start, about_her2, about_genes)
        values, waiting = _of_clause(clause, waiting)
        found += values
        start = stop.end() if stop else end
    return (*found, *_mismatch(found))


def _names(clause: str) -> list[MarkerName]:
    """The markers of the catalogue, and what else is looked for in a specimen."""
    names = named_markers(clause)
    pattern, axes = _others()
    for found in pattern.finditer(clause):
        names = [each for each in names if each.end <= found.start() or found.end() <= each.start]
        axis = axes[int((found.lastgroup or "of0").removeprefix("of"))]
        names.append(MarkerName((axis,), found.start(), found.end()))
    return sorted(names, key=lambda each: each.start)


def _of_clause(clause: _Clause, waiting: _Waiting) -> tuple[list[StatedValue], _Waiting]:
    """The values of a clause, and its markers that wait for a result in the next."""
    text = clause.text
    groups = list(_groups(text, _names(text)))
    if not groups:
        return [*_late(clause, waiting), *_light_chain(text, clause.start)], _NOTHING
    found: list[StatedValue] = []
    used = False
    for at, group in enumerate(groups):
        end = groups[at + 1].start if at + 1 < len(groups) else len(text)
        between = text[groups[at - 1].end if at else 0 : group.start]
        behind, followed = text[group.end : end], at + 1 < len(groups)
        values, used = _of_group(clause, group, between, behind, followed=followed, used=used)
        if not values and found and _SHOWN_BY.fullmatch(between):
            values = _shown_by(group, found[-1])
        found += values
    last = groups[-1]
    stated = {each.axis for each in found}
    left = tuple(m for name in last.names for m in name.markers if m not in stated)
    return [*found, *_light_chain(text, clause.start)], _Waiting(left, clause.start + last.start)


def _shown_by(group: _Group, shown: StatedValue) -> list[StatedValue]:
    """Stains by which something else was seen, or not: no fungi on PAS."""
    return [replace(shown, axis=marker) for name in group.names for marker in name.markers]


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


def _is_joined(one: MarkerName, other: MarkerName, clause: str) -> bool:
    """Whether two names share a result: a list, or another name in brackets."""
    between = clause[one.end : other.start]
    if between.strip() == "(":
        return clause.startswith(")", other.end)
    if "," in between and _STAIN.search(clause[other.start : other.end]):
        return not _data()["organisms"] & set(one.markers)
    return _JOINED.fullmatch(between) is not None


def _of_group(
    clause: _Clause, group: _Group, between: str, behind: str, *, followed: bool, used: bool
) -> tuple[list[StatedValue], bool]:
    """The values of markers that share a result, and whether the words behind them are used up."""
    hyphened = re.match(r"-\s?[a-z]", behind, re.IGNORECASE)
    head = _HEAD.search(behind) if followed and not hyphened else None
    own = behind[: head.start()] if head and head.group().strip() else behind
    before = "" if used else between
    denied, heading = _DENIED.search(before), _heading(before)
    found: list[StatedValue] = []
    used = False
    for name in group.names:
        for marker in name.markers:
            phrases = _Phrases(
                clause.text[name.start : name.end],
                own,
                behind,
                heading,
                denied is not None,
                name is group.names[-1],
                clause.text[: name.start].rstrip().endswith(",") and name is group.names[-1],
                bool(_DENIED_NEAR.search(between)),
            )
            axis = _axis(marker, own, clause.about_genes)
            result, ahead, whole = _result(marker, phrases)
            if axis in _REARRANGED.values() and "intact" in own:
                result = Result("negative")
            used |= whole
            lead = (denied or heading) if ahead else None
            start = group.start - (len(before) - lead.start() if lead else 0)
            end = group.end + (0 if ahead else len((behind if whole else own).rstrip(" ,(")))
            if result is not None and result.polarity and axis not in _CHAINS:
                found.append(_value(axis, result, clause.start + start, clause.start + end))
            found += _variants(clause, group, axis, own)
    return found, used


def _heading(before: str) -> re.Match[str] | None:
    """The last result that stands before markers and leads to them: loss of, negative for."""
    for found in reversed(list(_HEADS.finditer(before))):
        if heading := _HEADING.match(before, found.start()):
            return heading
    return None


def _variants(clause: _Clause, group: _Group, axis: str, own: str) -> Iterator[StatedValue]:
    if axis in _data()["genes"]:
        for found in _VARIANT.finditer(own):
            start, end = clause.start + group.start, clause.start + group.end + found.end()
            yield StatedValue(axis + VARIANT, frozenset({_variant(found)}), start, end)


def _axis(marker: str, own: str, about_genes: bool) -> str:
    """The marker, or the change of its gene where that is what was looked for."""
    if marker == "MDM2 amplification":
        return "MDM2"
    if marker.startswith("HPV "):
        return "HPV"
    if marker == "CD117" and _MUTATION.search(own):
        return "KIT mutation"
    if marker == "MLH1" and re.match(r"\s*promoter|\s*(?:hyper)?methyl", own, re.IGNORECASE):
        return "MLH1 promoter methylation"
    if marker in _REARRANGED and (_GENE_TEST.search(own) or (about_genes and "intact" in own)):
        return _REARRANGED[marker]
    return marker


def _variant(found: re.Match[str]) -> str:
    if found["point"]:
        return found["point"].lower()
    return f"exon {found['exon']} {(found['change'] or '').lower()}".strip()


class _Reading(NamedTuple):
    """A result, if there is one, and where it stands."""

    result: Result | None
    ahead: bool = False
    """Before its marker."""
    whole: bool = False
    """In all of the words up to the next marker."""


def _result(marker: str, phrases: _Phrases) -> _Reading:
    """The result of a marker by the first of the ways to say it that its words have."""
    if marker in _data()["organisms"]:
        near = _ASIDE.sub("", phrases.own)
        phrases = phrases._replace(own=near, behind=near)
    readings = (read(marker, phrases) for read in _READERS)
    return next((each for each in readings if each is not None), _Reading(None))


def _as_advice(marker: str, phrases: _Phrases) -> _Reading | None:
    """No result: the test is to be done."""
    return _Reading(None) if _ADVICE.search(phrases.near(marker)) else None


def _by_sign(_: str, phrases: _Phrases) -> _Reading | None:
    """CD5-, but not CD5 - positive."""
    is_minus = _MINUS.match(phrases.own) and not re.match(r"\s-\s", phrases.own)
    return _Reading(Result("negative")) if is_minus else None


def _by_denial(marker: str, phrases: _Phrases) -> _Reading | None:
    """No EGFR mutation. Of p53, none may be the normal pattern or the null pattern."""
    if not phrases.denied or re.match(r"\s*(?:is|are|was|were)\b", phrases.own):
        return None
    if marker == "p53":
        return _Reading(None, ahead=True)
    lost = re.match(r"\W*(?:proteins? )?(?:deficien|loss)", phrases.own, re.IGNORECASE)
    return _Reading(Result("positive" if lost else "negative"), ahead=True)


def _by_leading_words(marker: str, phrases: _Phrases) -> _Reading | None:
    """Negative for CD5; the last of a list may have a result of its own."""
    own = phrases.apart and re.search(r"\b(?:posi|nega)tive\b", phrases.near(marker))
    scored = bool(_SCORED.match(phrases.own) or own)
    if phrases.heading is None or (phrases.last if scored else not phrases.heading["governs"]):
        return None
    return _by_words_before(marker, phrases)


def _by_what_is_shown(_: str, phrases: _Phrases) -> _Reading | None:
    """PAS shows no hyphae."""
    found = _SHOWS.search(phrases.behind)
    if found is None:
        return None
    return _Reading(Result("negative" if found["none"] or found["no"] else "positive"))


def _by_noun(_: str, phrases: _Phrases) -> _Reading | None:
    """KRAS G12D mutation."""
    found = _FOUND.match(phrases.own)
    if found is None or _DENIED_NEAR.search(phrases.own[: found.end() + _NEAR]):
        return None
    return _Reading(Result("positive"))


def _by_words_behind(marker: str, phrases: _Phrases) -> _Reading | None:
    """ER positive, dMMR."""
    near = _tidied(phrases.near(marker))
    result = _read(near, marker) or _read(f"{phrases.name} {near}", marker)
    return _Reading(result) if result else None


def _by_words_before(marker: str, phrases: _Phrases) -> _Reading | None:
    """Retained MSH2."""
    result = _headed(phrases.heading, marker) if phrases.heading else None
    return _Reading(result, ahead=True) if result else None


def _by_all_behind(marker: str, phrases: _Phrases) -> _Reading | None:
    """EGFR, tested by sequencing: wild type."""
    if result := _read(_tidied(phrases.own), marker):
        return _Reading(result)
    if phrases.own == phrases.behind or _GOVERNS.search(phrases.behind):
        return None
    result = _read(_tidied(phrases.behind), marker)
    return _Reading(result, whole=True) if result else None


def _by_name(marker: str, phrases: _Phrases) -> _Reading | None:
    """A variant, or an organism that is named and not denied."""
    if _VARIANT.search(phrases.own):
        return _Reading(Result("positive"))
    if marker not in _data()["organisms"] or _STAIN.search(phrases.name):
        return None
    return _Reading(Result("negative" if phrases.doubted else "positive"))


_READERS: tuple[Callable[[str, _Phrases], _Reading | None], ...] = (
    _as_advice, _by_sign, _by_denial, _by_leading_words, _by_what_is_shown, _by_noun,
    _by_words_behind,
    _by_words_before, _by_all_behind, _by_name,
)  # fmt: skip


def _headed(heading: re.Match[str], marker: str) -> Result | None:
    words = heading.group().strip(" :")
    if re.match(r"(?:express|pathogenic|deleterious|monotypic)", words, re.IGNORECASE):
        return Result("positive")
    return _read(words, marker)


def _tidied(own: str) -> str:
    """The words behind a marker, without what stands only between."""
    if own.startswith(("+", "-")) and not re.match(r"-\s?[a-z]", own, re.IGNORECASE):
        return own.strip(" ,")
    words = own.strip() if own.strip() in ("(+)", "(-)") else own.strip(" ,:()=-\u2013")
    return "" if re.fullmatch(r"(?:immuno)?stains?", words, re.IGNORECASE) else words


def _read(phrase: str, marker: str) -> Result | None:
    if marker == "p53" and _NORMAL_P53.search(phrase):
        return Result("negative")
    for pattern, written in _REWORDED:
        phrase = pattern.sub(written, phrase)
    return _with_polarity(read_result(phrase, marker) if phrase else None)


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
        yield StatedValue(
            LIGHT_CHAIN, frozenset(options), offset + first.start(), offset + last.end()
        )


def _mismatch(found: Sequence[StatedValue]) -> Iterator[StatedValue]:
    """Whether mismatch repair is deficient: as stated, by a protein lost, by instability."""
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


def decides(marker: str) -> bool:
    """Whether a result of this marker decides on a therapy or on the diagnosis."""
    return marker in _data()["critical"]


@cache
def _also(marker: str) -> re.Pattern[str] | None:
    words = load_toml("terms/data/decisive.toml")["also"].get(marker)
    return any_of(words) if words else None


def speaks_of(marker: str, text: str) -> bool:
    """Whether a text has other words for what a decisive marker shows."""
    return bool((words := _also(marker)) and words.search(text))


def covered_markers(axes: frozenset[str]) -> frozenset[str]:
    """The markers of the catalogue whose results are among these axes."""
    covered = {name for name, axis in _REARRANGED.items() if axis in axes}
    for axis, names in (
        (LIGHT_CHAIN, _CHAINS),
        (MISMATCH, ("mismatch repair", "microsatellite instability", *_data()["proteins"])),
        ("MDM2", ("MDM2 amplification",)),
        ("KIT mutation", ("CD117",)),
        ("IDH", ("IDH1", "IDH2")),
        ("HPV", ("HPV 16", "HPV 18")),
    ):
        covered |= set(names) if axis in axes else set()
    return axes | covered


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
    if (
        here.startswith("exon") != there.startswith("exon")
        or here.startswith(there)
        or there.startswith(here)
    ):
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
