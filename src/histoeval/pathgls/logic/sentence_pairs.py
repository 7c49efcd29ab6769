"""Pairs of sentences of a short report as they stand, for an NLI model.

They catch what no table of terms knows. In short reports in prose any two sentences on the lesion
are a pair, any two on its margins, and any two on lymph nodes.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, islice, product

from histoeval.nli.features.extract import extract_features, opposes
from histoeval.pathgls.logic.grade_mentions import is_of_early_lesion
from histoeval.pathgls.logic.impression import leaning_of
from histoeval.pathgls.logic.lexicon import listed
from histoeval.pathgls.logic.places import are_by_two_methods, have_two_heads, is_place_of_denial
from histoeval.pathgls.logic.rules.diagnosis import are_exclusive
from histoeval.pathgls.logic.sentences import ReportSentence
from histoeval.pathgls.logic.specimen import Specimen, own_concept
from histoeval.pathgls.logic.statements import StatementPair
from histoeval.pathgls.logic.verbalise import LEANING, Statement, sentence_statement
from histoeval.report import EntityType
from histoeval.terms.assertion import denies, is_denied
from histoeval.terms.catalogue import Behaviour, concepts, diagnosis_tree
from histoeval.terms.naming import find_diagnoses
from histoeval.terms.sites import contains, find_sites, organ_of
from histoeval.terms.values.laterality import Side, side_of

MAX_SENTENCE_PAIRS = 36
"""More pairs of sentences of a report are not compared."""

_MAX_CANDIDATES = 10 * MAX_SENTENCE_PAIRS
_STEM = 4
_WORD = re.compile(r"[a-z][a-z0-9-]{2,}")
_SITE = "site"
_LESION, _MARGINS, _NODES = "of the lesion", "of margins", "of nodes"


def sentence_pairs(specimen: Specimen) -> list[StatementPair]:
    """Pairs of sentences of a specimen that may contradict each other, the opposed first."""
    if not specimen.is_prose:
        return []
    sentences = [
        sentence_statement(passage, {k: v for k, v in _topics(passage, specimen) if v})
        for passage in specimen.passages
        if _is_whole(passage)
    ]
    sent = _names_what_was_sent(specimen)
    pairs = [
        pair
        for one, other in combinations(sentences, 2)
        for pair in [_paired(one, other)]
        if (shared := _about(one.passage) & _about(other.passage))
        and (shared != {_LESION} or pair.opposed or _words(one.text) & _words(other.text))
        and (pair.opposed or not (pair.of_two_places or one.passage == sent))
        and not have_two_heads(one.text, other.text)
        and not are_by_two_methods(one.text, other.text)
        and not _may_be_made_together(one.passage, other.passage, specimen)
        and not (_denies_another(one.text, other.text) or _denies_another(other.text, one.text))
    ]
    ranked = sorted(pairs, key=lambda pair: not pair.opposed)[:_MAX_CANDIDATES]
    related = (pair for pair in ranked if pair.opposed or not _have_nothing_in_common(pair))
    return list(islice(related, MAX_SENTENCE_PAIRS))


def _words(text: str) -> frozenset[str]:
    """The beginnings of the words of a sentence that are not in all of them."""
    stems = {word[:_STEM] for word in _WORD.findall(text.lower())}
    return frozenset(stems - listed("everywhere"))


def _paired(one: Statement, other: Statement) -> StatementPair:
    """Two sentences as a pair; a place within another is the same place."""
    here, there = one.topics.get(_SITE, ""), other.topics.get(_SITE, "")
    if here and there and (contains(here, there) or contains(there, here)):
        other = replace(other, topics={**other.topics, _SITE: here})
    return StatementPair(one, other)


def _have_nothing_in_common(pair: StatementPair) -> bool:
    """Whether two sentences on the lesion share no word, and no value of them is opposed."""
    if _about(pair.first.passage) & _about(pair.second.passage) - {_LESION}:
        return False
    features = extract_features(pair.first.text, pair.second.text)
    return features is not None and bool(features["all_fresh"]) and not opposes(features)


def _names_what_was_sent(specimen: Specimen) -> ReportSentence | None:
    """The first sentence, where it has a procedure and states nothing of the lesion."""
    first = specimen.passages[0] if specimen.passages else None
    lesion = (specimen.diagnoses, specimen.findings, specimen.grades)
    stated = {each.passage for mentions in lesion for each in mentions}
    operated = any(
        each.passage == first and each.value.type == EntityType.PROCEDURE
        for each in specimen.entities
    )
    return first if operated and first not in stated else None


def _may_be_made_together(one: ReportSentence, other: ReportSentence, specimen: Specimen) -> bool:
    """Whether each sentence makes a diagnosis, and they are a tumour and its precursor."""
    here, there = (
        [
            concept
            for each in specimen.made
            if each.passage == passage and (concept := own_concept(each.value))
        ]
        for passage in (one, other)
    )
    return bool(here and there) and all(
        Behaviour.IN_SITU in (a.behaviour, b.behaviour)
        and a.behaviour != b.behaviour
        and not are_exclusive(a, b)
        for a, b in product(here, there)
    )


def _denies_another(one: str, other: str) -> bool:
    """Whether all that one sentence names is denied, and not a kind of what the other names."""
    tree = diagnosis_tree()
    here = [each for each in find_diagnoses(one) if not is_place_of_denial(one[: each.start])]
    named = {each.id for each in find_diagnoses(other)}
    there = {a for a in named if not any(a != b and tree.is_a(b, a) for b in named)}
    return bool(here and there) and all(
        is_denied(one, each.start, each.end)
        and not concepts()[each.id].generic
        and not tree.are_kin(each.id, made)
        for each, made in product(here, there)
    )


def _is_whole(passage: ReportSentence) -> bool:
    """Whether a sentence is of the lesion, and not of what is around it or of some of its cells."""
    cells = passage.has("some_cells", "of_gene") and not passage.has("tumour_cells")
    return not cells and not passage.has("beyond", "partly")


def _about(passage: ReportSentence) -> frozenset[str]:
    """What a sentence is about: a stage is about the lesion and its nodes."""
    nodes, margins, stage = map(passage.has, ("node_word", "margin_word", "stage_word"))
    about = {_NODES: nodes or stage, _MARGINS: margins, _LESION: stage or not (nodes or margins)}
    return frozenset(name for name, is_about in about.items() if is_about)


def _topics(passage: ReportSentence, specimen: Specimen) -> Sequence[tuple[str, str]]:
    """What a sentence gives for the things of which a lesion has only one."""
    denied = denies(passage.text)
    side = side_of(passage.text)
    sites = {m.id for m in find_sites(passage.text) if organ_of(m.id) not in listed("tissues")}
    of_lesion = not denied and (passage.has("tumour") or passage == specimen.passages[0])
    sizes = {
        f"{max(each.value.values):g}mm"
        for each in specimen.measurements
        if each.passage == passage
        and each.value.kind == "length"
        and not passage.has("other_length")
    }
    grades = {
        f"{each.value.level:g}"
        for each in specimen.grades
        if each.passage == passage
        and not passage.has("part_of_tumour")
        and not is_of_early_lesion(passage.text)
    }
    return (
        ("side", side if side in (Side.LEFT, Side.RIGHT) and not denied else ""),
        (_SITE, sites.pop() if len(sites) == 1 and of_lesion else ""),
        ("size", sizes.pop() if len(sizes) == 1 else ""),
        ("grade", grades.pop() if len(grades) == 1 else ""),
        (LEANING, leaning_of(passage) or ""),
    )
