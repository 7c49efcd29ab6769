"""The result that the words around a marker give it, by each of the ways to say it."""

import re
from collections.abc import Callable
from typing import NamedTuple

from histoeval.terms.values.marker_results import Result, read_result
from histoeval.terms.values.marker_statements.decisive import decisive_markers

RESULT = (
    r"positiv\w*|negativ\w*|loss|lost|retain\w*|retention|intact|absen\w+|preserv\w+|express\w*"
    r"|lack\w*|mutated"
    r"|wild[- ]type|amplif\w+|rearrang\w+|(?:immuno|un|non-?)?reactiv\w+|pathogenic|deleterious"
    r"|monotypic|detected|aberrant|abnormal|mutant|equivocal|indeterminate"
)
_HEADING = re.compile(
    rf"\b(?:(?:no|not|without|does not|do not)\s{{1,4}})?(?:{RESULT})\b"
    r"(?:(?:\s{1,4}[\w-]+){0,4}?\s{0,4}(?P<governs>\b(?:for|of)\b|:))?"
    r"\s{0,4}(?:(?:both|the|all|nuclear|markers?|stains?|staining|expression|in|with)\s{1,4}){0,4}"
    r"\(?\s{0,4}$",
    re.IGNORECASE,
)
_HEADS = re.compile(rf"\b(?:(?:no|not|without|does not|do not)\s+)?(?:{RESULT})\b", re.IGNORECASE)
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
DENIED_NEAR = re.compile(
    r"\b(?:no|not|nor|without|neg\w*|absen\w+|undetect\w+|wild|loss|lost|lack\w*)\b", re.IGNORECASE
)
_NEAR = 25
_ADVICE = re.compile(
    r"\b(?:advised|recommended|suggested|requested|to follow|awaited|pending)\b", re.IGNORECASE
)
_GOVERNS = re.compile(r"\b(?:for|of|no|not|nor|without)\s*$", re.IGNORECASE)
_MINUS = re.compile(r"[\s(]*(?:\u2212|-(?=\s*[,/);.]|\s*$|\s(?!and\b|or\b|to\b|\()[A-Za-z]))")
STAIN = re.compile(r"\bstain|\bZN\b|Ziehl", re.IGNORECASE)
_SHOWS = re.compile(
    r"\b(?:shows?|reveals?|demonstrates?|highlights?|identif(?:y|ies))\s{1,4}"
    r"(?P<none>no|neither)?\s{0,4}$"
    r"|\b(?:shows?|reveals?|demonstrates?)\s{1,4}(?P<no>no)\b",
    re.IGNORECASE,
)
_UNDECIDED = re.compile(r"2\s?\+|equivocal|indeterminate", re.IGNORECASE)
_FIRST = re.compile(r",|\bwith\b")
_SCORED = re.compile(r"[\s(:]{0,4}(?:score )?[0-3]\s?\+")
_ASIDE = re.compile(
    r"(?:,|\band\b|\bwith\b)[^,]*\b(?:negative|positive|no|without)\b.*$", re.IGNORECASE
)
VARIANT_NAMED = re.compile(
    r"\bex(?:ons?)? ?(?P<exon>\d+)(?: (?:in-frame )?(?P<change>del|ins|dup|mut|skip)\w*)?"
    r"|\b(?:p\.)?(?-i:(?P<point>[A-Z]\d{2,4}(?:[A-Z]|fs|del)))\b",
    re.IGNORECASE,
)
_NORMAL_P53 = re.compile(
    r"\b(?:scattered|intact|not (?:aberrant|abnormal|mutat\w+|overexpressed))\b", re.IGNORECASE
)


class MarkerPhrases(NamedTuple):
    """The words around a marker in which its result may stand."""

    name: str
    own: str
    behind: str
    heading: re.Match[str] | None
    denied: bool
    last: bool  # true if it is the last of those that share a result
    apart: bool  # true if it stands after a comma, and may have a result of its own
    doubted: bool  # true if the words between it and the marker before it deny anything

    def near(self, marker: str) -> str:
        """The words behind the marker up to a comma; HER2 2+ is decided by what follows."""
        first = _FIRST.split(self.own)[0]
        return self.own if marker == "HER2" and _UNDECIDED.search(first) else first


class _Reading(NamedTuple):
    """A result, if there is one, and where it stands."""

    result: Result | None
    ahead: bool = False  # before its marker
    whole: bool = False  # in all of the words up to the next marker


def heading_before(before: str) -> re.Match[str] | None:
    """The last result that stands before markers and leads to them: loss of, negative for."""
    for head in reversed(list(_HEADS.finditer(before))):
        if heading := _HEADING.match(before, head.start()):
            return heading
    return None


