"""The same report in other words: nothing that it says is changed."""

import re
from itertools import pairwise
from random import Random

from histoeval.reader.sentences import Sentence
from histoeval_research.experiments.edits.hallucination import apart
from histoeval_research.experiments.edits.source_report import (
    Change,
    NotApplicable,
    Original,
    concludes,
    in_case_of,
    tables,
)

Made = tuple[Change, ...] | NotApplicable

_MOST_SYNONYMS = 4
_FEWEST_SENTENCES = 2


def synonym(original: Original, chance: Random) -> Made:
    """Up to four terms or verbs in other words."""
    found: list[Change] = []
    for row in tables()["same"]:
        one, other = row["of"]
        for term, meant in ((one, other), (other, one)):
            for match in re.finditer(rf"\b{re.escape(term)}\b", original.text, re.IGNORECASE):
                after = in_case_of(match[0], meant) if meant.islower() else meant
                found.append(Change(start=match.start(), before=match[0], after=after))
    found = [c for c in found if not _names_another(original.text, c)]
    if not found:
        return NotApplicable("it has none of the words that we know others for")
    chance.shuffle(found)
    return tuple(sorted(apart(found)[:_MOST_SYNONYMS], key=lambda c: c.start))


def _names_another(text: str, change: Change) -> bool:
    """Whether the words are part of a longer name, as a shorter one in a wider."""
    before = text[max(0, change.start - 12) : change.start].casefold()
    return change.before.casefold() == "bladder" and before.endswith(("gall", "urinary "))


def presence(original: Original, chance: Random) -> Made:  # noqa: ARG001 - as all edits
    """Said otherwise that something is there, or is not."""
    found: list[Change] = []
    for row in tables()["presence"]:
        for match in re.finditer(row["find"], original.text):
            found.append(
                Change(start=match.start(), before=match[0], after=match.expand(row["say"]))
            )
    kept = apart([c for c in found if c.before != c.after])
    return kept or NotApplicable("it says nowhere in our words that something is there or is not")


def abbreviation(original: Original, chance: Random) -> Made:  # noqa: ARG001
    """Every term that has a short form abbreviated."""
    found = [
        Change(start=match.start(), before=match[0], after=short)
        for term, short in tables()["abbreviations"].items()
        for match in re.finditer(rf"\b{re.escape(term)}\b", original.text, re.IGNORECASE)
    ]
    kept = apart(sorted(found, key=lambda c: -len(c.before)))
    return kept or NotApplicable("it has no term that we know a short form of")


def order(original: Original, chance: Random) -> Made:
    """Two sentences that stand side by side, and lean on nothing before them, change places."""
    text, sentences = original.text, original.sentences
    able = [
        at
        for at in range(len(sentences) - 1)
        if _is_free(text, sentences[at], at == 0)
        and _is_free(text, sentences[at + 1], False)
        and (at + 2 >= len(sentences) or not _leans(sentences[at + 2].of(text)))
        and "\n" not in text[sentences[at].start : sentences[at + 1].end]
    ]
    if not able or original.has_parts:
        return NotApplicable("it has no two sentences that could change places")
    one, other = sentences[(at := chance.choice(able))], sentences[at + 1]
    before = text[one.start : other.end]
    gap = text[one.end : other.start]
    return (Change(start=one.start, before=before, after=other.of(text) + gap + one.of(text)),)


def _is_free(text: str, sentence: Sentence, opens: bool) -> bool:
    """Whether a sentence means the same elsewhere in the description."""
    words = sentence.of(text)
    return (
        not _leans(words)
        and not concludes(words)
        and words.endswith(".")
        and (not opens or not words.casefold().startswith("microscop"))
    )


def _leans(words: str) -> bool:
    start = words.casefold()
    return any(re.match(rf"{re.escape(w)}\b", start) for w in tables()["order"]["leaning"])


def layout(original: Original, chance: Random) -> Made:
    """One sentence a line, with a dash or without."""
    sentences = original.sentences
    gaps = [
        (one.end, other.start)
        for one, other in pairwise(sentences)
        if "\n" not in original.text[one.end : other.start]
    ]
    if len(sentences) < _FEWEST_SENTENCES or not gaps:
        return NotApplicable("it has one sentence a line already, or one sentence")
    mark = chance.choice(["\n", "\n- "])
    return tuple(
        Change(start=start, before=original.text[start:end], after=mark) for start, end in gaps
    )
