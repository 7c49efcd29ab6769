"""Edits of true reports by rule: reworded, slightly wrong, hallucinated, contradictory.

Each takes the report and a source of chance and gives changes; where it cannot be made it says why
by `NotApplicable`. Its level and group stand under its name in `data/edits.toml`.
"""

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from random import Random
from typing import Any

from histoeval.reader.sentences import Sentence
from histoeval.report import Assertion, Entity, EntityType
from histoeval.terms.assertion import is_denied
from histoeval.terms.catalogue import Behaviour, Concept, closeness, concepts, diagnosis_tree
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
    apart,
    capitalised,
    concludes,
    demand,
    in_case_of,
    is_plural,
    tables,
)

Changes = Sequence[Change]

# Diagnoses that are less close than these are of different families; exclude each other; are
# siblings only below a wide word, such as carcinoma.
STRANGE, EXCLUDED, KIN = 0.3, 0.35, 0.33
NEAREST_SIBLINGS = 3
MOST_REPLACED = 3
MOST_SYNONYMS = 4
HARMLESS = frozenset({Behaviour.BENIGN, Behaviour.NON_NEOPLASTIC, Behaviour.NORMAL})
_ACTION = re.compile(  # "invades", "invading": a verb, in place of which no thing can stand
    r"\b(?:is|are|was|were)\b|(?:ing|ed|ves|des|nds|ades)$|^\w+tes$", re.IGNORECASE
)


def subtype(original: Original, chance: Random) -> Changes:
    """A sibling of the diagnosis, alike in behaviour and at home in the same organ."""
    main, tree = original.diagnosis.concept, diagnosis_tree()
    lineage = tree.lineage(main.id)
    siblings = [concepts()[i] for i in (tree.children(lineage[1]) if len(lineage) > 1 else ())]
    near = [
        other
        for other in siblings
        if not (tree.is_a(main.id, other.id) or tree.is_a(other.id, main.id) or other.generic)
        and other.behaviour is main.behaviour
        and (not main.organs or not other.organs or main.organs & other.organs)
        and closeness(main, other) >= KIN
    ]
    near.sort(key=lambda other: (-closeness(main, other), other.id))
    demand(near, "its diagnosis has no near sibling of the same organ and behaviour")
    return original.renamed(chance.choice(near[:NEAREST_SIBLINGS]).name)


def another_diagnosis(original: Original, chance: Random) -> Changes:
    """A diagnosis of another family and of the same behaviour."""
    main, names = original.diagnosis.concept, [row["name"] for row in tables()["stand_in"]]
    able = [name for name in names if _is_stranger(original, main, name)]
    reason = "none of our diagnoses is of its behaviour and far enough from it"
    return original.renamed(chance.choice(demand(able, reason)))


def _is_stranger(original: Original, main: Concept, name: str) -> bool:
    other = main_concept(name)
    return (
        other is not None
        and (other.behaviour in HARMLESS) == (main.behaviour in HARMLESS)
        and all(closeness(other, made.concept) < STRANGE for made in original.diagnoses)
    )


def another_organ(original: Original, chance: Random) -> Changes:
    """Sites of another organ, and a diagnosis of that organ."""
    named = [
        (entity, site)
        for entity in original.of_type(EntityType.SITE)
        for site in find_sites(entity.text)
        if site.id not in tables()["everywhere"]["sites"]
    ]
    main = original.main
    if not named and main is None:
        raise NotApplicable("it names no known site and makes no known diagnosis")
    homes = {site.id for _, site in named} | (main.concept.organs if main else set())
    able = [
        row
        for row in tables()["stand_in"]
        if (sites := find_sites(row["organ"]))
        and all(site_closeness(sites[0].id, home) == 0.0 for home in homes)
        and (main is None or _is_stranger(original, main.concept, row["name"]))
    ]
    row = chance.choice(demand(able, "none of our organs and diagnoses is far enough from its own"))
    changes = original.renamed(row["name"])
    for entity, site in named:
        words = entity.text[site.start : site.end]
        after = in_case_of(words, row["organ"])
        changes.append(Change(start=entity.start + site.start, before=words, after=after))
    return apart(changes)


def benign_for_malignant(original: Original, chance: Random) -> Changes:  # noqa: ARG001 - as all
    """A benign lesion in place of the malignant diagnosis."""
    return original.renamed(_benign_name(original.malignancy.entity.text))


def _benign_name(diagnosis: str) -> str:
    name = diagnosis.casefold()
    rows = tables()["benign"]
    return str(next(r["name"] for r in rows if not r["of"] or any(w in name for w in r["of"])))


