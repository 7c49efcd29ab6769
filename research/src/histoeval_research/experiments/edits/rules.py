"""Edits of true reports by rule: reworded, slightly wrong, hallucinated, contradictory."""

import re
from bisect import bisect_left
from itertools import pairwise
from random import Random
from typing import Any

from histoeval.reader.sentences import Sentence
from histoeval.report import Assertion, Entity, EntityType
from histoeval.terms.assertion import is_denied
from histoeval.terms.catalogue import Behaviour, Concept, closeness, diagnosis_tree
from histoeval.terms.catalogue import concepts as all_concepts
from histoeval.terms.naming import main_concept
from histoeval.terms.sites import find_sites, site_closeness
from histoeval.terms.values.laterality import Side, SideMention, side_of, written_sides
from histoeval.terms.values.marker_results import read_result
from histoeval.terms.values.markers import marker_of
from histoeval_research.experiments.edits.source_report import (
    Change,
    FindingMention,
    NotApplicable,
    Original,
    capitalised,
    concludes,
    in_case_of,
    is_plural,
    tables,
)

Made = tuple[Change, ...] | NotApplicable

_STRANGE = 0.3
"""Diagnoses that are less close than this are of different families."""
_HARMLESS = frozenset({Behaviour.BENIGN, Behaviour.NON_NEOPLASTIC, Behaviour.NORMAL})
_MOST_REPLACED = 3
_KIN = 0.33
"""Siblings below a wide word, as carcinoma, are less close than this, and are no subtypes."""
_NEAREST = 3
"""The number of nearest siblings of a diagnosis that one is drawn from."""
_ACTION = re.compile(
    r"\b(?:is|are|was|were)\b|(?:ing|ed|ves|des|nds|ades)$|^\w+tes$", re.IGNORECASE
)
"""Findings that are expressed by a verb, in place of which no thing can stand."""


def subtype(original: Original, chance: Random) -> Made:
    """A sibling of the diagnosis, alike in behaviour and at home in the same organ."""
    if original.main is None:
        return NotApplicable("it makes no known diagnosis")
    main = original.main.concept
    lineage = diagnosis_tree().lineage(main.id)
    siblings = diagnosis_tree().children(lineage[1]) if len(lineage) > 1 else ()
    able = [c for name in siblings if _is_rival(main, c := all_concepts()[name])]
    able = [c for c in able if closeness(main, c) >= _KIN]
    if not able:
        return NotApplicable("its diagnosis has no near sibling of the same organ and behaviour")
    nearest = sorted(able, key=lambda c: (-closeness(main, c), c.id))[:_NEAREST]
    return _everywhere(original, chance.choice(nearest).name)


def _is_rival(main: Concept, other: Concept) -> bool:
    tree = diagnosis_tree()
    related = tree.is_a(main.id, other.id) or tree.is_a(other.id, main.id)
    shared = not main.organs or not other.organs or bool(main.organs & other.organs)
    return not related and not other.generic and other.behaviour is main.behaviour and shared


def _everywhere(original: Original, name: str) -> tuple[Change, ...]:
    """A name in place of everything that names the main diagnosis."""
    return tuple(original.replaced(d.entity, name) for d in original.mentions)


def another_diagnosis(original: Original, chance: Random) -> Made:
    """A diagnosis of another family and of the same behaviour."""
    if original.main is None:
        return NotApplicable("it makes no known diagnosis")
    able = [row["name"] for row in tables()["stand_in"] if _is_stranger(original, row)]
    if not able:
        return NotApplicable("none of our diagnoses is of its behaviour and far enough from it")
    return _everywhere(original, chance.choice(able))


def _is_stranger(original: Original, row: dict[str, Any]) -> bool:
    other = main_concept(row["name"])
    if other is None or original.main is None:
        return False
    alike = _gravity(other) == _gravity(original.main.concept)
    return alike and all(closeness(other, d.concept) < _STRANGE for d in original.diagnoses)


def _gravity(concept: Concept) -> str:
    """Behaviour as far as it matters here: harmless, or not."""
    return "harmless" if concept.behaviour in _HARMLESS else "harmful"


def another_organ(original: Original, chance: Random) -> Made:
    """Sites of another organ, and a diagnosis of that organ."""
    named = [
        (e, match)
        for e in original.of_type(EntityType.SITE)
        for match in find_sites(e.text)
        if match.id not in tables()["everywhere"]["sites"]
    ]
    homes = {match.id for _, match in named}
    if original.main is not None:
        homes |= original.main.concept.organs
    if not named and original.main is None:
        return NotApplicable("it names no known site and makes no known diagnosis")
    able = [row for row in tables()["stand_in"] if _is_abroad(row["organ"], homes)]
    able = [r for r in able if original.main is None or _is_stranger(original, r)]
    if not able:
        return NotApplicable("none of our organs and diagnoses is far enough from its own")
    row = chance.choice(able)
    moved = [
        Change(start=e.start + m.start, before=e.text[m.start : m.end],
               after=in_case_of(e.text[m.start : m.end], row["organ"]))
        for e, m in named
    ]  # fmt: skip
    return apart([*_everywhere(original, row["name"]), *moved])


