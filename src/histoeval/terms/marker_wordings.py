"""Statements on markers in other words, written as the reader of markers knows them.

"Does not express p16" is `negative for p16`, "amplification of MDM2 was not shown" is `MDM2
amplification absent`. Places in the new text lead back to those of the original.
"""

import re
from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple

_NAME = r"(?P<name>[A-Z][\w/.-]{0,20}(?: [A-Z]\d{1,4}[A-Z]?)?|p\d\d)"
_MARKER_AHEAD = (
    r"(?=\s{1,3}(?:(?:both|all|any)\s)?(?:[A-Z][A-Za-z]{0,12}-?\d|[A-Z]{2,}|p\d\d|S-?100|desmin|(?:cyto)?keratin"
    r"|synaptophysin|chromogranin|calretinin|vimentin|cyclin|inhibin|myogenin|mammaglobin|actin))"
)
_EVENT = (
    r"(?P<event>[Aa]mplification|[Rr]earrangement|[Mm]utation|[Ff]usion|[Dd]eletion|"
    r"[Tt]ranslocation|[Oo]verexpression)"
)
_SEEN = r"(?:shown|seen|detected|found|identified|demonstrated|present|observed|evident)"
_ANY_ORGANISM = (
    r"(?:fung(?:i|al \w{1,20})|acid[- ]fast bacilli|mycobacteria|micro-?organisms"
    r"|organisms|bacteria|helicobacter(?: pylori)?|H\. pylori)"
)
_ORGANISM = rf"(?P<organism>{_ANY_ORGANISM})"
_STAINED = (
    r"(?:(?:immuno-?)?(?:stain(?:ing)?|labell?ing|reactivity|reaction|positivity)|uptake"
    r"|(?:over)?expression|deposit(?:ion|s)?)"
)
_KEPT = r"(?!loss\b|lost\b|aberrant|abnormal|reduc|retained|significant|further|additional)"
_LISTED = r"[\w/.-]{1,20}(?: [A-Z]?\d{1,3}[A-Z]?)?"
_NOTHING = r"(?:none|nothing|negative|absent|nil|not seen|none seen)"

_Wording = str | Callable[[re.Match[str]], str]

_ORGANISMS = ("fung", "bacilli", "mycobacteria", "organisms", "bacteria", "helicobacter", "pylori")

