"""Rules: a finding, a diagnosis or a marker affirmed at one place and denied at another."""

import re
from collections.abc import Iterator

from histoeval.facts.diagnoses import Diagnosis
from histoeval.facts.facts import BARE, FindingFact
from histoeval.pathgls.logic.contradiction import both_ways, clash
from histoeval.pathgls.logic.lexicon import listed, pattern
from histoeval.pathgls.logic.places import are_by_two_methods
from histoeval.pathgls.logic.sentences import ReportMention, ReportSentence
from histoeval.pathgls.logic.specimen import Specimen, own_concept
from histoeval.pathgls.results import Contradiction
from histoeval.report import Assertion, EntityType
from histoeval.terms.catalogue import Behaviour, diagnosis_tree
from histoeval.terms.findings import findings, is_kind_of
from histoeval.terms.plain import words_of
from histoeval.terms.sites import find_sites, organ_of
from histoeval.terms.values.laterality import side_of

_MARGIN = "margin_involvement"
_ONE_THING = ({"necrosis", "tumor_necrosis"},)  # findings that a report names by two names
_TUMOUR = frozenset(
    {Behaviour.MALIGNANT, Behaviour.IN_SITU, Behaviour.BORDERLINE, Behaviour.BENIGN}
)
_ANY_TUMOR = frozenset({"neoplasm", "malignant_neoplasm"})
_VARIANT = re.compile(r"\b[A-Z]\d{2,4}[A-Z*]\b|\b(?:exon|codon)s? \d+|t\(\d+;\d+\)", re.IGNORECASE)
# At the end of the name of a tumour that is denied: another may be there
_OF_A_KIND = re.compile(
    r"\b(?:primary|residual|recurrent|second|composite|collision|additional|concurrent)"
    r"(?:\s+[\w-]+)?$",
    re.IGNORECASE,
)
_WEIGHTY = 2  # findings of this importance are stated of the whole specimen
_MIN_WORDS = 4  # fewer words than this are no sentence of their own


def presence(specimen: Specimen) -> Iterator[Contradiction]:
    local = listed("local_findings")
    general = [
        finding
        for finding in specimen.findings
        if finding.value.id not in local
        and not is_kind_of(str(finding.value.id), _MARGIN)
        and findings()[str(finding.value.id)].importance >= _WEIGHTY
        and not pattern("elsewhere").search(finding.clause)
        and not finding.passage.has("other_tissue")
        and finding.denied == (finding.value.entity.assertion == Assertion.ABSENT)
        and not (finding.denied and "component" in finding.clause.lower())
    ]
    are_same = _same_finding if specimen.is_prose else _same_name
    for yes, no in both_ways(general, are_same):
        name = findings()[str(yes.value.id)].name
        yield clash("presence", yes, no, f"{name} is both affirmed and denied")


def _same_finding(first: FindingFact, second: FindingFact) -> bool:
    return {first.id, second.id} in _ONE_THING or _same_name(first, second)


def _same_name(first: FindingFact, second: FindingFact) -> bool:
    if first.id in BARE:
        return second.id == first.id and first.place is not None and first.place == second.place
    # The names of weighty findings are of one thing; those of lesser findings are of several.
    is_weighty = findings()[str(first.id)].importance > _WEIGHTY
    return first.id == second.id and (is_weighty or bool(_words(first) & _words(second)))


def _words(finding: FindingFact) -> frozenset[str]:
    return frozenset(word.plain for word in words_of(finding.called or finding.entity.text))


def denial(specimen: Specimen) -> Iterator[Contradiction]:
    """A diagnosis that is made and denied; to deny malignancy is to deny all that is malignant.

    In a report with headings, "no tumour" is often meant of the last place that was named. There
    only a sentence that denies the very diagnosis counts.
    """
    if len(specimen.organs) > 1:
        return
    mentions = []
    for mention in specimen.diagnoses:
        # Of what is made, its own name may hold such a word: the name is left aside.
        context = mention.passage.text if mention.denied else f"{mention.before} {mention.after}"
        if pattern("elsewhere").search(context):
            continue
        if not mention.denied or (
            _denies_all(mention, specimen) and not specimen.is_of_a_grade(mention)
        ):
            mentions.append(mention)
    for yes, no in both_ways(mentions, _is_denied_by):
        yield clash("denial", yes, no, f"{yes.span.text} is diagnosed, {no.span.text} is denied")


def _denies_all(denied: ReportMention[Diagnosis], specimen: Specimen) -> bool:
    concept, sentence = own_concept(denied.value), denied.passage.text
    if pattern("suggested").search(denied.clause) or _OF_A_KIND.search(
        f"{denied.before}{denied.span.text}"
    ):
        return False
    if concept is None or concept.generic:
        part = _names_a_part(denied.passage, specimen)
        return specimen.is_prose and not part and not denied.passage.has("free", "free_of")
    return len(sentence.split()) >= _MIN_WORDS and sentence[0].isalpha()


def _names_a_part(passage: ReportSentence, specimen: Specimen) -> bool:
    """True if a sentence is about some place, and not about the organ as a whole."""
    entities = [e.value for e in specimen.entities if e.passage == passage]
    sites = [e.text for e in entities if e.type == EntityType.SITE]
    is_whole_organ = len(specimen.organs) == 1 and not side_of(passage.text)
    is_whole_organ = is_whole_organ and not passage.has("part_of_organ")
    named = all({organ_of(m.id) for m in find_sites(s)} & specimen.organs for s in sites)
    return not (is_whole_organ and named) if sites else bool(find_sites(passage.text))


def _is_denied_by(asserted: Diagnosis, denied: Diagnosis) -> bool:
    concept, negated = own_concept(asserted), own_concept(denied)
    if concept is None or negated is None or asserted.hedged:
        return False
    if concept.id == negated.id:
        return concept.behaviour in _TUMOUR
    is_wide = negated.generic and negated.behaviour in (
        Behaviour.MALIGNANT,
        Behaviour.UNSPECIFIED,
    )
    is_grave = concept.behaviour == Behaviour.MALIGNANT
    return (
        is_wide
        and is_grave
        and (negated.id in _ANY_TUMOR or diagnosis_tree().is_a(concept.id, negated.id))
    )


def marker(specimen: Specimen) -> Iterator[Contradiction]:
    tested = []
    for stain in specimen.markers:
        (name, result), passage = stain.value, stain.passage
        if result.polarity in ("positive", "negative") and not passage.has("some_cells"):
            # Whether its gene is tested, and for which variants: one may be there alone.
            variants = frozenset(match.group().lower() for match in _VARIANT.finditer(passage.text))
            key = name, passage.has("of_gene"), variants
            tested.append(ReportMention(key, stain.span, passage, result.polarity == "negative"))
    for yes, no in both_ways(tested, lambda first, second: first == second):
        if are_by_two_methods(yes.passage.text, no.passage.text):
            continue
        yield clash("marker", yes, no, f"{yes.value[0]} is both positive and negative")