def _is_abroad(organ: str, homes: set[str]) -> bool:
    found = find_sites(organ)
    return bool(found) and all(site_closeness(found[0].id, home) == 0.0 for home in homes)


def apart(changes: list[Change]) -> tuple[Change, ...]:
    """Those of the changes that do not overlap one before them."""
    kept: list[Change] = []
    taken: list[tuple[int, int]] = []
    for change in changes:
        span = (change.start, change.start + len(change.before))
        at = bisect_left(taken, span)
        free = at == len(taken) or span[1] <= taken[at][0]
        if free and (at == 0 or taken[at - 1][1] <= span[0]):
            taken.insert(at, span)
            kept.append(change)
    return tuple(kept)


def benign_name(diagnosis: str) -> str:
    """The benign lesion that could stand where this malignant diagnosis does."""
    name = diagnosis.casefold()
    rows = tables()["benign"]
    return str(next(r["name"] for r in rows if not r["of"] or any(w in name for w in r["of"])))


def benign_for_malignant(original: Original, chance: Random) -> Made:  # noqa: ARG001
    """A benign lesion in place of the malignant diagnosis."""
    if original.main is None or original.main.concept.behaviour is not Behaviour.MALIGNANT:
        return NotApplicable("it makes no malignant diagnosis")
    return _everywhere(original, benign_name(original.main.entity.text))


def invented_finding(original: Original, chance: Random) -> Made:
    """A finding of which the report says nothing."""
    able = [r for r in tables()["invented"] if not original.spoken_of.intersection(r["is"])]
    if not able:
        return NotApplicable("it speaks of all the findings that we could invent")
    return (original.described(chance.choice(able)["sentence"]),)


def foreign_morphology(original: Original, chance: Random) -> Made:
    """Up to three of the findings replaced by those of other diseases."""
    there = [s.entity for s in original.seen if not s.denied]
    there = [e for e in there if not _ACTION.search(e.text)]
    able = [r for r in tables()["invented"] if not original.spoken_of.intersection(r["is"])]
    count = min(len(there), len(able), _MOST_REPLACED)
    if count == 0:
        return NotApplicable("it describes no known finding")
    chosen = sorted(chance.sample(there, count), key=lambda e: e.start)
    rows = chance.sample(able, count)
    return apart([original.replaced(e, r["phrase"]) for e, r in zip(chosen, rows, strict=True)])


_NEAR_SIDE = 40
_SIZED = re.compile(r"(?<!\d)\d+(?:\.\d+)?(?=(?:\s*[x\u00d7]\s*\d+(?:\.\d+)?){0,2}\s*(?:cm|mm)\b)")

_SCALES: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), tuple(words.split()))
    for pattern, words in (
        (r"\b(?:well|moderately|poorly)(?=[\s-]+differentiated)", "well moderately poorly"),
        (
            r"\b(?:good|moderate|poor)(?=\s+(?:degree of\s+)?differentiation)",
            "good moderate poor",
        ),
        (r"\b(?:low|intermediate|high)(?=[\s-]+grade)", "low intermediate high"),
        (r"(?<=grade )(?:III|II|I)(?![IV/\w])", "I II III"),
        (r"(?<=grade )(?:III|II|I)(?=/III\b)", "I II III"),
        (r"(?<=grade )(?:III|II|IV|I)(?=/IV\b)", "I II III IV"),
        (r"(?:(?<=grade )|(?<=\bg)|(?<=\bg-))[123](?!\s*(?:/|of|out)\s*4|[\d.+])", "1 2 3"),
        (r"(?<=grade )[1234](?=\s*(?:/|of|out of)\s*4)", "1 2 3 4"),
    )
)
"""Where a word of a grade stands, and the words that could stand there, from the lowest up."""


def shifted_grade(grade: str, step: int) -> str | None:
    """The grade N steps up, or down; None where its scale ends, or it is on none of ours."""
    for pattern, words in _SCALES:
        found = list(pattern.finditer(grade))
        if len(found) != 1:
            continue
        at = [w.casefold() for w in words].index(found[0][0].casefold()) + step
        if 0 <= at < len(words):
            moved = in_case_of(found[0][0], words[at]) if words[at].islower() else words[at]
            return grade[: found[0].start()] + moved + grade[found[0].end() :]
    return None