# Each with how it is written, whether capitals matter, and what stands in all that it matches
_WORDINGS: tuple[tuple[re.Pattern[str], _Wording, bool, tuple[str, ...]], ...] = tuple(
    (re.compile(pattern, 0 if cased else re.IGNORECASE), wording, cased, any_of)
    for pattern, wording, cased, any_of in (
        (
            r"\b(?:(?:do|does|did) not|fail(?:s|ed)? to) "
            r"(?:express|stain (?:for|with)|label (?:for|with)|mark (?:for|with)|react with)\b",
            "negative for",
            False,
            ("not ", "fail"),
        ),
        (
            rf"\b[Nn]o (?:{_KEPT}[\w-]{{1,20}} ){{0,4}}?{_STAINED} (?:for|of|with){_MARKER_AHEAD}",
            "negative for",
            True,
            ("stain", "label", "react", "positivity", "uptake", "xpression", "deposit"),
        ),
        (
            rf"\b(?:keeps?|kept|preserves?|maintains?){_MARKER_AHEAD}",
            "retained",
            True,
            ("keep", "kept", "preserve", "maintain"),
        ),
        (r"\bunstained (?:for|by|with)\b", "negative for", False, ("unstained",)),
        (
            rf"\b[Nn]either{_MARKER_AHEAD} (?P<one>{_LISTED}) nor (?P<two>{_LISTED}) "
            rf"(?:is|are|was|were) (?:expressed|positive|{_SEEN})\b",
            r"negative for \g<one> and \g<two>",
            True,
            ("either",),
        ),
        (
            rf"\bno (?P<looked_for>{_ANY_ORGANISM}(?:(?:, | or |, or ){_ANY_ORGANISM}){{0,3}}) "
            rf"(?:is|are|was|were|can be|could be) {_SEEN}\b",
            r"negative for \g<looked_for>",
            False,
            _ORGANISMS,
        ),
        (
            r"\black(?:s|ed|ing)?(?: (?:expression of|staining for|reactivity for))?"
            rf"{_MARKER_AHEAD}",
            "negative for",
            True,
            ("lack",),
        ),
        (
            r"\bno (?:mismatch repair|MMR) proteins?(?: expression)? "
            r"(?:is|are|was|were) (?:lost|missing|absent)",
            "mismatch repair proteins are retained",
            False,
            ("no m",),
        ),
        (
            r"\bno loss of (?:mismatch repair|MMR)\b",
            "retained mismatch repair",
            False,
            ("no loss of",),
        ),
        (
            rf"\b{_EVENT} of (?:the )?{_NAME}(?: gene)? (?:is|was|were|are) (?:not|never) {_SEEN}",
            lambda found: f"{found['name']} {found['event']} absent",
            True,
            ("tion of", "ment of", "sion of"),
        ),
        (
            rf"\bnor {_NAME} {_EVENT} (?:is|was|were|are) {_SEEN}",
            lambda found: f"no {found['name']} {found['event']}",
            True,
            ("nor ",),
        ),
        (
            rf"\b(?:stains for )?{_ORGANISM} ?\((?P<stains>[^()\n]{{2,40}})\)"
            rf"[\s:]{{1,3}}(?:(?:is|are|was|were|shows?) )?{_NOTHING}\b",
            lambda found: f"{found['stains']} negative for {found['organism']}",
            False,
            _ORGANISMS,
        ),
        (
            r"\b(?:shows?|showed|reveals?|revealed) (?:none|nothing)\b",
            "negative",
            False,
            ("none", "nothing"),
        ),
        (r"\bp53 ?[-\u2212](?=[\s,;.)/]|$)", "p53 negative", False, ("p53",)),
        (r"\bnormal p53 (?:staining|expression|pattern)", "p53 wild type", False, ("normal p53",)),
        (
            r"\b(?:mutation|mutant|mutated)[- ](?:type |pattern )?p53(?: pattern| staining)?",
            "p53 mutant pattern",
            False,
            ("p53",),
        ),
        (
            r"\b(?:CDKN2A(?: \(p16\))?|p16 \(CDKN2A\))(?: (?:by )?FISH)?[\s:]{1,3}"
            r"(?:homozygous(?:ly)? )?delet(?:ed|ion)\b"
            r"(?! (?:is |was )?(?:absent|not|detected|present|found|seen|identified))",
            "CDKN2A deletion detected",
            False,
            ("delet",),
        ),
        (
            r"(?<!no )(?<!without )(?<!of )\b1p/?19q co-?deletion"
            r"(?! (?:is |was )?(?:absent|not|negative|undetected))(?!:)",
            "1p/19q codeleted",
            False,
            ("19q",),
        ),
        (
            r"\b(?P<name>CD\d{1,3}\w{0,4}|[A-Z]{2}[A-Z0-9]{0,8}(?:-\d{1,3})?)[-\u2212]"
            r"(?= (?:and|or) [A-Z][\w-]{0,20}[^\w-])",
            lambda found: f"{found['name']} negative",
            True,
            ("- ", "\u2212 "),
        ),
        (
            r"(?<=[A-Z0-9])-/dim\b|(?<=[A-Z0-9]) dim to negative\b",
            " negative to dim",
            True,
            ("-/dim", "dim to negative"),
        ),
    )
)


class PlainStatements(NamedTuple):
    """A text in such words, and where its stretches stood."""

    text: str
    # Start and end in the new text, start and end in the original, from left to right
    changes: tuple[tuple[int, int, int, int], ...]

    def place(self, place: int, *, end: bool = False) -> int:
        """Where a place stood; within a stretch that was changed, where that began or ended."""
        at = bisect_right(self.changes, place - end, key=lambda change: change[0]) - 1
        if at < 0:
            return place
        _, new_end, start, old_end = self.changes[at]
        if place - end < new_end:
            return old_end if end else start
        return place - new_end + old_end


def plain_statements(text: str) -> PlainStatements:
    """A text with statements on markers in the words of the reader; mostly the text itself."""
    small = text.casefold().replace("\u0131", "i")  # what a pattern that ignores case may match
    found = sorted(
        (match.start(), match.end(), match.expand(to) if isinstance(to, str) else to(match))
        for pattern, to, cased, any_of in _WORDINGS
        if any(map((text if cased else small).__contains__, any_of))
        for match in pattern.finditer(text)
    )
    pieces: list[str] = []
    changes: list[tuple[int, int, int, int]] = []
    at = length = 0
    for start, end, written in found:
        if start < at:
            continue
        pieces += [text[at:start], written]
        length += start - at
        changes.append((length, length + len(written), start, end))
        length, at = length + len(written), end
    return PlainStatements("".join([*pieces, text[at:]]), tuple(changes))
