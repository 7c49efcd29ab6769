"""The statements of a report, and the pairs of them that an NLI model compares.

Two kinds: the sentences of the report as they stand, and short ones that are written from its
graph of entities and relations ("The diagnosis is adenocarcinoma of the sigmoid colon.", "CD20 is
positive.", "There is no lymphovascular invasion."), each with the stretch of text it comes from.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice, product
from typing import Literal

from histoeval.facts.diagnoses import Diagnosis
from histoeval.facts.facts import BARE, FindingFact
from histoeval.nli.features.extract import extract_features, opposes
from histoeval.pathgls.logic.lexicon import listed, pattern
from histoeval.pathgls.logic.mentions import is_of_early_lesion, leaning_of
from histoeval.pathgls.logic.places import (
    are_by_two_methods,
    are_of_two_places,
    have_two_heads,
    is_place_of_denial,
)
from histoeval.pathgls.logic.rules.lesion import are_exclusive, line_of
from histoeval.pathgls.logic.sentences import ReportMention, ReportSentence
from histoeval.pathgls.logic.specimen import Specimen, own_concept
from histoeval.pathgls.results import ReportSpan
from histoeval.report import Assertion, EntityType
from histoeval.terms.assertion import denies, is_denied
from histoeval.terms.catalogue import HARMLESS, Behaviour, Concept, concepts, diagnosis_tree
from histoeval.terms.findings import findings, is_kind_of
from histoeval.terms.naming import find_diagnoses
from histoeval.terms.sites import contains, find_sites, organ_of
from histoeval.terms.values.laterality import Side, side_of

Role = Literal["diagnosis", "morphology", "detail"]

LEANING = "leaning"  # the topic of what suggests a malignancy or a harmless lesion
_MARGIN = "margin_involvement"
_AFFIRMED, _DENIED = "affirmed", "denied"
# More pairs of a report are not judged by a model: the rest of a long report is skipped
MAX_PAIRS = 60

_SUGGESTED = {"malignant": "malignant", "benign": "harmless", "normal": "harmless"}
_MAX_STATEMENTS = 120  # more statements of one specimen are not paired
MAX_SENTENCE_PAIRS = 36  # more pairs of sentences of a report are not compared

_MAX_CANDIDATES = 10 * MAX_SENTENCE_PAIRS
_STEM = 4
_WORD = re.compile(r"[a-z][a-z0-9-]{2,}")
_SITE = "site"
_LESION, _MARGINS, _NODES = "of the lesion", "of margins", "of nodes"


@dataclass(frozen=True, slots=True)
class Statement:
    text: str
    span: ReportSpan
    passage: ReportSentence
    role: Role
    # Its topics and what it states on each: `finding:necrosis` denied, `marker:ER` positive
    topics: Mapping[str, str]
    diagnosis: Concept | None = None


def sentence_statement(passage: ReportSentence, topics: Mapping[str, str]) -> Statement:
    span = passage.at(0, len(passage.text)).span
    return Statement(_tidy(passage.text), span, passage, "morphology", topics)


def _tidy(text: str) -> str:
    return " ".join(text.split())


def _diagnoses(specimen: Specimen) -> Iterator[Statement]:
    for diagnosis in specimen.diagnoses:
        if diagnosis.value.hedged or (diagnosis.denied and specimen.is_of_a_grade(diagnosis)):
            continue
        name = _lowered(diagnosis.span.text)
        if diagnosis.denied:
            text = f"There is no {name}."
        else:
            text = f"The diagnosis is {name}{_place(diagnosis, specimen)}."
        concept = None if diagnosis.denied else own_concept(diagnosis.value)
        yield Statement(
            text, diagnosis.span, diagnosis.passage, "diagnosis", _diagnosed(diagnosis), concept
        )


def _diagnosed(diagnosis: ReportMention[Diagnosis]) -> dict[str, str]:
    """The topics of a diagnosis; to deny a kind denies what is of that kind, not its siblings."""
    concept = own_concept(diagnosis.value)
    if concept is None:
        return {}
    if diagnosis.denied:
        return {f"diagnosis:{concept.id}": _DENIED}
    topics = {f"diagnosis:{id_}": _AFFIRMED for id_ in diagnosis_tree().lineage(concept.id)[:2]}
    if line := line_of(diagnosis.value):
        topics["line"] = line
    if concept.behaviour == Behaviour.MALIGNANT:
        topics[LEANING] = "malignant"
    elif concept.behaviour in HARMLESS:
        topics[LEANING] = "harmless"
    return topics


def _place(diagnosis: ReportMention[Diagnosis], specimen: Specimen) -> str:
    for head, tail in specimen.relations:
        if head.start == diagnosis.span.start and tail.type == EntityType.SITE:
            site = _lowered(tail.text)
            return "" if site in diagnosis.span.text.lower() else f" of the {site}"
    return ""


def _findings(specimen: Specimen) -> Iterator[Statement]:
    named = {diagnosis.span.start for diagnosis in specimen.diagnoses}
    for finding in specimen.findings:
        if finding.span.start in named:
            continue
        text = _written(finding)
        context = f":{finding.value.place}" if finding.value.id in BARE else ""
        context += ":elsewhere" if pattern("elsewhere").search(finding.clause) else ""
        topics = {f"finding:{finding.value.id}{context}": _DENIED if finding.denied else _AFFIRMED}
        yield Statement(text, finding.span, finding.passage, "detail", topics)


def _written(finding: ReportMention[FindingFact]) -> str:
    """A finding as a sentence; one whose own words deny it ("clear margins") as it stands."""
    name, id_ = _lowered(finding.span.text), str(finding.value.id)
    if id_ in BARE or is_kind_of(id_, _MARGIN):
        location = f" of the {finding.value.place}" if id_ in BARE and finding.value.place else ""
        return (
            f"There is {'no ' if finding.denied else ''}{findings()[id_].name.lower()}{location}."
        )
    if finding.value.entity.assertion == Assertion.ABSENT:
        return f"There is no {name}."
    is_sentence = finding.denied or " is " in name or " are " in name
    return f"{name[:1].upper()}{name[1:]}." if is_sentence else f"There is {name}."


def _markers(specimen: Specimen) -> Iterator[Statement]:
    for stain in specimen.markers:
        key, result = stain.value
        is_apart = stain.passage.has("some_cells", "of_gene")
        if result.polarity in ("positive", "negative") and not is_apart:
            text = f"{key} is {result.polarity}."
            topics = {f"marker:{key}": result.polarity}
            yield Statement(text, stain.span, stain.passage, "detail", topics)


def _grades(specimen: Specimen) -> Iterator[Statement]:
    for grade in specimen.grades:
        part = pattern("part_of_tumour").search(grade.clause) or is_of_early_lesion(grade.clause)
        denied = is_denied(specimen.text, grade.span.start, grade.span.end)
        if part or denied:
            continue
        text = f"The tumour is {_lowered(grade.span.text)}."
        topics = {f"grade:{grade.value.scheme}:{grade.value.part or ''}": f"{grade.value.level:g}"}
        yield Statement(text, grade.span, grade.passage, "detail", topics)


def _lowered(text: str) -> str:
    """Words as they stand inside of a sentence; abbreviations keep their capitals."""
    words = _tidy(text).strip(" .,;:").split(" ")
    short = [word for word in words if word.isupper() and len(word) <= 4]
    if len(short) == len(words):
        return " ".join(words)
    return " ".join(w if w.isupper() and len(w) <= 2 else w.lower() for w in words)


# --- pairs of statements --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StatementPair:
    first: Statement
    second: Statement

    @property
    def places(self) -> tuple[int, int]:
        starts = self.first.passage.start, self.second.passage.start
        return min(starts), max(starts)

    @property
    def opposed(self) -> bool:
        return not self.are_beside and bool(self.differing)

    @property
    def differing(self) -> frozenset[str]:
        first, second = self.first.topics, self.second.topics
        return frozenset(
            topic for topic in first.keys() & second.keys() if first[topic] != second[topic]
        )

    @property
    def are_beside(self) -> bool:
        """True for diagnoses that one report may make, or of which one lies beside the other."""
        statements = self.first, self.second
        are_diagnoses = all(statement.role == "diagnosis" for statement in statements)
        first, second = self.first.diagnosis, self.second.diagnosis
        are_compatible = (
            first is not None and second is not None and not are_exclusive(first, second)
        )
        return are_diagnoses and (
            are_compatible or any(statement.passage.has("beside") for statement in statements)
        )

    @property
    def of_two_places(self) -> bool:
        texts = self.first.passage.text, self.second.passage.text
        is_of_markers = any(topic.startswith("marker:") for topic in self.differing)
        return are_of_two_places(*texts) or (is_of_markers and are_by_two_methods(*texts))


def statements_of(specimen: Specimen) -> tuple[Statement, ...]:
    kinds = (_diagnoses, _findings, _markers, _grades, _morphology)
    stated = [statement for kind in kinds for statement in kind(specimen)]
    distinct = {
        (statement.text.casefold(), statement.span.start, statement.role): statement
        for statement in stated
    }
    return tuple(
        sorted(distinct.values(), key=lambda statement: (statement.span.start, statement.text))
    )


def pairs_of(statements: Sequence[Statement]) -> list[StatementPair]:
    """The pairs of one specimen that are worth judging, the most informative first."""
    statements = statements[:_MAX_STATEMENTS]
    diagnoses = [statement for statement in statements if statement.role == "diagnosis"]
    on_one_topic = [
        StatementPair(first, second)
        for first, second in combinations(
            [statement for statement in statements if statement.topics], 2
        )
        if first.passage != second.passage
        and first.topics.keys() & second.topics.keys() - {LEANING}
    ]
    concluded = [statement for statement in diagnoses if statement.passage.concludes] or diagnoses
    described = [statement for statement in statements if statement.role == "morphology"]
    described_and_concluded = [
        StatementPair(morphology, diagnosis)
        for diagnosis, morphology in product(concluded, described)
        if diagnosis.passage != morphology.passage
    ]
    if pairs := _distinct([*on_one_topic, *described_and_concluded]):
        return pairs
    return _distinct(
        StatementPair(diagnosis, statement)
        for diagnosis, statement in product(diagnoses[:1] or statements[:1], statements)
        if diagnosis is not statement
        and (
            diagnosis.passage != statement.passage
            or "morphology" not in (diagnosis.role, statement.role)
        )
    )


def _distinct(pairs: Iterable[StatementPair]) -> list[StatementPair]:
    """Each pair of texts once, none of a statement with itself or on another place."""
    distinct: dict[frozenset[str], StatementPair] = {}
    for pair in reversed(list(pairs)):
        texts = frozenset({pair.first.text.casefold(), pair.second.text.casefold()})
        if len(texts) > 1 and not pair.of_two_places:
            distinct[texts] = pair
    return list(distinct.values())[::-1]


# --- sentences as they stand ---------------------------------------------------------------------


def _morphology(specimen: Specimen) -> Iterator[Statement]:
    diagnosed = {diagnosis.passage for diagnosis in specimen.diagnoses}
    for passage in specimen.passages:
        mentions = [mention for mention in specimen.findings if mention.passage == passage]
        leaning = leaning_of(passage) if specimen.is_prose else None
        looks = {} if passage.has("node_word") else _leaning(mentions)
        if (mentions or leaning) and passage not in diagnosed and not passage.concludes:
            topics = looks or ({LEANING: leaning} if leaning else {})
            yield sentence_statement(passage, topics)


def _leaning(mentions: Sequence[ReportMention[FindingFact]]) -> dict[str, str]:
    suggested = {_suggested(mention) for mention in mentions} - {""}
    return {LEANING: suggested.pop()} if len(suggested) == 1 else {}


def _suggested(finding: ReportMention[FindingFact]) -> str:
    if finding.denied:
        return "harmless" if finding.value.id in listed("denied_is_harmless") else ""
    return _SUGGESTED.get(findings()[str(finding.value.id)].suggests, "")


# --- pairs of sentences of a short report as they stand: they catch what no table knows -----------


def sentence_pairs(specimen: Specimen) -> list[StatementPair]:
    """Pairs of sentences of a specimen that may contradict each other, the opposed first."""
    if not specimen.is_prose:
        return []
    sentences = [
        sentence_statement(passage, {k: v for k, v in _topics(passage, specimen) if v})
        for passage in specimen.passages
        # Not of what is around the lesion, or of some of its cells.
        if not passage.has("beyond", "partly")
        and (not passage.has("some_cells", "of_gene") or passage.has("tumour_cells"))
    ]
    sent = _names_what_was_sent(specimen)
    pairs = [
        pair
        for first, second in combinations(sentences, 2)
        for pair in [_paired(first, second)]
        if (shared := _about(first.passage) & _about(second.passage))
        and (shared != {_LESION} or pair.opposed or _words(first.text) & _words(second.text))
        and (pair.opposed or not (pair.of_two_places or first.passage == sent))
        and not have_two_heads(first.text, second.text)
        and not are_by_two_methods(first.text, second.text)
        and not _may_be_made_together(first.passage, second.passage, specimen)
        and not (
            _denies_another(first.text, second.text) or _denies_another(second.text, first.text)
        )
    ]
    ranked = sorted(pairs, key=lambda pair: not pair.opposed)[:_MAX_CANDIDATES]
    related = (pair for pair in ranked if pair.opposed or not _have_nothing_in_common(pair))
    return list(islice(related, MAX_SENTENCE_PAIRS))


def _words(text: str) -> frozenset[str]:
    stems = {word[:_STEM] for word in _WORD.findall(text.lower())}
    return frozenset(stems - listed("everywhere"))


def _paired(first: Statement, second: Statement) -> StatementPair:
    """Two sentences as a pair; a place within another is the same place."""
    first_site, second_site = first.topics.get(_SITE, ""), second.topics.get(_SITE, "")
    if (
        first_site
        and second_site
        and (contains(first_site, second_site) or contains(second_site, first_site))
    ):
        second = replace(second, topics={**second.topics, _SITE: first_site})
    return StatementPair(first, second)


def _have_nothing_in_common(pair: StatementPair) -> bool:
    """True if sentences on the lesion share no word, and no value of them is opposed."""
    if _about(pair.first.passage) & _about(pair.second.passage) - {_LESION}:
        return False
    features = extract_features(pair.first.text, pair.second.text)
    return features is not None and bool(features["all_fresh"]) and not opposes(features)


def _names_what_was_sent(specimen: Specimen) -> ReportSentence | None:
    """The first sentence, where it has a procedure and states nothing of the lesion."""
    first = specimen.passages[0] if specimen.passages else None
    lesion = (specimen.diagnoses, specimen.findings, specimen.grades)
    stated = {mention.passage for mentions in lesion for mention in mentions}
    operated = any(
        entity.passage == first and entity.value.type == EntityType.PROCEDURE
        for entity in specimen.entities
    )
    return first if operated and first not in stated else None


def _may_be_made_together(
    first: ReportSentence, second: ReportSentence, specimen: Specimen
) -> bool:
    """True if each sentence makes a diagnosis, and they are a tumour and its precursor."""
    first_concepts, second_concepts = (
        [
            concept
            for diagnosis in specimen.made
            if diagnosis.passage == passage and (concept := own_concept(diagnosis.value))
        ]
        for passage in (first, second)
    )
    return bool(first_concepts and second_concepts) and all(
        Behaviour.IN_SITU in (a.behaviour, b.behaviour)
        and a.behaviour != b.behaviour
        and not are_exclusive(a, b)
        for a, b in product(first_concepts, second_concepts)
    )


def _denies_another(text: str, other_text: str) -> bool:
    """True if all that one sentence names is denied, and not a kind of what the other names."""
    tree = diagnosis_tree()
    denied = [
        match for match in find_diagnoses(text) if not is_place_of_denial(text[: match.start])
    ]
    named = {match.id for match in find_diagnoses(other_text)}
    specific = {a for a in named if not any(a != b and tree.is_a(b, a) for b in named)}
    return bool(denied and specific) and all(
        is_denied(text, match.start, match.end)
        and not concepts()[match.id].generic
        and not tree.are_kin(match.id, id_)
        for match, id_ in product(denied, specific)
    )


def _about(passage: ReportSentence) -> frozenset[str]:
    """A stage is about the lesion and its nodes."""
    nodes, margins, stage = map(passage.has, ("node_word", "margin_word", "stage_word"))
    conditions = {
        _NODES: nodes or stage,
        _MARGINS: margins,
        _LESION: stage or not (nodes or margins),
    }
    return frozenset(name for name, is_about in conditions.items() if is_about)


def _topics(passage: ReportSentence, specimen: Specimen) -> Sequence[tuple[str, str]]:
    denied = denies(passage.text)
    side = side_of(passage.text)
    sites = {m.id for m in find_sites(passage.text) if organ_of(m.id) not in listed("tissues")}
    of_lesion = not denied and (passage.has("tumour") or passage == specimen.passages[0])
    sizes = {
        f"{max(measurement.value.values):g}mm"
        for measurement in specimen.measurements
        if measurement.passage == passage
        and measurement.value.kind == "length"
        and not passage.has("other_length")
    }
    grades = {
        f"{grade.value.level:g}"
        for grade in specimen.grades
        if grade.passage == passage
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