def graded(original: Original) -> list[Entity]:
    """The grades that the report gives; one that a sentence denies is none."""
    return [
        e
        for e in original.of_type(EntityType.GRADE)
        if e.assertion is not Assertion.ABSENT and not is_denied(original.text, e.start, e.end)
    ]


def grade_by_one(original: Original, chance: Random) -> Made:
    """All grades one step up, or all one step down."""
    found = graded(original)
    for step in chance.sample([1, -1], 2):
        moved = [shifted_grade(e.text, step) for e in found]
        if found and all(moved):
            pairs = zip(found, moved, strict=True)
            return tuple(original.replaced(e, words) for e, words in pairs if words)
    return NotApplicable("it gives no grade, or one that is on none of our scales")


def size(original: Original, chance: Random) -> Made:
    """One measurement by a third larger or smaller, wherever it is given."""
    text = original.text
    found = [n for n in _SIZED.finditer(text) if float(n[0]) > 0]
    if not found:
        return NotApplicable("it gives no size in cm or mm")
    number = chance.choice(found)[0]
    factor = chance.choice([1.35, 0.65])
    digits = 1 if "." in number or float(number) < 3 else 0
    moved = f"{float(number) * factor:.{digits}f}"
    return tuple(Change(start=n.start(), before=n[0], after=moved) for n in found if n[0] == number)


def sides(text: str) -> list[SideMention]:
    """The words left and right where they are about a site."""
    return [
        each
        for each in written_sides(text)
        if find_sites(text[each.end : each.end + _NEAR_SIDE])
        or find_sites(text[max(0, each.start - _NEAR_SIDE) : each.start])
    ]


def on_other_side(text: str, side: SideMention) -> Change:
    """Left for right and right for left, as it was typed."""
    word = text[side.start : side.end]
    other = in_case_of(word, "right" if side.side == Side.LEFT else "left")
    return Change(start=side.start, before=word, after=other)


def other_side(original: Original, chance: Random) -> Made:  # noqa: ARG001 - as all edits
    """Left and right change places, everywhere."""
    found = sides(original.text)
    if not found:
        return NotApplicable("it names no side of a site")
    return tuple(on_other_side(original.text, each) for each in found)


def marker_results(original: Original) -> list[tuple[Entity, Entity, str]]:
    """Every marker that is plainly positive or negative, with its result."""
    entities = original.report.entities
    found = []
    for relation in original.report.relations:
        marker, result = entities[relation.head], entities[relation.tail]
        if marker.type is EntityType.MARKER and result.type is EntityType.RESULT:
            read = read_result(result.text, marker_of(marker.text))
            known = marker_of(marker.text) is not None and "." not in marker.text
            if known and read is not None and read.polarity in ("positive", "negative"):
                found.append((marker, result, str(read.polarity)))
    return found


def marker_result(original: Original, chance: Random) -> Made:
    """The result of a marker turned into its opposite, and of all that share it."""
    able = marker_results(original)
    if not able:
        return NotApplicable("it gives no marker that is plainly positive or negative")
    _, result, polarity = chance.choice(able)
    opposite = "negative" if polarity == "positive" else "positive"
    words = re.sub(re.escape(polarity), opposite, result.text, flags=re.IGNORECASE)
    words = words if words != result.text else opposite
    return (original.replaced(result, words),)


_FAR = 0.35
"""Diagnoses that are less close than this exclude each other."""
_WEIGHTY = 2
_HEDGED = re.compile(
    r"\b(?:focal|rare|adjacent|margin|elsewhere|other|partial|some)", re.IGNORECASE
)


def assertion_conflict(original: Original, chance: Random) -> Made:
    """What is there is denied in another sentence, or what is not there affirmed."""
    able = [s for s in original.seen if _can_be_turned(original, s)]
    if not able:
        return NotApplicable("it has no weighty finding that is plainly affirmed or denied")
    seen = chance.choice(able)
    frames = tables()["frames"]["affirm" if seen.denied else "deny"]
    return (original.added(_framed(chance.choice(frames), _named(seen)), seen.entity),)


def _can_be_turned(original: Original, seen: FindingMention) -> bool:
    """Whether the opposite of a finding, stated of the whole report, contradicts it for certain."""
    sentence = original.sentence_of(seen.entity)
    return (
        seen.finding.importance >= _WEIGHTY
        and seen.finding.suggests != "normal"
        and len(seen.entity.text.split()) <= 4
        and not original.is_linked(seen.entity, EntityType.SITE)
        and sentence is not None
        and not _HEDGED.search(sentence.of(original.text))
        and (seen.finding.id, not seen.denied) not in original.stances
    )


def _named(seen: FindingMention) -> str:
    """The finding in words that go into any sentence: those of the report, or its plain name."""
    words = seen.entity.text
    return words if words.casefold() in seen.finding.names else seen.finding.name


