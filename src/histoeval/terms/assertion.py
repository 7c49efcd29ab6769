"""Denial, doubt, history and advice in a text: the one reading of them.

Concordance, logic, the features of the NLI model and the controlled edits all ask here. Wordings
are in `data/assertion.toml`: lists of beginnings of words at the top (`has_wording`), and regular
expressions between word bounds in `[cues]` (`has_cue`).
"""

import re
from functools import cache, lru_cache

from histoeval.terms.lexicon import WORD_START, Lexicon

_BREAK = re.compile(r"[.;:\n]")
_CLAUSE = re.compile(r"[.;:,\n]|\b(?:and|with|now|but)\b", re.IGNORECASE)
_CONTRAST = re.compile(
    r"\b(?:but|although|however|except|with|shows?|present|seen|identified|positive|is|are|was|were)\b"
    r"|[(]",
    re.IGNORECASE,
)
_CONTRAST_OR_COMMA = re.compile(rf"{_CONTRAST.pattern}|,\s*(?!or\b|and\b|nor\b)", re.IGNORECASE)
_LIST_GOES_ON = re.compile(r"(?:,\s*+(?:[\w-]++\s++){1,4}?){0,3}?,?\s*n?or\b", re.IGNORECASE)
# A heading under which all that stands is denied
_DENIED_LIST = re.compile(
    r"(?:^|[.;\n])[\s*-]{0,40}(?:not (?:seen|identified|present|found|detected)|absent"
    r"|negative(?: for)?|none of|no evidence of)\s*:[^.;:\n]*$",
    re.IGNORECASE,
)
_NOT = re.compile(r"\b(?:not|cannot(?: be)?)\s+(?:\w+\s+)?$", re.IGNORECASE)
# Where a new statement begins: no necrosis and prominent nucleoli
_ANEW = re.compile(
    r"\band\s+(?=(?:prominent|marked|extensive|numerous|abundant|conspicuous|scattered)\b)",
    re.IGNORECASE,
)
_UP_TO_WORD = (
    r"[ ]*+(?:(?:,|/|\band\b|\bor\b|\bnor\b)[ ]*+)?"
    r"(?!but\b|with\b|which\b|is\b|are\b|was\b|were\b|not?\b|in\b|of\b|by\b|on\b)"
)
# Words between a thing and the verdict on it
_UP_TO_VERDICT = (
    rf"(?:(?:{_UP_TO_WORD}[\w-]++){{0,4}}?|(?:{_UP_TO_WORD}[\w-]++){{0,3}}{_UP_TO_WORD}[\w-]+)"
    r"[ ]*(?:[:=(-]\s*|\b(?:is|are|was|were|be|been)\s+)?(?:both |all |also )?"
)
_BETWEEN = re.compile(r"[\w\s,/:=(-]{1,400}")  # all characters that such words can have
_TO_BE = re.compile(r"\b(?:is|are|was|were)\s+$", re.IGNORECASE)
_ASIDE = re.compile(r"\s?\([^()]{1,40}\)(?=\s\w)")
_JOINED = re.compile(r"\b(?:and|n?or)\b|/", re.IGNORECASE)
_OTHER_WORD = re.compile(r"\b(?!(?:is|are|was|were|be|been|both|all|also)\b)\w", re.IGNORECASE)
# Words before a verdict that leave it open, or give it another subject or object
_OPEN = re.compile(
    r"\b(?:cannot|can not|could|may|might|should|must|ha(?:s|ve|d)(?! been)|shows?|contains?|forms?"
    r"|to be|rest|others?|remaining|remainder)\b",
    re.IGNORECASE,
)
# Before a name in brackets of what is denied: no malignant change (carcinoma)
_NO_AND_BRACKET = re.compile(r"\b(?:no|without)\s+(?:[\w-]+\s+){1,4}\(\s*$", re.IGNORECASE)
_ENDING = frozenset({"no", "no evidence", "nil", "0"})  # verdicts only where nothing follows
_END = re.compile(r"\s*(?:[.,/](?!\d)|[;:)\]\n]|$)")
# Verdicts unless they stand before a noun
_ADJECTIVES = frozenset({"free", "clear", "negative", "positive", "absent", "lacking", "missing"})
_GOES_ON = re.compile(
    r"-\w|\s+(?!(?:by|at|in|on|and|or|but|with|to|from|of|within|throughout|after|as|except|though"
    r"|although|while|bilaterally|histologically|microscopically)\b)\w",
    re.IGNORECASE,
)
_OF = re.compile(r"\s+of\b", re.IGNORECASE)
_VERDICT_CHARS = 30  # no verdict is longer
_AFTER_COMMA = re.compile(r"\b(?:no|without|negative for)\b[^,]{0,80},[^,]{0,80}$", re.IGNORECASE)
_ANEW_BEFORE = re.compile(
    r"\b(?:no|without|negative for)\b[^,]{0,80},\s{0,3}(?:(?:focal|a|an|single|small)\s{1,3}){0,3}"
    r"(?:(?:low|high)[- ]grade|mild|moderate|severe|focal|subcapsular|a|an)\s{1,3}$",
    re.IGNORECASE,
)
_ANEW_AFTER = re.compile(r"\s*(?:arising|present|seen|identified|measuring|invading|of)\b")
# After a denial and a comma: words by which a new statement, and no further item, begins
_LIST_ENDS = re.compile(r"^[^.;:]*\b(?:or|nor|and)\b|^[^.;:]*\b(?:not|absent)\b", re.IGNORECASE)
_AFTER = 60
# Before a diagnosis of which something was tested: fusion-negative rhabdomyosarcoma
_OF_A_TEST = re.compile(r"[\w)]-negative\s+(?:[\w-]+\s+)?$", re.IGNORECASE)
_DENIED_VALUE = re.compile(
    r"(?:no|none|nil|absent|negative|free|clear|uninvolved|[-\u2212]|"
    r"not (?:seen|identified|present|found|detected|involved|evident|invaded|breached))"
    r"(?:[ \t]*[.;,(]|\Z)|no(?:ne| evidence)?\b[^.;,]*\Z",
    re.IGNORECASE,
)
_REACH, _CLAUSE_REACH = 100, 40


