"""Grades of tumours and of dysplasia in whole texts: grade 2, poorly differentiated, Gleason 7.

A grade of two ranks and one of three agree where usage counts them the same: a grade 2 may be of
low or of high grade, a grade 1 is not of high grade.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from histoeval.resources import load_toml
from histoeval.terms.assertion import is_denied
from histoeval.terms.number_words import in_figures, rank_number
from histoeval.terms.values.stated import CRITICAL, MAJOR, MODERATE, StatedValue
from histoeval.terms.values.stated_stages import FIGO

TUMOUR, NUCLEAR, DYSPLASIA = "tumour grade", "nuclear grade", "dysplasia"
CNS, IN_SITU = "CNS grade", "in situ grade"

_RANK = r"(?P<a>[1-4]|(?-i:IV|I{1,3})|(?:one|two|three|four)\b)(?![^\W_]|[.,]\d|\s?[%+])"
_RANGE = (
    r"(?:\s*(?P<sep>-|\u2013|to|/|of|out of)\s*(?P<b>[1-9]|(?-i:IV|I{1,3})|three|four)(?![^\W_]))?"
)
_WHO = r"(?:who|world health organi[sz]ation)"
_OF = (
    r"(?:histologic(?:al)?|overall|combined|tumou?r|nottingham|sbr|elston[- ]ellis"
    rf"|bloom[- ]richardson|fnclcc|{FIGO}|fuhrman|(?:{_WHO}\W{{0,2}})?isup|{_WHO}|net|iaslc"
    r"|edmondson(?:[- ]steiner)?)"
)
_ASPECT = r"(?:\bnuclear |\bnucleolar |\bcytologic(?:al)? )"
# Systems that need no further word before the grade
_ALONE = rf"(?:fnclcc|fuhrman|(?:{_WHO}/)?isup|nottingham|sbr)"
_GRADE = re.compile(
    rf"(?P<of>\b{_OF}\s+)?(?P<what>{_ASPECT})?\bgrade[\s:=(-]{{0,3}}(?:of |is )?{_RANK}{_RANGE}"
    rf"|\b{_ALONE}[\s:=(,-]{{0,3}}(?:(?:grade|g)\W{{0,2}})?{_RANK.replace('<a>', '<a2>')}"
    r"|(?<![\w/])(?-i:G)(?P<g>[1-4])(?![\w/]|[ ,]*[LSR]\d)",
    re.IGNORECASE,
)
# Three scores of 1 to 3: up to 5 is grade 1, up to 7 grade 2
_SUM_OF_NINE = re.compile(
    r"\b(?:nottingham|sbr|elston[- ]ellis|bloom[- ]richardson)(?: (?:total|combined|histologic))?"
    r"(?: score)?[\s:=(]{1,3}(?P<sum>[3-9]) ?(?:/|of|out of) ?9\b",
    re.IGNORECASE,
)
_CNS = re.compile(
    rf"\b(?:cns[ -]{_WHO}|{_WHO}[ -]cns)\W+(?:20\d\d\W+)?(?:grade\W{{0,2}})?{_RANK}",
    re.IGNORECASE,
)
_SPECIAL = re.compile(
    r"(?:banff|ishlt|gvhd|marsh|iron|siderosis|steatosis|inflammat|activity|fibrosis|reticulin"
    r"|regression|"
    r"rejection|varus|bartl|follicular lymphoma|intraepithelial neoplasia|\b[cva]{1,2}in|pein"
    r"|scheuer|"
    r"architectural|mitotic|maternal|fo?etal|chorio\w+|response|mucositis|oesophagitis|esophagitis|"
    r"isup|gleason|group)[\w\s,()/-]{0,24}$",
    re.IGNORECASE,
)
_GLEASON_SCORE = re.compile(
    r"\b(?:gleason\W{0,3}(?:(?:score|grade|sum|pattern)s?\W{0,3}(?:of |is )?)?)?"
    r"(?<![\d+])(?P<a>[3-5])\s*\+\s*(?P<b>[3-5])(?![\d+]|\s*\+)(?:\s*=\s*\d+)?",
    re.IGNORECASE,
)
_GLEASON_PATTERNS = re.compile(
    r"\bprimary (?:gleason )?pattern\W{0,3}(?P<a>[3-5])\b\D{1,30}?"
    r"secondary (?:gleason )?pattern\W{0,3}(?P<b>[3-5])\b",
    re.IGNORECASE,
)
_GLEASON_SUM = re.compile(
    r"\bgleason\W{0,3}(?:(?:score|grade|sum)\W{0,3}(?:of |is )?)?(?P<sum>10|[6-9])\b(?!\s*\+|\s*/)",
    re.IGNORECASE,
)
_GRADE_GROUP = re.compile(
    r"\b(?:(?:isup |who |prognostic )?grade group|isup (?:grade|group)|prognostic group|(?-i:GG))"
    r"[\s:=(-]{0,3}(?:of )?(?P<group>[1-5]|(?-i:IV|I{1,3}|V)|one|two|three|four|five)(?![^\W_])",
    re.IGNORECASE,
)
_PLUS = re.compile(r"\bplus\b(?=\s+\d)", re.IGNORECASE)
_PROSTATE = re.compile(r"prostat|gleason|acinar|grade group", re.IGNORECASE)
_WORDS = {
    "1": r"(?:well|highly)[- ]differentiated",
    "1-2": r"well[- ](?:to|-)[- ]?moderately[- ]differentiated",
    "2": r"(?:moderately(?:[- ]well)?|intermediately)[- ]differentiated",
    "2-3": r"moderate(?:ly)?[- ](?:to|-)[- ]?poorly[- ]differentiated",
    "3": r"poorly[- ]differentiated",
}
_DIFFERENTIATION = re.compile(
    r"\bdifferentiation[\s:,-]{1,3}(?P<how>well|moderate(?:ly)?|poor(?:ly)?)\b"
    r"|\b(?P<adjective>good|moderate|poor) differentiation\b"
    + "".join(rf"|\b(?P<w{i}>{words})\b" for i, words in enumerate(_WORDS.values())),
    re.IGNORECASE,
)
_HOW = {"w": "1", "g": "1", "m": "2", "p": "3"}
_OPTIONS: Mapping[str, frozenset[str]] = {
    "1": frozenset({"1"}),
    "2": frozenset({"2", "2 low", "2 high"}),
    "3": frozenset({"3", "3 high"}),
    "4": frozenset({"4", "4 high"}),
    "1-2": frozenset({"1", "2", "2 low"}),
    "2-3": frozenset({"2", "2 high", "3", "3 high"}),
    "low": frozenset({"1", "2 low"}),
    "intermediate": frozenset({"2"}),
    "high": frozenset({"3", "4", "2 high", "3 high", "4 high"}),
}
_TIER = re.compile(
    r"\b(?P<tier>low|intermediate|high)(?:[- ](?:nuclear |cytologic(?:al)? "
    r"|histologic(?:al)? )?grade)\b"
    r"(?P<behind>[\w\s,/()-]{0,40})",
    re.IGNORECASE,
)
_LESION = re.compile(
    r"[\s,]*(?:(?:squamous|glandular|epithelial|foveolar|intestinal|adenomatous|columnar)\s+)*"
    r"(?:dysplasia|dysplastic|change|intraepithelial neoplasia|pin|panin|bilin|neoplasia|atypia)\b",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"[\s,]*(?:squamous |vulvar |cervical |anal )*(?:sil\b|squamous intraepithelial"
    r"|intraepithelial lesion"
    r"|dyskaryosis|urothelial neoplasm|lesion)",
    re.IGNORECASE,
)
_DYSPLASIA = re.compile(
    r"\b(?P<degree>mild|slight|moderate|severe|marked)(?:ly)?(?P<to>[- ](?:to|-)[- ]?(?:moderate"
    r"|severe))?"
    r"(?:[ -](?:squamous|epithelial|glandular|oral|keratinising|keratinizing|foveolar)){0,3} "
    r"(?:dysplasia|dysplastic)\b"
    r"|\bdysplasia,? (?P<behind>mild|slight|moderate|severe|marked|low[- ]grade|high[- ]grade"
    r"|none|absent)\b"
    r"|\b(?P<none>(?:no|without|negative for|absence of)(?: evidence of| any| definite)?"
    r"(?: [\w-]+,?(?: or| nor| and))? dysplasia|non-?dysplastic)\b"
    r"|\b(?P<indefinite>indefinite for dysplasia)\b"
    r"|(?-i:\b(?P<short>LGD|HGD)\b)",
    re.IGNORECASE,
)
_IN_SITU = re.compile(
    r"[\s,]*(?:solid |comedo |cribriform )*(?:DCIS|LCIS|ductal carcinoma in situ|in situ)\b"
)
_IN_SITU_BEFORE = re.compile(r"(?:DCIS|LCIS|in situ)[\s,:(-]*$")
_NEAR = 20
_DEGREES = {"mild": "low", "slight": "low", "severe": "high", "marked": "high"}
_LEVELS = {"none": 0, "indefinite": 1, "low": 2, "high": 3}
# Where dysplasia is another name of an intraepithelial neoplasia
_CERVIX = re.compile(r"\b(?:cervix|cervical|LLETZ|LEEP|CIN|VIN|VaIN|AIN|NILM)\b(?! (?:node|lymph))")
# Moderate dysplasia is of low grade in some organs, of high grade in others
_EITHER = frozenset({"low", "high"})


def read_tumour_grades(text: str) -> list[StatedValue]:
    """Grades of tumours, of nuclei and of dysplasia that a text states.

    That of the nuclei counts as that of the tumour where there is no other.
    """
    values = list(_grades(text))
    if any(grade.axis == TUMOUR for grade in values):
        return values
    return [replace(grade, axis=TUMOUR) if grade.axis == NUCLEAR else grade for grade in values]


def _grades(text: str) -> Iterator[StatedValue]:
    yield from _numbers(text)
    for match in _DIFFERENTIATION.finditer(text):
        if is_denied(text, *match.span()):
            continue
        how = match["how"] or match["adjective"]
        in_words = (rank for i, rank in enumerate(_WORDS) if match[f"w{i}"])
        rank = _HOW[how[0].lower()] if how else next(in_words)
        if rank == "1" and re.match(
            r"\W*(?:lipo|neuroendocrine|pap)", text[match.end() :], re.IGNORECASE
        ):
            continue  # a name, no grade
        yield StatedValue(TUMOUR, _OPTIONS[rank], *match.span())
    yield from _tiers(text)
    for match in _DYSPLASIA.finditer(text) if not _CERVIX.search(text) else ():
        degree = _degree(match)
        if not match["none"] and is_denied(text, *match.span()):
            if degree != {"high"}:
                continue
            degree = frozenset({"none", "low"})
        yield StatedValue(DYSPLASIA, degree, *match.span())


def _numbers(text: str) -> Iterator[StatedValue]:
    cns = {match.end("a"): match for match in _CNS.finditer(text)}
    for match in cns.values():
        yield StatedValue(CNS, frozenset({str(_number(match["a"]))}), *match.span())
    for match in _SUM_OF_NINE.finditer(text):
        total = int(match["sum"])
        rank = 1 + (total > 5) + (total > 7)
        yield StatedValue(TUMOUR, _OPTIONS[str(rank)], *match.span())
    for match in _GRADE.finditer(text):
        written = match["a"] or match["a2"] or match["g"]
        ahead = text[max(0, match.start() - 50) : match.start()]
        if match.end("a") in cns or _SPECIAL.search(re.split(r"[;.\n]", ahead)[-1]):
            continue
        rank = _number(written)
        options = _OPTIONS[str(rank)]
        if match["b"] and match["sep"] in ("-", "\u2013", "to"):
            options |= _OPTIONS.get(str(_number(match["b"])), frozenset())
        nuclear = (match["what"] or "").lower().startswith("nuclear") and "isup" not in text.lower()
        axis = NUCLEAR if nuclear and "fuhrman" not in text.lower() else TUMOUR
        yield StatedValue(axis, options, *match.span())


def _number(written: str) -> int:
    words = ("one", "two", "three", "four", "five")
    lowered = written.lower()
    return words.index(lowered) + 1 if lowered in words else rank_number(lowered)


def _tiers(text: str) -> Iterator[StatedValue]:
    for match in _TIER.finditer(text):
        end = match.start("behind")
        tier, denied = match["tier"].lower(), is_denied(text, match.start(), end)
        if _LESION.match(match["behind"]):
            if denied and tier == "high":
                yield StatedValue(DYSPLASIA, frozenset({"none", "low"}), match.start(), end)
            elif tier != "intermediate" and not denied:
                yield StatedValue(DYSPLASIA, frozenset({tier}), match.start(), end)
        elif not denied and not _NAMED.match(match["behind"]):
            yield StatedValue(_axis_of_tier(text, match), _OPTIONS[tier], match.start(), end)


def _axis_of_tier(text: str, match: re.Match[str]) -> str:
    before = text[max(0, match.start() - _NEAR) : match.start()]
    invasive = re.search(r"\b(?:invasive|infiltrating) (?:\w+ )?carcinoma", text, re.IGNORECASE)
    if invasive and (_IN_SITU.match(match["behind"]) or _IN_SITU_BEFORE.search(before)):
        return IN_SITU
    return (
        NUCLEAR if "nuclear" in match.group()[: -len(match["behind"]) or None].lower() else TUMOUR
    )


def _degree(match: re.Match[str]) -> frozenset[str]:
    if match["none"]:
        return frozenset({"none"})
    if match["indefinite"]:
        return frozenset({"indefinite"})
    if match["short"]:
        return frozenset({"low" if match["short"] == "LGD" else "high"})
    word = (match["degree"] or match["behind"]).lower()
    if word in ("none", "absent"):
        return frozenset({"none"})
    if word.endswith("grade"):
        return frozenset({re.split("[- ]", word)[0]})
    return _EITHER if match["to"] or word == "moderate" else frozenset({_DEGREES[word]})


def tumour_grade_severity(one: StatedValue, other: StatedValue) -> int:
    """Severity of stating one grade for another; 0 where they agree."""
    if one.options & other.options:
        return 0
    if one.axis == DYSPLASIA:
        apart = min(abs(_LEVELS[a] - _LEVELS[b]) for a in one.options for b in other.options)
        return {
            1: MODERATE if "indefinite" in one.options | other.options else MAJOR,
            3: CRITICAL,
        }.get(apart, MAJOR)
    if one.axis == CNS:
        apart = min(abs(int(a) - int(b)) for a in one.options for b in other.options)
        return CRITICAL if apart > 1 else MAJOR
    return MAJOR


# --- prostate -------------------------------------------------------------------------------------


def read_gleason(text: str) -> Iterator[StatedValue]:
    """Grade groups of the prostate that a text states, by themselves or by a Gleason score."""
    if not _PROSTATE.search(text):
        return
    groups = load_toml("terms/data/grades.toml")["group"]
    text = _PLUS.sub("   +", in_figures(text))
    for pattern in (_GLEASON_SCORE, _GLEASON_PATTERNS):
        for match in pattern.finditer(text):
            group = groups["scores"].get(f"{match['a']}+{match['b']}", 1)
            yield _group(match, str(group))
    for match in _GLEASON_SUM.finditer(text):
        group = groups["sums"][match["sum"]]
        yield _group(match, *("23" if group == 2.5 else str(group)))
    for match in _GRADE_GROUP.finditer(text):
        yield _group(match, str(_number(match["group"])))


def _group(match: re.Match[str], *groups: str) -> StatedValue:
    return StatedValue("Gleason", frozenset(groups), match.start(), match.end())


def gleason_severity(one: StatedValue, other: StatedValue) -> int:
    """Severity of stating one grade group for another; 0 where they agree."""
    if one.options & other.options:
        return 0
    apart = min(abs(int(a) - int(b)) for a in one.options for b in other.options)
    return CRITICAL if apart > 2 else MAJOR