def invented_finding(original: Original, chance: Random) -> Changes:
    """A finding of which the report says nothing."""
    able = demand(_unmentioned(original), "it speaks of all the findings that we could invent")
    return [original.described(chance.choice(able)["sentence"])]


def _unmentioned(original: Original) -> list[dict[str, Any]]:
    return [row for row in tables()["invented"] if not original.spoken_of.intersection(row["is"])]


def foreign_morphology(original: Original, chance: Random) -> Changes:
    """Up to three of the findings replaced by those of other diseases."""
    affirmed = [seen.entity for seen in original.seen if not seen.is_denied]
    replaceable = [entity for entity in affirmed if not _ACTION.search(entity.text)]
    able = _unmentioned(original)
    count = min(len(replaceable), len(able), MOST_REPLACED)
    if count == 0:
        raise NotApplicable("it describes no known finding")
    entities = sorted(chance.sample(replaceable, count), key=lambda e: e.start)
    rows = zip(entities, chance.sample(able, count), strict=True)
    return apart([original.replaced(entity, row["phrase"]) for entity, row in rows])


@cache
def _scales() -> list[tuple[re.Pattern[str], list[str]]]:
    rows = tables()["scale"]
    return [(re.compile(row["find"], re.IGNORECASE), row["words"].split()) for row in rows]


def shifted_grade(grade: str, step: int) -> str | None:
    """The grade N steps up, or down; None where its scale ends, or it is on none of ours."""
    for pattern, words in _scales():
        matches = list(pattern.finditer(grade))
        if len(matches) == 1:
            match, word = matches[0], matches[0][0]
            at = [w.casefold() for w in words].index(word.casefold()) + step
            if 0 <= at < len(words):
                moved = in_case_of(word, words[at]) if words[at].islower() else words[at]
                return grade[: match.start()] + moved + grade[match.end() :]
    return None


def _grades(original: Original) -> list[Entity]:
    return [
        grade
        for grade in original.of_type(EntityType.GRADE)
        if grade.assertion is not Assertion.ABSENT
        and not is_denied(original.text, grade.start, grade.end)
    ]


def grade_by_one(original: Original, chance: Random) -> Changes:
    """All grades one step up, or all one step down."""
    grades = _grades(original)
    for step in chance.sample([1, -1], 2):
        moved = [(grade, shifted_grade(grade.text, step)) for grade in grades]
        if moved and all(words for _, words in moved):
            return [original.replaced(grade, words) for grade, words in moved if words]
    raise NotApplicable("it gives no grade, or one that is on none of our scales")


_SIZE = re.compile(  # 3.5 in "3.5 cm" and in "3.5 x 2 cm"
    r"(?<!\d)\d+(?:\.\d+)?(?=(?:\s*[x\u00d7]\s*\d+(?:\.\d+)?){0,2}\s*(?:cm|mm)\b)"
)


def size(original: Original, chance: Random) -> Changes:
    """One measurement by a third larger or smaller, wherever it is given."""
    sizes = [match for match in _SIZE.finditer(original.text) if float(match[0]) > 0]
    number = chance.choice(demand(sizes, "it gives no size in cm or mm"))[0]
    factor = chance.choice([1.35, 0.65])
    digits = 1 if "." in number or float(number) < 3 else 0
    moved = f"{float(number) * factor:.{digits}f}"
    return [
        Change(start=match.start(), before=number, after=moved)
        for match in sizes
        if match[0] == number
    ]


SIDE_REACH = 40  # a word left or right is about a site if one is named within so many characters


def _sides(original: Original) -> Sequence[SideMention]:
    text = original.text
    sides = [
        side
        for side in written_sides(text)
        if find_sites(text[side.end : side.end + SIDE_REACH])
        or find_sites(text[max(0, side.start - SIDE_REACH) : side.start])
    ]
    return demand(sides, "it names no side of a site")


def _on_other_side(text: str, side: SideMention) -> Change:
    word = text[side.start : side.end]
    opposite = in_case_of(word, "right" if side.side == Side.LEFT else "left")
    return Change(start=side.start, before=word, after=opposite)


def other_side(original: Original, chance: Random) -> Changes:  # noqa: ARG001 - as all edits
    """Left and right change places, everywhere."""
    return [_on_other_side(original.text, side) for side in _sides(original)]


def _marker_results(original: Original) -> Sequence[tuple[Entity, Entity, str]]:
    entities = original.report.entities
    results = []
    for relation in original.report.relations:
        marker, result = entities[relation.head], entities[relation.tail]
        if marker.type is EntityType.MARKER and result.type is EntityType.RESULT:
            known = marker_of(marker.text)
            read = read_result(result.text, known)
            if known is not None and "." not in marker.text and read is not None:
                results.append((marker, result, str(read.polarity)))
    plain = [row for row in results if row[2] in ("positive", "negative")]
    return demand(plain, "it gives no marker that is plainly positive or negative")