CUES = Lexicon("terms/data/assertion.toml", before="(?<![a-z0-9-])", after="(?![a-z0-9])")
_WORDINGS = Lexicon("terms/data/assertion.toml", literal=True)
_PHRASES = Lexicon("terms/data/assertion.toml", before=r"\b", after=r"\b", literal=True)
_EDGES = " \t\r\n.,;:-/()[]\"'"
# A word of denial, and what follows it up to the end of its clause
_DENIED_STRETCH = re.compile(
    r"\b(?:no|not|without|absence of|lacks?|lacking|free of|negative for|nor)\b[^.;:]*?"
    r"(?=[.;:]|, (?!or\b|and no\b|nor\b)|\bbut\b|$)",
    re.IGNORECASE,
)
# What is diagnosed somewhere is current; what was diagnosed in some year is not
_NOW = re.compile(r"\b(?:is|are) diagnosed in\b", re.IGNORECASE)
_PAST = re.compile(r"\bin (?:19|20)\d\d\b|\b(?:years?|months?) ago\b", re.IGNORECASE)


def has_cue(kind: str, text: str) -> bool:
    """True if a text has a cue of a kind anywhere: `denied`, `doubt` or `past`."""
    return CUES.has(text, "cues", kind)


def denies(text: str) -> bool:
    return has_cue("denied", text)


def is_denied(text: str, start: int, end: int) -> bool:
    if _NO_AND_BRACKET.search(before(text, start)):
        return True
    return stance_at(text, start, end) is False


def affirmed_text(text: str) -> str:
    """Drop what a text denies."""
    return _DENIED_STRETCH.sub(" ", text)


def asserts_now(sentence: str) -> bool:
    """True if a sentence tells what is found, and not the past or what should be done."""
    text = _NOW.sub("", sentence)
    return not (has_wording("history", text) or has_wording("advice", text) or _PAST.search(text))


def before(text: str, place: int) -> str:
    """Words before a place in the same statement, near enough to concern it."""
    return _BREAK.split(text[max(0, place - _REACH) : place])[-1]


def clause_before(text: str, place: int) -> str:
    return _CLAUSE.split(text[max(0, place - _CLAUSE_REACH) : place])[-1]


def is_of_test(text: str, start: int) -> bool:
    """True if `negative` before a place is the result of a test and denies nothing after it."""
    return bool(_OF_A_TEST.search(before(text, start)))


def begins_anew(text: str, start: int, end: int) -> bool:
    """True if after a denial and a comma a new statement begins, and no further item of a list."""
    words, after = before(text, start), text[end : end + _AFTER]
    first_words = words + text[start:end].partition(" ")[0] + " "
    anew = _ANEW_BEFORE.search(words) or _ANEW_BEFORE.search(first_words)
    anew = anew or (_AFTER_COMMA.search(words) and _ANEW_AFTER.match(after))
    return bool(anew) and not _LIST_ENDS.search(after)