def result_of(marker: str, phrases: MarkerPhrases) -> _Reading:
    """The result of a marker by the first of the ways to say it that its words have."""
    if marker in decisive_markers()["organisms"]:
        near = _ASIDE.sub("", phrases.own)
        phrases = phrases._replace(own=near, behind=near)
    readings = (read(marker, phrases) for read in _READERS)
    return next((reading for reading in readings if reading is not None), _Reading(None))


def _as_advice(marker: str, phrases: MarkerPhrases) -> _Reading | None:
    """No result: the test is to be done; HER2 2+ is one, and in situ hybridisation the test."""
    near = phrases.near(marker)
    match = _ADVICE.search(near)
    if match is None:
        return None
    scored = _SCORED.match(near[: match.start()])
    return _Reading(_read(scored.group(), marker) if scored else None)


def _by_sign(_: str, phrases: MarkerPhrases) -> _Reading | None:
    """CD5-, but not CD5 - positive."""
    is_minus = _MINUS.match(phrases.own) and not re.match(r"\s-\s", phrases.own)
    return _Reading(Result("negative")) if is_minus else None


def _by_denial(marker: str, phrases: MarkerPhrases) -> _Reading | None:
    """No EGFR mutation. Of p53, none may be the normal pattern or the null pattern."""
    if not phrases.denied or re.match(r"\s*(?:is|are|was|were)\b", phrases.own):
        return None
    if marker == "p53":
        return _Reading(None, ahead=True)
    lost = re.match(r"\W*(?:proteins? )?(?:deficien|loss)", phrases.own, re.IGNORECASE)
    return _Reading(Result("positive" if lost else "negative"), ahead=True)


def _by_leading_words(marker: str, phrases: MarkerPhrases) -> _Reading | None:
    """Negative for CD5; the last of a list may have a result of its own."""
    own = phrases.apart and re.search(r"\b(?:posi|nega)tive\b", phrases.near(marker))
    scored = bool(_SCORED.match(phrases.own) or own)
    if phrases.heading is None or (phrases.last if scored else not phrases.heading["governs"]):
        return None
    return _by_words_before(marker, phrases)


def _by_what_is_shown(_: str, phrases: MarkerPhrases) -> _Reading | None:
    """PAS shows no hyphae."""
    match = _SHOWS.search(phrases.behind)
    if match is None:
        return None
    return _Reading(Result("negative" if match["none"] or match["no"] else "positive"))


def _by_noun(_: str, phrases: MarkerPhrases) -> _Reading | None:
    """KRAS G12D mutation."""
    match = _FOUND.match(phrases.own)
    if match is None or DENIED_NEAR.search(phrases.own[: match.end() + _NEAR]):
        return None
    return _Reading(Result("positive"))


def _by_words_behind(marker: str, phrases: MarkerPhrases) -> _Reading | None:
    """ER positive, dMMR."""
    near = _tidied(phrases.near(marker))
    result = _read(near, marker) or _read(f"{phrases.name} {near}", marker)
    return _Reading(result) if result else None


def _by_words_before(marker: str, phrases: MarkerPhrases) -> _Reading | None:
    """Retained MSH2."""
    if phrases.heading is None:
        return None
    words = phrases.heading.group().strip(" :")
    affirmed = re.match(r"(?:express|pathogenic|deleterious|monotypic)", words, re.IGNORECASE)
    result = Result("positive") if affirmed else _read(words, marker)
    return _Reading(result, ahead=True) if result else None


def _by_all_behind(marker: str, phrases: MarkerPhrases) -> _Reading | None:
    """EGFR, tested by sequencing: wild type."""
    if result := _read(_tidied(phrases.own), marker):
        return _Reading(result)
    if phrases.own == phrases.behind or _GOVERNS.search(phrases.behind):
        return None
    result = _read(_tidied(phrases.behind), marker)
    return _Reading(result, whole=True) if result else None


def _by_name(marker: str, phrases: MarkerPhrases) -> _Reading | None:
    """A variant, or an organism that is named and not denied."""
    if VARIANT_NAMED.search(phrases.own):
        return _Reading(Result("positive"))
    if marker not in decisive_markers()["organisms"] or STAIN.search(phrases.name):
        return None
    return _Reading(Result("negative" if phrases.doubted else "positive"))


_READERS: tuple[Callable[[str, MarkerPhrases], _Reading | None], ...] = (
    _as_advice, _by_sign, _by_denial, _by_leading_words, _by_what_is_shown, _by_noun,
    _by_words_behind,
    _by_words_before, _by_all_behind, _by_name,
)  # fmt: skip


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
    result = read_result(phrase, marker) if phrase else None
    return result if result and (result.polarity or not result.tested) else None