def _framed(frame: str, words: str) -> str:
    plain = words if words[:2].isupper() else words[:1].lower() + words[1:]
    verb = "are" if is_plural(words) else "is"
    named = frame.replace("{x}", plain).replace("{X}", capitalised(words))
    return named.replace("{is}", verb)


def side_conflict(original: Original, chance: Random) -> Made:
    """The other side in one place of a report that has one side only."""
    found = sides(original.text)
    if not found:
        return NotApplicable("it names no side of a site")
    if len({each.side for each in found}) > 1 or original.has_parts:
        return NotApplicable("it speaks of both sides, or of several specimens")
    last = found[-1]
    moved = on_other_side(original.text, last)
    if len(found) > 1 and not _same_sentence(original, found[0].start, last.start):
        return (moved,)
    rest = original.text[last.end : last.end + 60]
    site = next(iter(find_sites(rest)), None)
    if site is None or side_of(f"left {rest[site.start : site.end]}") is None:
        return NotApplicable("it names a side once, and not of which site")
    frame = chance.choice(tables()["frames"]["side"])
    words = frame.format(side=moved.after.lower(), site=rest[site.start : site.end].lower())
    return (original.added(words),)


def _same_sentence(original: Original, one: int, other: int) -> bool:
    return original.sentence_at(one) == original.sentence_at(other)


def grade_conflict(original: Original, chance: Random) -> Made:
    """A second grade for the tumour: one of two mentions moved, or another put in."""
    if original.has_parts:
        return NotApplicable("it speaks of several specimens, which may have grades of their own")
    able = [(e, moved) for e in graded(original) if (moved := _far(e.text)) is not None]
    if not able:
        return NotApplicable("it gives no grade that can be moved along its scale")
    entity, moved = able[-1]
    first = able[0][0]
    if len(able) > 1 and not _same_sentence(original, first.start, entity.start):
        return (original.replaced(entity, moved),)
    frame = chance.choice(tables()["frames"]["grade"])
    return (original.added(frame.format(grade=moved if _is_name(moved) else moved.lower())),)


def _far(grade: str) -> str | None:
    """A grade two steps away, or one where there are not two."""
    return next((g for step in (2, -2, 1, -1) if (g := shifted_grade(grade, step))), None)


def _is_name(grade: str) -> bool:
    """Whether a grade begins with the name of its system, or is a number."""
    words = ("well", "moderate", "poor", "low", "intermediate", "high")
    return not grade.casefold().startswith(words)


def marker_conflict(original: Original, chance: Random) -> Made:
    """A marker that is positive called negative in another sentence, or the other way round."""
    able = marker_results(original)
    if not able:
        return NotApplicable("it gives no marker that is plainly positive or negative")
    marker, _, polarity = chance.choice(able)
    frames = tables()["frames"]["negative" if polarity == "positive" else "positive"]
    frame = chance.choice(frames)
    words = frame.replace("{x}", marker.text).replace("{X}", marker.text)
    return (original.added(words, marker),)


def benign_conclusion(original: Original, chance: Random) -> Made:
    """A benign conclusion where the morphology, or another mention, is malignant."""
    main = original.main
    if main is None or main.concept.behaviour is not Behaviour.MALIGNANT:
        return NotApplicable("it makes no malignant diagnosis")
    if original.has_parts:
        return NotApplicable("it speaks of several specimens, some of which may be benign")
    speaking = [s for s in original.seen if s.finding.suggests == "malignant" and not s.denied]
    others = [d for d in original.mentions if d.entity != main.entity]
    if speaking or others:
        choice = chance.choice(["replace", "add"])
        if choice == "replace" and original.concludes(main.entity):
            return (original.replaced(main.entity, benign_name(main.entity.text)),)
    return (original.added(chance.choice(tables()["frames"]["benign"])),)


def excluded_diagnosis(original: Original, chance: Random) -> Made:
    """A conclusion that what is described excludes, in place of the true one."""
    main = original.main
    if main is None or not original.concludes(main.entity):
        return NotApplicable("it has no sentence that concludes with a known diagnosis")
    affirmed = {s.finding.id for s in original.seen if not s.denied}
    able = [
        name
        for row in tables()["excludes"]
        if affirmed.intersection(row["findings"])
        for name in row["diagnoses"]
        if _excludes(original, name)
    ]
    if not able:
        return NotApplicable("it describes nothing that excludes one of our diagnoses")
    return (original.replaced(main.entity, chance.choice(able)),)


def _excludes(original: Original, name: str) -> bool:
    """Whether a diagnosis is far from everything that the report makes."""
    concept = main_concept(name)
    made = [d.concept for d in original.mentions]
    return concept is not None and all(closeness(concept, each) < _FAR for each in made)


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
