"""The grade that a phrase gives, in whatever system, on one scale from lowest to highest."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple

from histoeval.resources import load_toml
from histoeval.terms.number_words import rank_number
from histoeval.terms.plain import normalised

_RANK = r"(?:[1-9]|[il1|]{1,3}|[il1|]?v)"
_RANKS = (
    rf"(?P<a>{_RANK})(?P<sub>[abc])?"
    rf"(?:\s*(?P<sep>-|to|and|/|out of|of)\s*(?:grade\s*)?(?P<b>{_RANK}))?"
    r"(?![^\W_]|[.]\d|\s?[%+]|(?:\s?-\s?\d)?\s?points?\b)"
)
_AFTER_GRADE = re.compile(
    rf"\b(?:grades?|graded|gr|g)\b\W*(?:(?:is|of|as|score)\W*)?{_RANKS}"
    rf"|\bg{_RANKS.replace('?P<', '?P<g_')}"
)
_AFTER_NAME = rf"(?:[^\d]{{0,30}}?(?<![^\W_]))?{_RANKS}"
_SUM = re.compile(r"\b(?P<sum>[2-9])\s*(?:/|out of|of)\s*(?P<most>8|9)\b")
_WHOLE = re.compile(rf"\W*(?:score\W*)?{_RANKS}\W*")
_PATTERNS = re.compile(r"(?<![\d+])([1-5])\s*\+\s*([1-5])(?![\d+]|\s*\+)")
_GLEASON_SUM = re.compile(r"\bgleason\D{0,25}?(?P<sum>10|[2-9])(?!\d|\s*\+)")
_GROUP = re.compile(
    rf"\b(?:grade group|group grade|prognostic group|isup group|gg)\W*(?P<a>{_RANK})(?![^\W_])"
)
_NO_GRADE = re.compile(
    r"\bgx\b|\bcannot be (?:assessed|graded|determined)"
    r"|\bnot (?:graded|assessed|applicable|assessable)"
)
# No Roman numeral: a left lower lobe, lobular carcinoma, lymphatic invasion
_ABBREVIATION = re.compile(r"[ILV]*L[ILV]*C?|L\d")
_DEGREE = (
    r"(?P<degree>(?:mild|slight|moderate|severe|marked)(?:\s*(?:-|to)+\s*(?:moderate|severe))?)"
)
_TIDY = tuple(
    (re.compile(pattern), written)
    for pattern, written in (
        (r"[()\[\]{}]", " "),
        (r"\bone\b", "1"), (r"\btwo\b", "2"), (r"\bthree\b", "3"), (r"\bfour\b", "4"),
        (r"\s+", " "),
        (rf"\b{_DEGREE}(?:[ -]\w+){{0,3}}? (?P<what>dysplasia|atypia)\b", r"\g<degree> \g<what>"),
        (rf"\b(?P<what>dysplasia|atypia)\W+{_DEGREE}\b", r"\g<degree> \g<what>"),
        (r"\bdifferentiat\w+\W+(well|moderate|moderately|poor|poorly)\b", r"\1 differentiation"),
    )
)  # fmt: skip
_DEGREES = {"low": 1.0, "mild": 1.0, "intermediate": 2.0, "moderate": 2.0}
_DEGREES |= {"high": 3.0, "severe": 3.0, "marked": 3.0}
_DEGREE_OF_PART = re.compile(rf"\b(?:{'|'.join(_DEGREES)})\b")
# Systems whose overall grade is that of the nuclei
_WITH_NUCLEI = frozenset({"Fuhrman", "WHO/ISUP renal", "Van Nuys"})
_ANY_TUMOR = "grade"
# The highest score of a receptor: of eight points, only those of a named system are a grade
_ALLRED = 8
_TIERS_OF = {
    2: ("low", "high"),
    3: ("low", "intermediate", "high"),
    4: ("low", "low", "high", "high"),
}


@dataclass(frozen=True, slots=True)
class Grade:
    """A grade: its place in its scheme, and on the scale from 0, the lowest, to 1.

    `text` is a normal form. `level` is the rank, 1 the lowest, and `of` the number of ranks, where
    the phrase or the scheme says it. `part` names the aspect (tubules, nuclear, mitoses, pattern)
    if only one is graded, and is empty for a grade of the whole lesion.
    """

    scheme: str
    value: float
    text: str
    level: float
    of: int | None = None
    tier: str | None = None
    about: str | None = None
    part: str | None = None


def agreement(a: Grade, b: Grade) -> float:
    """Agreement of two grades, from 0 to 1: 1 minus the distance of their values.

    So neighbours of three ranks agree to 0.5, of four to 0.67, of five (Gleason) to 0.75. A grade
    of no named scheme is taken to be of the other's. Low and high grade agree to 0.9 at least
    with all ranks the other scheme counts as low or high, and to 0.3 at most with the others. A
    grade of dysplasia and one of a tumour agree by half. Grades of different parts do not agree at
    all; one of the nuclei and one of the whole agree to 0.8 of what they would.
    """
    if a == b:
        return 1.0
    if a.part != b.part:
        whole_and_nuclei = {a.part, b.part} == {None, "nuclear"}
        return 0.8 * _closeness(a, b) if whole_and_nuclei else 0.0
    return _closeness(a, b)


def _closeness(a: Grade, b: Grade) -> float:
    close = 1 - abs(_value_beside(a, b) - _value_beside(b, a))
    if "tier" in (a.scheme, b.scheme) or "SIL" in (a.scheme, b.scheme):
        if a.tier and a.tier == b.tier:
            close = max(close, 0.9)
        elif {a.tier, b.tier} == {"low", "high"}:
            close = min(close, 0.3)
    return close if a.about == b.about or None in (a.about, b.about) else 0.5 * close


def _value_beside(grade: Grade, beside: Grade) -> float:
    """The value of a grade; if its scheme is not known and the other's is, in that scheme."""
    if grade.scheme != _ANY_TUMOR or grade.of or beside.scheme in ("tier", "SIL"):
        return grade.value
    return _value(grade.level, beside.of)