def denies_as_value(value: str) -> bool:
    """True if the value of a heading, such as `none` or `not seen`, denies the heading."""
    return bool(_DENIED_VALUE.match(value))


@lru_cache(maxsize=1 << 12)
def stance_at(text: str, start: int, end: int) -> bool | None:
    """True if the words around a place plainly affirm it, False if they deny it, else None.

    `No` before it denies it and `absent` after it, `present` affirms it; and what is itself denied
    denies nothing: a margin that is not free is involved.
    """
    if _DENIED_LIST.search(text[max(0, start - _REACH) : start]):
        return False
    words = before(text, start)
    if copula := _TO_BE.search(
        words
    ):  # "none of the nodes is" before "involved": none of the nodes
        words = _CLAUSE.split(words[: copula.start()])[-1]
    # In a list that ends in `or`, a word of denial concerns all items
    is_in_list = _LIST_GOES_ON.match(text[end : end + _REACH])
    words = (_CONTRAST if is_in_list else _CONTRAST_OR_COMMA).split(words)[-1]
    if anew := _last(_ANEW, words + text[start:end]):
        words = words[anew.start() :]
    if denial := _last(_WORDINGS.pattern("denial"), words):
        return bool(_NOT.search(words[: denial.start()]))
    text = text[:end] + _without_aside(text[end : end + 2 * _REACH])
    # Most places have no verdict within reach, and are spared the search of all ways to part words
    between = _BETWEEN.match(text, end)
    reach = (between.end() if between else end) + _VERDICT_CHARS
    if (
        _verdict("").search(text, end, reach)
        and (verdict := _verdict().match(text, end))
        and _is_on(text, start, end, verdict)
    ):
        return verdict["denied"] is None
    return True if has_wording("affirmed_before", words) else None


def _is_on(text: str, start: int, end: int, verdict: re.Match[str]) -> bool:
    """True if a verdict is one, and on this thing rather than on what stands between them.

    In "carcinoma, margins free" the margins are free; "clear cytoplasm" and "no granulomas" say
    nothing of what stands before them; what cannot be excluded is neither there nor not.
    """
    word = verdict.lastgroup or ""
    between, judged = text[end : verdict.start(word)], CUES.has(text[start:end], "cues", "judged")
    if _OPEN.search(between) or (CUES.has(between, "cues", "judged") and not judged):
        return False
    last = between.rpartition(",")[2] if "," in between else ""
    if _OTHER_WORD.search(last) and not _JOINED.search(last):
        return False
    rest = text[verdict.end() :]
    if verdict[word].lower() in _ENDING:
        return _END.match(rest) is not None
    if verdict[word].lower() in _ADJECTIVES and between != "-":
        return _GOES_ON.match(rest) is None and (judged or not _OF.match(rest))
    return True


def _without_aside(after: str) -> str:
    """Drop brackets after a thing that are no verdict on it."""
    aside = _ASIDE.search(after)
    if aside is None or _verdict("").search(aside.group()):
        return after
    return after[: aside.start()] + after[aside.end() :]


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    match = None
    for match in pattern.finditer(text):  # noqa: B007
        pass
    return match


@cache
def _verdict(before: str = _UP_TO_VERDICT) -> re.Pattern[str]:
    denied, affirmed = (
        "|".join(re.escape(word) for word in sorted(CUES.entry(kind), key=len, reverse=True))
        for kind in ("denied_after", "affirmed_after")
    )
    return re.compile(
        rf"{before}{WORD_START}(?:(?P<denied>{denied})|(?P<affirmed>{affirmed}))(?![^\W_]|\s+for\b)",
        re.IGNORECASE,
    )


def has_wording(kind: str, text: str) -> bool:
    return _WORDINGS.has(text, kind)


def without_denial(phrase: str) -> tuple[str, bool]:
    """A phrase in lower case without its words of denial, and whether they deny all of it.

    "No necrosis" and "necrosis not seen" are denied; "polyp without dysplasia" is a polyp.
    """
    text = _PHRASES.pattern("phrases", "harmless").sub(" ", phrase.lower())
    denial = _PHRASES.pattern("phrases", "denying").search(text)
    if denial is None:
        return text, False
    before, after = (part.strip(_EDGES) for part in (text[: denial.start()], text[denial.end() :]))
    return before or after, not (before and after)


def drop_denying_words(text: str) -> str:
    """Put gaps in the place of words of denial."""
    return _PHRASES.pattern("phrases", "denying").sub(" ", text)


def phrase_words(kind: str) -> list[str]:
    words: list[str] = CUES.entry("phrases", kind)
    return words
