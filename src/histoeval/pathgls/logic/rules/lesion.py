"""Rules on what the lesion is: its names, line of differentiation, behaviour and appearance."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import combinations, product
from typing import Any

from histoeval.facts.diagnoses import Diagnosis
from histoeval.pathgls.logic.contradiction import clash
from histoeval.pathgls.logic.lexicon import APPEARANCE, DIAGNOSIS, LOGIC, listed, pattern
from histoeval.pathgls.logic.mentions import DiagnosisMention, mentions_tumour, normal_at, signs_of
from histoeval.pathgls.logic.rules.site import are_far, is_organ
from histoeval.pathgls.logic.sentences import ReportMention, ReportSentence
from histoeval.pathgls.logic.specimen import Specimen, behaviour_of, own_concept
from histoeval.pathgls.results import Contradiction
from histoeval.terms.assertion import is_denied
from histoeval.terms.catalogue import HARMLESS, Behaviour, Concept, diagnosis_tree
from histoeval.terms.lexicon import any_of
from histoeval.terms.naming import find_diagnoses
from histoeval.terms.sites import find_sites, organ_of

_METASTATIC = "metastatic_neoplasm"
_TUMOUR = frozenset({Behaviour.MALIGNANT, Behaviour.BENIGN, Behaviour.BORDERLINE})
_CLEAR = HARMLESS | {Behaviour.MALIGNANT}
_ENOUGH = 2  # signs that together suggest something; one may stand in any report


# --- two names that exclude each other ------------------------------------------------------------


def diagnosis(specimen: Specimen) -> Iterator[Contradiction]:
    """A lesion that has one name at the head, and another one where the report returns to it."""
    if not specimen.is_of_one_kind:
        return
    sent = {organ_of(site) for site in specimen.sites_sent if is_organ(site)}
    named = []
    for name in specimen.names:
        sites = [match.id for match in find_sites(name.passage.text) if is_organ(match.id)]
        organs = {organ_of(site) for site in sites}
        if not (sent and organs and all(are_far(a, b) for a, b in product(organs, sent))):
            named.append(name)
    for first, second in combinations(named, 2):
        is_later = second.settled and first.passage != second.passage
        is_exclusive = is_later and are_exclusive(first.concept, second.concept)
        if is_exclusive and not _was_named(second, first, specimen):
            reason = f"{first.span.text} and {second.span.text} exclude each other"
            yield clash("diagnosis", first, second, reason)


def _was_named(later: DiagnosisMention, first: DiagnosisMention, specimen: Specimen) -> bool:
    earlier_ids = {
        match.id
        for passage in specimen.passages
        if passage.start < later.passage.start
        for match in find_diagnoses(passage.text)
    }
    tree, id_ = diagnosis_tree(), later.concept.id
    kinds = any(tree.is_a(earlier, id_) for earlier in earlier_ids)
    specific = earlier_ids - listed("umbrellas") - tree.ancestors(first.concept.id).keys()
    return kinds or any(tree.is_a(id_, earlier) for earlier in specific)


@cache
def _family_of(id_: str) -> Mapping[str, Any] | None:
    ancestors = diagnosis_tree().ancestors(id_).keys()
    families = DIAGNOSIS.entry("family")
    return next((row for row in families if not ancestors.isdisjoint(row["diagnoses"])), None)


@lru_cache(maxsize=1 << 12)
def are_exclusive(one: Concept, other: Concept) -> bool:
    graver = (one.behaviour in HARMLESS) != (other.behaviour in HARMLESS)
    loose = not graver and bool({one.id, other.id} & DIAGNOSIS.ids("siblings", "loose"))
    if diagnosis_tree().are_kin(one.id, other.id) or loose or _is_stage(one, other):
        return False
    return _are_listed(one, other) or _are_of_two_families(one, other) or _are_siblings(one, other)


def _is_stage(first: Concept, second: Concept) -> bool:
    """True if one is the earlier stage of the other, and no more benign than that."""
    return any(
        early.behaviour == Behaviour.IN_SITU
        and early.precursor_of is not None
        and diagnosis_tree().are_kin(early.precursor_of, late.id)
        for early, late in ((first, second), (second, first))
    )


def _are_listed(concept: Concept, rival: Concept) -> bool:
    tree = diagnosis_tree()
    for row in DIAGNOSIS.entry("one_of"):
        first = {id_ for id_ in row["diagnoses"] if tree.is_a(concept.id, id_)}
        second = {id_ for id_ in row["diagnoses"] if tree.is_a(rival.id, id_)}
        if first and second and not first & second:
            return True
    return False


def _are_of_two_families(concept: Concept, rival: Concept) -> bool:
    if concept.behaviour not in _TUMOUR or rival.behaviour not in _TUMOUR:
        return False
    first, second = _family_of(concept.id), _family_of(rival.id)
    if first is None or second is None or first["name"] == second["name"]:
        return False
    graver = (concept.behaviour in HARMLESS) != (rival.behaviour in HARMLESS)
    return second["name"] not in first["alike"] or graver


def _are_siblings(concept: Concept, rival: Concept) -> bool:
    """True if they lie under different children of one kind, and are no umbrella words."""
    tree = diagnosis_tree()
    unclear = (
        sibling.generic
        or sibling.behaviour == Behaviour.IN_SITU
        or tree.is_a(sibling.id, _METASTATIC)
        for sibling in (concept, rival)
    )
    if any(unclear):
        return False
    for root in DIAGNOSIS.entry("siblings", "under"):
        first, second = (
            {child for child in tree.children(root) if tree.is_a(sibling.id, child)}
            for sibling in (concept, rival)
        )
        if first and second and not first & second:
            return True
    return False


# --- a malignancy with a harmless conclusion, or with one of another differentiation --------------


def _conclusions(specimen: Specimen) -> tuple[ReportMention[Diagnosis], ...]:
    """The diagnoses of the last sentence that concludes."""
    concluded = [
        mention
        for mention in specimen.made
        if mention.passage.concludes and not mention.value.hedged
    ]
    return tuple(mention for mention in concluded if mention.passage == concluded[-1].passage)


def behaviour(specimen: Specimen) -> Iterator[Contradiction]:
    """A harmless conclusion and a malignancy that is diagnosed or described; of one organ only."""
    if len(specimen.organs) > 1:
        return
    final = _conclusions(specimen)
    other_conclusions = [
        mention for mention in specimen.made if mention.passage.concludes and mention not in final
    ]
    is_last = not any(behaviour_of(mention) == Behaviour.MALIGNANT for mention in other_conclusions)
    is_harmless_only = all(behaviour_of(mention) in HARMLESS for mention in final)
    if final and is_harmless_only and is_last and not final[0].passage.has("elsewhere"):
        for grave in _grave(specimen, final[0].passage):
            reason = f"the conclusion is {final[0].span.text}, but {grave.span.text} is described"
            yield clash("behaviour", final[0], grave, reason)
    for harmless in _called_harmless(specimen):
        for grave in _grave(specimen, harmless.passage):
            reason = (
                f"{grave.span.text} is diagnosed or described, but it says {harmless.span.text}"
            )
            yield clash("behaviour", grave, harmless, reason)


def _grave(specimen: Specimen, final: ReportSentence) -> Iterator[ReportMention[Any]]:
    for mention in specimen.made_outside(final):
        if behaviour_of(mention) == Behaviour.MALIGNANT:
            yield mention
    for finding in specimen.findings:
        if (
            finding.value.id in listed("only_malignant")
            and not finding.denied
            and finding.passage != final
        ):
            yield finding


def _called_harmless(specimen: Specimen) -> Iterator[ReportMention[str]]:
    """Yield mentions that call the whole lesion benign or none: in a conclusion, or in prose."""
    for passage in specimen.passages:
        match = pattern("called_benign").search(passage.text)
        if not match and passage.concludes:
            match = pattern("called_normal").search(passage.text)
        if match and (passage.concludes or specimen.is_prose):
            mention = passage.found(match)
            of_some = any(pattern(name).search(mention.clause) for name in ("elsewhere", "partly"))
            if not of_some:
                yield mention


def line_of(diagnosis: Diagnosis) -> str | None:
    concept = own_concept(diagnosis)
    if concept is None or concept.behaviour != Behaviour.MALIGNANT:
        return None
    lines = LOGIC.entry("line")
    return next((line["name"] for line in lines if _is_any_of(concept, line["diagnoses"])), None)


def lineage(specimen: Specimen) -> Iterator[Contradiction]:
    """Two malignancies that exclude each other, or a finding that excludes the conclusion.

    Only where all that is concluded is of one line, and no other sentence names it.
    """
    final = _conclusions(specimen)
    lines = {line_of(mention.value) for mention in final}
    if len(lines) != 1 or None in lines or specimen.has("mixed"):
        return
    (concluded,) = lines
    other_mentions = [
        mention for mention in specimen.made_outside(final[0].passage) if line_of(mention.value)
    ]
    if any(line_of(mention.value) == concluded for mention in other_mentions):
        return
    excluding = {line["name"] for line in LOGIC.entry("line") if concluded in line["excludes"]}
    rows = [row for row in LOGIC.entry("telling") if concluded in row["excludes"]]
    telling = {id_ for row in rows for id_ in row["findings"]}
    signs: Iterable[ReportMention[Any]] = (
        *(mention for mention in other_mentions if line_of(mention.value) in excluding),
        *(
            finding
            for finding in specimen.findings
            if finding.value.id in telling
            and not finding.denied
            and finding.passage != final[0].passage
        ),
    )
    for sign in signs:
        reason = f"{sign.span.text} does not go with {final[0].span.text}"
        yield clash("lineage", final[0], sign, reason)


# --- what is seen, or reported missing, excludes the diagnosis that is concluded ------------------


@cache
def _signs(kind: str) -> list[tuple[Mapping[str, Any], re.Pattern[str], re.Pattern[str] | None]]:
    """Things that are seen or denied, each with its words, and those by which it says nothing."""
    signs = []
    for row in APPEARANCE.entry(kind):
        exception = any_of(row["unless"], literal=True) if "unless" in row else None
        signs.append((row, any_of(row["words"]), exception))
    return signs


def _is_against(row: Mapping[str, Any], concept: Concept) -> bool:
    if "excludes" in row:
        return _is_any_of(concept, row["excludes"])
    return bool(row["only"]) and not any(
        diagnosis_tree().are_kin(concept.id, id_) for id_ in row["only"]
    )


def appearance(specimen: Specimen) -> Iterator[Contradiction]:
    """A sign that none of the concluded diagnoses goes with, in another sentence of the lesion."""
    names = [name for name in specimen.names if name.concept.id not in listed("umbrellas")]
    if not names or not specimen.is_of_one_kind:
        return
    # What is concluded; where nothing is, the names in the first sentence that has any.
    first = [name for name in names if name.passage == names[0].passage]
    final = [name for name in names if name.passage.is_conclusion] or [
        name for name in first if name.concept.behaviour != Behaviour.NON_NEOPLASTIC
    ]
    if not final:
        return
    for passage in specimen.passages:
        is_concluding = any(name.passage == passage for name in final)
        if not is_concluding and not passage.has("beyond", "supposed"):
            yield from _against(passage, final, specimen)
    yield from _stained(final, specimen)


def _against(
    passage: ReportSentence, final: Sequence[DiagnosisMention], specimen: Specimen
) -> Iterator[Contradiction]:
    report_text = " ".join(sentence.text for sentence in specimen.passages)
    for kind in ("seen", "denied"):
        for row, words, exception in _signs(kind):
            match = words.search(passage.text)
            if not match or (kind == "seen" and is_denied(passage.text, *match.span())):
                continue
            if exception and exception.search(report_text):
                continue
            if all(_is_against(row, name.concept) for name in final):
                reason = f"{match.group()} does not go with {final[0].span.text}"
                yield clash("appearance", passage.found(match), final[0], reason)


def _stained(final: Sequence[DiagnosisMention], specimen: Specimen) -> Iterator[Contradiction]:
    for stain in specimen.markers:
        marker, result = stain.value
        if stain.passage.has("some_cells", "of_gene"):
            continue
        for row in APPEARANCE.entry("stain"):
            excludes = marker in row.get(str(result.polarity), ())
            if excludes and all(_is_any_of(name.concept, row["excludes"]) for name in final):
                reason = f"{marker} {result.polarity} does not go with {final[0].span.text}"
                yield clash("appearance", stain, final[0], reason)


def _is_any_of(concept: Concept, ids: Sequence[str]) -> bool:
    return any(diagnosis_tree().is_a(concept.id, id_) for id_ in ids)


# --- what is described is harmless and the conclusion malignant, or the reverse -------------------


def morphology(specimen: Specimen) -> Iterator[Contradiction]:
    """All that is described is harmless, and a malignancy is concluded; or the reverse.

    Also two conclusions of which one is harmless: after the site at the head, and in the end.
    """
    if not specimen.is_prose or len(specimen.organs) > 1:
        return
    concluded = [e for e in specimen.made if not e.value.hedged and e.passage.is_conclusion]
    for final in (e for e in concluded if behaviour_of(e) in _CLEAR):
        other_sentences = [p for p in specimen.passages if p != final.passage]
        signs: list[ReportMention[Any]]
        if behaviour_of(final) == Behaviour.MALIGNANT:
            # A harmless diagnosis at the head of a report that ends with another.
            head = [e for e in concluded if e.passage == specimen.passages[0] != final.passage]
            is_harmless = all(behaviour_of(mention) in HARMLESS for mention in head)
            signs = head[:1] if is_harmless and not specimen.has("beside") else []
            if "metasta" not in final.passage.text.lower():
                signs = [*signs, *_harmless_signs(other_sentences, specimen)]
        elif all(behaviour_of(mention) in HARMLESS for mention in concluded):
            signs = [*_malignant_signs(other_sentences)]
        else:
            continue
        for sign in signs[:1]:
            reason = f"{sign.span.text} does not go with {final.span.text}"
            yield clash("morphology", final, sign, reason)


def _harmless_signs(
    described: Sequence[ReportSentence], specimen: Specimen
) -> Iterator[ReportMention[Any]]:
    of_lesion = [p for p in described if not p.has("around")]
    if any(map(mentions_tumour, of_lesion)):
        return
    if not specimen.has("beside"):
        for mention in specimen.made:
            if behaviour_of(mention) == Behaviour.BENIGN and mention.passage in of_lesion:
                yield mention
    for passage in of_lesion:
        if match := normal_at(passage):
            yield passage.found(match)
    signs = {sign for passage in of_lesion for sign in signs_of(passage, "harmless")}
    for passage in of_lesion if len(signs) >= _ENOUGH else ():
        if match := pattern("looks_harmless").search(passage.text):
            yield passage.found(match)


def _malignant_signs(described: Sequence[ReportSentence]) -> Iterator[ReportMention[str]]:
    signs = {sign for passage in described for sign in signs_of(passage, "malignant")}
    for passage in described if len(signs) >= _ENOUGH else ():
        for match in pattern("looks_malignant").finditer(passage.text):
            if match.group().lower() in signs_of(passage, "malignant"):
                yield passage.found(match)