def _value(level: float, of: int | None) -> float:
    ranks = of or (4 if level > 3 else 3)
    return min(1.0, max(0.0, (level - 1) / (ranks - 1)))


def _data() -> dict[str, Any]:
    return load_toml("terms/data/grades.toml")


class _System(NamedTuple):
    name: str
    tiers: tuple[str, ...]
    sums: tuple[int, ...]
    about: str | None


_NO_SYSTEM = _System(_ANY_TUMOR, (), (), None)
_GLEASON = _System("Gleason", ("low", "intermediate", "intermediate", "high", "high"), (), "tumor")


def _either(words: list[str]) -> str:
    """A pattern for one of these, the longest first; a hyphen and a space are the same."""
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    return "|".join(
        r"[\s-]+".join(map(re.escape, re.split(r"[\s-]+", word.lower()))) for word in longest_first
    )


@cache
def _systems() -> dict[str, _System]:
    return {
        _spaced(name): _System(
            row["name"], tuple(row["tiers"]), tuple(row.get("sums", ())), row["about"]
        )
        for row in _data()["system"]
        for name in (row["name"], *row["aliases"])
    }


@cache
def _system_pattern() -> re.Pattern[str]:
    return re.compile(rf"\b(?P<name>{_either(list(_systems()))})(?![a-z])")


@cache
def _name_and_rank() -> re.Pattern[str]:
    return re.compile(_system_pattern().pattern + _AFTER_NAME)