def marker_result(original: Original, chance: Random) -> Changes:
    """The result of a marker turned into its opposite, and of all that share it."""
    _, result, polarity = chance.choice(_marker_results(original))
    opposite = "negative" if polarity == "positive" else "positive"
    words = re.sub(re.escape(polarity), opposite, result.text, flags=re.IGNORECASE)
    return [original.replaced(result, words if words != result.text else opposite)]


WEIGHTY = 2  # only findings of at least this importance are contradicted
_HEDGED = re.compile(
    r"\b(?:focal|rare|adjacent|margin|elsewhere|other|partial|some)", re.IGNORECASE
)


def assertion_conflict(original: Original, chance: Random) -> Changes:
    """What is there is denied in another sentence, or what is not there affirmed."""
    able = [seen for seen in original.seen if _can_be_turned(original, seen)]
    reason = "it has no weighty finding that is plainly affirmed or denied"
    seen = chance.choice(demand(able, reason))
    frame = chance.choice(tables()["frames"]["affirm" if seen.is_denied else "deny"])
    own = seen.entity.text
    words = own if own.casefold() in seen.finding.names else seen.finding.name
    plain = words if words[:2].isupper() else words[:1].lower() + words[1:]
    sentence = frame.replace("{x}", plain).replace("{X}", capitalised(words))
    sentence = sentence.replace("{is}", "are" if is_plural(words) else "is")
    return [original.added(sentence, seen.entity)]


def _can_be_turned(original: Original, seen: FindingMention) -> bool:
    """Whether the opposite of a finding, stated of the whole report, contradicts it for certain."""
    sentence = original.sentence_at(seen.entity.start)
    return (
        seen.finding.importance >= WEIGHTY
        and seen.finding.suggests != "normal"
        and len(seen.entity.text.split()) <= 4
        and (seen.entity.start, EntityType.SITE) not in original.links
        and sentence is not None
        and not _HEDGED.search(sentence.of(original.text))
        and (seen.finding.id, not seen.is_denied) not in original.stances
    )


def side_conflict(original: Original, chance: Random) -> Changes:
    """The other side in one place of a report that has one side only."""
    sides = _sides(original)
    if len({side.side for side in sides}) > 1 or original.has_parts:
        raise NotApplicable("it speaks of both sides, or of several specimens")
    first, last = sides[0], sides[-1]
    moved = _on_other_side(original.text, last)
    if original.sentence_at(first.start) != original.sentence_at(last.start):
        return [moved]
    rest = original.text[last.end : last.end + 60]
    site = next((rest[mention.start : mention.end] for mention in find_sites(rest)), None)
    if site is None or side_of(f"left {site}") is None:
        raise NotApplicable("it names a side once, and not of which site")
    frame = chance.choice(tables()["frames"]["side"])
    return [original.added(frame.format(side=moved.after.lower(), site=site.lower()))]


def grade_conflict(original: Original, chance: Random) -> Changes:
    """A second grade for the tumour: one of two mentions moved, or another put in."""
    if original.has_parts:
        raise NotApplicable("it speaks of several specimens, which may have grades of their own")
    shifted = [
        (grade, [shifted_grade(grade.text, step) for step in (2, -2, 1, -1)])
        for grade in _grades(original)
    ]
    able = [(grade, next(filter(None, moved))) for grade, moved in shifted if any(moved)]
    demand(able, "it gives no grade that can be moved along its scale")
    (first, _), (last, moved) = able[0], able[-1]
    if original.sentence_at(first.start) != original.sentence_at(last.start):
        return [original.replaced(last, moved)]
    frame = chance.choice(tables()["frames"]["grade"])
    words = ("well", "moderate", "poor", "low", "intermediate", "high")
    is_word = moved.casefold().startswith(words)  # and no number, nor the name of a system
    return [original.added(frame.format(grade=moved.lower() if is_word else moved))]


def marker_conflict(original: Original, chance: Random) -> Changes:
    """A marker that is positive called negative in another sentence, or the other way round."""
    marker, _, polarity = chance.choice(_marker_results(original))
    frames = tables()["frames"]["negative" if polarity == "positive" else "positive"]
    frame = chance.choice(frames)
    words = frame.replace("{x}", marker.text).replace("{X}", marker.text)
    return [original.added(words, marker)]


def benign_conclusion(original: Original, chance: Random) -> Changes:
    """A benign conclusion where the morphology, or another mention, is malignant."""
    main = original.malignancy
    if original.has_parts:
        raise NotApplicable("it speaks of several specimens, some of which may be benign")
    is_malignant = any(s.finding.suggests == "malignant" and not s.is_denied for s in original.seen)
    if is_malignant or any(d.entity != main.entity for d in original.mentions):
        choice = chance.choice(["replace", "add"])
        if choice == "replace" and original.concludes(main.entity):
            return [original.replaced(main.entity, _benign_name(main.entity.text))]
    return [original.added(chance.choice(tables()["frames"]["benign"]))]


def excluded_diagnosis(original: Original, chance: Random) -> Changes:
    """A conclusion that what is described excludes, in place of the true one."""
    main = original.main
    if main is None or not original.concludes(main.entity):
        raise NotApplicable("it has no sentence that concludes with a known diagnosis")
    affirmed = {seen.finding.id for seen in original.seen if not seen.is_denied}
    able = [
        name
        for row in tables()["excludes"]
        if affirmed.intersection(row["findings"])
        for name in row["diagnoses"]
        if (concept := main_concept(name)) is not None
        and all(closeness(concept, made.concept) < EXCLUDED for made in original.mentions)
    ]
    name = chance.choice(demand(able, "it describes nothing that excludes one of our diagnoses"))
    return [original.replaced(main.entity, name)]


def _matches(original: Original, term: str) -> list[re.Match[str]]:
    return list(re.finditer(rf"\b{re.escape(term)}\b", original.text, re.IGNORECASE))


def synonym(original: Original, chance: Random) -> Changes:
    """Up to four terms or verbs in other words."""
    changes = []
    for row in tables()["same"]:
        for term, other in (row["of"], row["of"][::-1]):
            for match in _matches(original, term):
                after = in_case_of(match[0], other) if other.islower() else other
                before = original.text[max(0, match.start() - 12) : match.start()].casefold()
                # "gallbladder" and "urinary bladder" have longer names of their own
                if term != "bladder" or not before.endswith(("gall", "urinary ")):
                    changes.append(Change(start=match.start(), before=match[0], after=after))
    demand(changes, "it has none of the words that we know others for")
    chance.shuffle(changes)
    return sorted(apart(changes)[:MOST_SYNONYMS], key=lambda change: change.start)


def presence(original: Original, chance: Random) -> Changes:  # noqa: ARG001 - as all edits
    """Said otherwise that something is there, or is not."""
    changes = [
        Change(start=match.start(), before=match[0], after=match.expand(row["say"]))
        for row in tables()["presence"]
        for match in re.finditer(row["find"], original.text)
    ]
    other = apart([change for change in changes if change.before != change.after])
    return demand(other, "it says nowhere in our words that something is there or is not")


def abbreviation(original: Original, chance: Random) -> Changes:  # noqa: ARG001 - as all edits
    """Every term that has a short form abbreviated."""
    changes = [
        Change(start=match.start(), before=match[0], after=short)
        for term, short in tables()["abbreviations"].items()
        for match in _matches(original, term)
    ]
    longest_first = sorted(changes, key=lambda change: -len(change.before))
    return demand(apart(longest_first), "it has no term that we know a short form of")


def order(original: Original, chance: Random) -> Changes:
    """Two sentences that stand side by side, and lean on nothing before them, change places."""
    text, sentences = original.text, original.sentences
    able = [
        (sentence, following)
        for place, (sentence, following) in enumerate(pairwise(sentences))
        if _is_free(text, sentence, place == 0)
        and _is_free(text, following, False)
        and (place + 2 >= len(sentences) or not _leans(sentences[place + 2].of(text)))
        and "\n" not in text[sentence.start : following.end]
    ]
    if original.has_parts:
        able = []
    one, other = chance.choice(demand(able, "it has no two sentences that could change places"))
    after = other.of(text) + text[one.end : other.start] + one.of(text)
    return [Change(start=one.start, before=text[one.start : other.end], after=after)]


def _is_free(text: str, sentence: Sentence, opens: bool) -> bool:
    words = sentence.of(text)
    is_title = opens and words.casefold().startswith("microscop")
    return not _leans(words) and not concludes(words) and words.endswith(".") and not is_title


def _leans(words: str) -> bool:
    start = words.casefold()
    return any(re.match(rf"{re.escape(w)}\b", start) for w in tables()["order"]["leaning"])


def layout(original: Original, chance: Random) -> Changes:
    """One sentence a line, with a dash or without."""
    text = original.text
    gaps = [(one.end, other.start) for one, other in pairwise(original.sentences)]
    gaps = [(start, end) for start, end in gaps if "\n" not in text[start:end]]
    demand(gaps, "it has one sentence a line already, or one sentence")
    mark = chance.choice(["\n", "\n- "])
    return [Change(start=start, before=text[start:end], after=mark) for start, end in gaps]