@cache
def _words() -> tuple[re.Pattern[str], dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    rows = {_spaced(word): row for row in _data()["word"] for word in row["words"]}
    whole = {_spaced(word): row for row in _data()["word"] for word in row.get("whole", ())}
    return re.compile(rf"\b(?:{_either(list(rows))})\b"), rows, whole


@cache
def _parts() -> tuple[re.Pattern[str], dict[str, str]]:
    names = {_spaced(word): row["part"] for row in _data()["part"] for word in row["words"]}
    name = rf"(?P<name>{_either(list(names))})"
    degree = rf"(?:{'|'.join(_DEGREES)})"
    rank = rf"{_RANK}(?:\s*(?:/|-|to)\s*{_RANK})?(?![^\W_]|[.]\d|\s?[%+])"
    after = rf"(?:\s+(?:grade|score|count))?[\s:=,-]*(?:of |is )?(?:{rank}|{degree}\b)"
    before = rf"{degree}\s+(?P<late>{_either(list(names))})\b"
    return re.compile(rf"\b{name}{after}|\b{before}"), names


def _spaced(word: str) -> str:
    return " ".join(re.split(r"[\s-]+", word.lower()))


@lru_cache(maxsize=1 << 12)
def read_grade(phrase: str) -> Grade | None:
    """The grade that a phrase gives, or None.

    If it gives the grade of the whole and of parts, the whole counts.
    """
    text = normalised(phrase).lower()
    for pattern, written in _TIDY:
        text = pattern.sub(written, text)
    text = text.strip()
    if _NO_GRADE.search(text) or _ABBREVIATION.fullmatch(phrase.strip()):
        return None
    if gleason := _read_gleason(text):
        return gleason
    system_match = _system_pattern().search(text)
    system = _systems()[_spaced(system_match["name"])] if system_match else _NO_SYSTEM
    if system.name in _WITH_NUCLEI:
        return _read_whole(text, system)
    pattern, names = _parts()
    parts = [(names[_spaced(m["name"] or m["late"])], m.group()) for m in pattern.finditer(text)]
    return _read_whole(pattern.sub(" ; ", text), system) or (
        _read_part(*parts[0]) if parts else None
    )


def _read_whole(text: str, system: _System) -> Grade | None:
    return _read_sum(text, system) or _read_ranks(text, system) or _read_words(text)


def _read_part(part: str, text: str) -> Grade | None:
    if degree := _DEGREE_OF_PART.search(text):
        level = _DEGREES[degree.group()]
    else:
        ranks = re.search(rf"(?<![^\W_]){_RANKS}$", text)
        level = _level({k: got for k, got in ranks.groupdict().items() if got})[0] if ranks else 0.0
    if not 1 <= level <= 4:
        return None
    return _grade(_System(part, (), (), None), level, 4 if level > 3 else 3, part)


def _read_sum(text: str, system: _System) -> Grade | None:
    """A grade given by a total of points: 7/9 is Nottingham grade 2."""
    if not (match := _SUM.search(text)):
        return None
    most = int(match["most"])
    summed = [s for s in _systems().values() if s.sums and s.sums[-1] == most]
    owner = system if system.sums and system.sums[-1] == most else summed[0]
    if most == _ALLRED and owner is not system:
        return None
    return _grade(owner, _rank_of_sum(int(match["sum"]), owner), len(owner.sums))


def _rank_of_sum(total: int, system: _System) -> float:
    return float(next((rank for rank, most in enumerate(system.sums, 1) if total <= most), 3))


def _read_ranks(text: str, system: _System) -> Grade | None:
    if "stage" in text and "grade" not in text:
        return None
    match = _AFTER_GRADE.search(text)
    if match is None and system is not _NO_SYSTEM:
        match = _name_and_rank().search(text)
    match = match or _WHOLE.fullmatch(text)
    if match is None:
        return None
    groups = {name.removeprefix("g_"): got for name, got in match.groupdict().items() if got}
    if "sub" in groups and system.name == "FIGO":
        return None  # a stage
    level, of = _level(groups)
    ranks = len(system.tiers) or None
    if system.sums and level > len(system.tiers):
        level = _rank_of_sum(int(level), system)
    if system.name == "WHO/ISUP renal" and level == 5:
        return _gleason("Gleason group 5", 5.0)
    return _grade(system, level, of or ranks) if level <= (of or ranks or 4) else None


def _level(groups: dict[str, str]) -> tuple[float, int | None]:
    """Rank, and of how many, if the phrase says so: 2 of 3, II/III; 1-2 and I/II are 1.5."""
    first = rank_number(groups["a"])
    if "b" not in groups:
        return float(first), None
    second = rank_number(groups["b"])
    if groups["sep"] in ("/", "of", "out of") and (second >= 3 or first == second == 2):
        return (float(first), second) if first <= second <= 5 else (float(first), None)
    return (first + second) / 2, None


def _read_words(text: str) -> Grade | None:
    pattern, words, whole = _words()
    if (row := whole.get(_spaced(text.strip(" .:;,")))) is None:
        if not (match := pattern.search(text)):
            return None
        row = words[_spaced(match.group())]
    level, scheme = float(row["level"]), row["scheme"]
    shown = f"{scheme} {level:g}"
    value = _value(level, row["of"])
    return Grade(scheme, value, shown, level, row["of"], row.get("tier"), row.get("about"))


def _grade(system: _System, level: float, of: int | None, part: str | None = None) -> Grade:
    text = f"{system.name} {level:g}" + (
        f" of {of}" if of and not system.tiers and not part else ""
    )
    tiers = system.tiers or _TIERS_OF.get(of or 0, ())
    tier = tiers[int(level) - 1] if level == int(level) and level <= len(tiers) else None
    if of is None and not tiers:
        tier = {1.0: "low", 3.0: "high", 4.0: "high"}.get(level)
    return Grade(system.name, _value(level, of), text, level, of, tier or None, system.about, part)


def _read_gleason(text: str) -> Grade | None:
    groups = _data()["group"]
    patterns = _PATTERNS.search(text)
    if patterns and (
        any(word in text for word in ("gleason", "=", "group"))
        or not re.search(r"[^\W_]", text[: patterns.start()] + text[patterns.end() :])
    ):
        score = f"{patterns[1]}+{patterns[2]}"
        total = str(int(patterns[1]) + int(patterns[2]))
        group = groups["scores"].get(score) or groups["sums"].get(total, 1)
        return _gleason(f"Gleason {score}", float(group))
    if match := _GROUP.search(text):
        group = rank_number(match["a"])
        return _gleason(f"Gleason group {group}", float(group)) if group <= 5 else None
    if not (match := _GLEASON_SUM.search(text)):
        return None
    if int(match["sum"]) <= 5 and ("pattern" in text or "grade" in text):
        level = float(match["sum"])
        return Grade(
            "Gleason", _value(level, 5), f"Gleason pattern {level:g}", level, 5, part="pattern"
        )
    return _gleason(f"Gleason {match['sum']}", float(groups["sums"].get(match["sum"], 1)))


def _gleason(text: str, group: float) -> Grade:
    tiers = _GLEASON.tiers
    tier = tiers[int(group) - 1] if group == int(group) else "intermediate"
    return Grade("Gleason", _value(group, 5), text, group, 5, tier, _GLEASON.about)


_STEP = r"(?:[1-5]|I{1,3}|IV)\b(?:\s*(?:/|of|out of|-|to)\s*(?:[1-5]|III|IV)\b)?"
_NAMED_SCHEMES = (
    r"(?:Nottingham|FIGO|Fuhrman|WHO/ISUP|ISUP|CNS WHO|WHO|FNCLCC|Edmondson(?:-Steiner)?|nucleolar)"
)
# All ways to give a grade that `read_grade` can read
_PHRASE = re.compile(
    r"\bGleason\b[^.;,]{0,25}?\d\s*\+\s*\d(?:\s*=\s*\d+)?"
    r"|\bGleason (?:score |sum )?(?:of )?(?:10|[6-9])\b"
    r"|\bgrade group(?:\s+(?:is|of))?[\s:]*[1-5]\b"
    r"|\b(?:total|score|sum|Nottingham)\b[^.;]{0,20}?\b[3-9]\s*(?:/|out of)\s*9\b"
    rf"|\b{_NAMED_SCHEMES}(?:[\s-]+(?:histologic(?:al)?|nuclear|nucleolar|combined))?(?:[\s-]+grade)?"
    rf"(?:\s+(?:is|of|as))?[\s:]*{_STEP}"
    rf"|\b(?:histologic(?:al)? |overall |tumou?r )?grade(?:d)?(?:\s+(?:is|of|as|was))?[\s:]*{_STEP}"
    r"|\bG[1-4]\b"
    r"|\b(?:well|moderately|poorly)(?:[\s-]+(?:to|and)[\s-]+(?:moderately|poorly))?[\s-]+differentiated\b"
    r"|\bundifferentiated\b(?! pleomorphic)|\b(?:good|moderate|poor) differentiation\b"
    r"|\bdifferentiation is (?:good|moderate|poor)\b"
    r"|\b(?:low|intermediate|high)(?:[\s-]+to[\s-]+(?:intermediate|high))?[\s-]+grade\b"
    r"|\bgrade(?:\s+(?:is|was))?[\s:]*(?:low|intermediate|high)\b"
    r"|\b(?:mild|moderate|severe) (?:\w+ )?dysplasia\b|\b[HL]G?SIL\b"
    r"|\b(?:CIN|VIN|AIN) ?(?:[1-3]|I{1,3})\b",
    re.IGNORECASE,
)
# Scores of tubules, nuclei and mitoses
_SCORES = re.compile(
    r"\btub\w+\D{0,20}?([1-3])\b\D{1,20}?\b(?:nucle\w+|pleo\w+)\D{0,20}?([1-3])\b"
    r"\D{1,20}?\bmito\w+\D{0,20}?([1-3])\b",
    re.IGNORECASE,
)
_OF_GROUP = re.compile(r"group (?:is|of) ", re.IGNORECASE)


class GradePhrase(NamedTuple):
    grade: Grade
    start: int
    end: int
    summed: bool = False  # true if it is the sum of three scores


def find_grades(text: str) -> Iterator[GradePhrase]:
    """The grades that a text gives, that of three scores first; denied ones are among them."""
    if match := _SCORES.search(text):
        total = sum(int(score) for score in match.groups())
        if grade := read_grade(f"Nottingham {total}/9"):
            yield GradePhrase(grade, *match.span(), summed=True)
    for match in _PHRASE.finditer(text):
        if grade := read_grade(_OF_GROUP.sub("group ", match.group())):
            yield GradePhrase(grade, *match.span())
