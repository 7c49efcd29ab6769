"""Rules on how far a tumour goes: invasion, margins, lymph nodes."""

import re
from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import Any

from histoeval.nli.features.parse import statements
from histoeval.pathgls.logic.contradiction import both_ways, clash
from histoeval.pathgls.logic.lexicon import listed, pattern
from histoeval.pathgls.logic.sentences import ReportMention, ReportSentence
from histoeval.pathgls.logic.specimen import Specimen, behaviour_of
from histoeval.pathgls.results import Contradiction
from histoeval.terms.assertion import denies
from histoeval.terms.catalogue import Behaviour
from histoeval.terms.findings import is_kind_of
from histoeval.terms.sites import find_sites, organ_of
from histoeval.terms.values.margins import read_margins
from histoeval.terms.values.nodes import is_on_some_nodes, node_counts, read_nodes

# A tumour, what it does, and into what
_INVADES = re.compile(
    r"\b(?:tumou?r|carcinoma|neoplasm|malignan\w*|lesion|glands|adenoma|melanoma|nests|cords|islands)\b"
    r"[^.;:]{0,60}?\b(?:invad(?:es?|ing)|infiltrat(?:es?|ing)|penetrat(?:es?|ing)|breach(?:es|ing)"
    r"|extends?(?: \w+)? (?:in)?to|destroys?|grows?(?: \w+)? into)\b[^.;:]{0,40}?"
    r"\b(?:stroma|muscularis|submucosa|subserosa|serosa|fat|adipose|detrusor|muscle|dermis"
    r"|lamina propria|myometrium|pericolic|perivesical|parenchyma)"
    r"|\b(?:stroma|muscularis propria|submucosa|subserosa|serosa|fat|detrusor muscle|muscle|dermis"
    r"|lamina propria|myometrium) (?:is|are)(?: \w+)? (?:invaded|infiltrated|penetrated|breached)",
    re.IGNORECASE,
)
# How deep a melanoma invades
_MEASURED = re.compile(
    r"\bBreslow\b[^.;]{0,40}?\d+(?:\.\d+)?\s?mm\b|\bClark(?:'s)? level (?:II|III|IV|V|[2-5])\b",
    re.IGNORECASE,
)
_NOT_INVASIVE = ("is", "a")  # categories of the primary tumour of what has not invaded
_FEW = 2  # organs of a report on one lesion: its own, and one that it invades
_MARGIN = "margin_involvement"
_ALL = frozenset({"all"})
_PERINEURAL = re.compile(r"\bPNI\b")
_METASTASIS = "nodal_metastasis"
_INVOLVED = frozenset("123")
_RULE = "nodes"


# --- a lesion in situ does not invade -------------------------------------------------------------


def in_situ(specimen: Specimen) -> Iterator[Contradiction]:
    """Invasion denied of the whole lesion, and an invasive tumour diagnosed or seen to invade."""
    for denied in (*_not_invasive(specimen), *_staged_in_situ(specimen)):
        for mention in specimen.made_outside(denied.passage):
            invasive = pattern("invasive").match(mention.span.text)
            if invasive and behaviour_of(mention) == Behaviour.MALIGNANT:
                reason = f"{denied.span.text}, and {mention.span.text} is diagnosed"
                yield clash("in_situ", denied, mention, reason)
    if specimen.is_prose and len(specimen.organs) <= _FEW:
        yield from _seen_to_invade(specimen)
    yield from _measured_in_situ(specimen)


def _not_invasive(specimen: Specimen) -> Iterator[ReportMention[str]]:
    for passage in specimen.passages:
        only = pattern("in_situ_only").search(passage.text) if specimen.is_prose else None
        match = only or pattern("not_invasive").search(passage.text)
        of_some = find_sites(passage.text) or passage.has("elsewhere", "partly")
        if match and (only or not of_some):
            yield passage.found(match)


def _staged_in_situ(specimen: Specimen) -> Iterator[ReportMention[Any]]:
    if not specimen.has_several_tumours:
        yield from (stage for stage in specimen.stages if stage.value.t in _NOT_INVASIVE)


def _measured_in_situ(specimen: Specimen) -> Iterator[Contradiction]:
    early = [
        mention for mention in _only_in_situ(specimen) if behaviour_of(mention) == Behaviour.IN_SITU
    ]
    for passage in specimen.passages:
        match = _MEASURED.search(passage.text)
        for mention in early[:1] if match and not passage.has("beyond", "partly") else ():
            if match:
                deep = passage.found(match)
                reason = f"it says {mention.span.text}, and {deep.span.text}"
                yield clash("in_situ", mention, deep, reason)


def _seen_to_invade(specimen: Specimen) -> Iterator[Contradiction]:
    confined: list[ReportMention[Any]] = [
        *_confined(specimen),
        *_staged_in_situ(specimen),
        *_only_in_situ(specimen),
    ]
    for passage in specimen.passages:
        match = _INVADES.search(passage.text)
        if not match or denies(passage.text) or passage.has("inflamed"):
            continue
        invasion = passage.found(match)
        for mention in [mention for mention in confined if mention.passage != passage][:1]:
            reason = f"it says {mention.span.text}, and {invasion.span.text}"
            yield clash("in_situ", mention, invasion, reason)


def _confined(specimen: Specimen) -> Iterator[ReportMention[str]]:
    for passage in specimen.passages:
        only = pattern("in_situ_only").search(passage.text)
        match = only or pattern("confined").search(passage.text)
        if match and not passage.has("elsewhere"):
            yield passage.found(match)


def _only_in_situ(specimen: Specimen) -> Iterator[ReportMention[Any]]:
    if any(behaviour_of(mention) == Behaviour.MALIGNANT for mention in specimen.made):
        return
    for mention in specimen.made:
        is_early = behaviour_of(mention) in (Behaviour.IN_SITU, Behaviour.BENIGN)
        is_concluded = mention.passage.is_conclusion or mention.passage == specimen.passages[0]
        if is_early and is_concluded and not mention.value.hedged:
            yield mention


# --- margins that are free and involved, by the reader's findings and in words --------------------


def margin(specimen: Specimen) -> Iterator[Contradiction]:
    """Margins that are free and involved: all of them, or those of one name."""
    margins = [
        finding
        for finding in specimen.findings
        if is_kind_of(str(finding.value.id), _MARGIN)
        and not finding.passage.has("margin_of_another")
        and finding.passage.has("margin_free" if finding.denied else "margin_involved")
    ]
    for yes, no in both_ways(margins, lambda first, second: second.id in (first.id, _MARGIN)):
        all_free = _is_of_all(no.passage) and pattern("all_margins").search(no.clause)
        names = yes.passage.names("margin_names"), no.passage.names("margin_names")
        if (all_free and specimen.is_prose) or (
            yes.value.id == no.value.id and names[0] == names[1]
        ):
            yield clash("margin", yes, no, "the margin is both involved and free")


def margin_by_name(specimen: Specimen) -> Iterator[Contradiction]:
    """One margin, by its name, that is free in one sentence and involved in another."""
    for first, second in permutations(_read(specimen), 2):
        is_shared = any(name.startswith("at ") for name in first.value & second.value)
        are_opposed = "clear" in first.value and "involved" in second.value
        if are_opposed and is_shared and first.passage != second.passage:
            yield clash("margin", first, second, "the margin is both involved and free")


def margin_in_words(specimen: Specimen) -> Iterator[Contradiction]:
    read = list(_read(specimen)) if specimen.is_prose else []
    free = [
        mention
        for mention in read
        if mention.value == {"clear"}
        and _is_of_all(mention.passage)
        and pattern("all_margins").search(mention.span.text)
    ]
    involved = [
        mention
        for mention in read
        if "involved" in mention.value and not mention.passage.has("spared", "margin_spared")
    ]
    for first, second in product(free, involved):
        if first.passage != second.passage:
            yield clash("margin", first, second, f"{first.span.text}, and {second.span.text}")


def _read(specimen: Specimen) -> Iterator[ReportMention[frozenset[str]]]:
    for passage in specimen.passages:
        if not passage.has("margin_of_another"):
            for value in read_margins(passage.text):
                span = passage.at(value.start, value.end).span
                yield ReportMention(value.options, span, passage)


def _is_of_all(passage: ReportSentence) -> bool:
    return passage.names("margin_names") <= _ALL


# --- lymph nodes of a whole report: the stage is of the patient, whichever part it stands in ------


_Count = ReportMention[tuple[int, int]]  # involved nodes, and all of them


def nodes(specimens: Sequence[Specimen]) -> Iterator[Contradiction]:
    """Counts that cannot be, and counts at odds with the stage or with a plain denial."""
    counts = [count for specimen in specimens for count in _counts(specimen)]
    for count in counts:
        if count.value[0] > count.value[1] > 0:
            reason = f"{count.value[0]} nodes of only {count.value[1]} are involved"
            yield clash(_RULE, count, count, reason)
    possible = [count for count in counts if count.value[0] <= count.value[1]]
    yield from _against_stage(specimens, possible)
    for specimen in specimens:
        yield from _in_words(specimen)
        yield from _against_denial(
            specimen, [c for c in possible if c.passage in specimen.passages]
        )


def _counts(specimen: Specimen) -> Iterator[_Count]:
    for passage in specimen.passages:
        if passage.has("not_counts"):
            continue
        for count in node_counts(passage.text):
            span = passage.at(count.start, count.end).span
            yield ReportMention((count.part, count.all), span, passage)


def _against_stage(
    specimens: Sequence[Specimen], counts: Sequence[_Count]
) -> Iterator[Contradiction]:
    """Node-free by stage and involved by count, or the reverse."""
    involved = [count for count in counts if count.value[0] > 0]
    for stage in (stage for specimen in specimens for stage in specimen.stages):
        n, staged = stage.value.n, stage.span.text
        is_pathologic = (stage.value.prefix or "").endswith("p") and not _PERINEURAL.search(staged)
        if not n or not is_pathologic or stage.passage.has("few_cells"):
            continue
        if n == "0" and involved:
            reason = f"{staged} is node-negative, {involved[0].span.text} nodes are involved"
            yield clash(_RULE, stage, involved[0], reason)
        if n in _INVOLVED and counts and not involved:
            reason = f"{staged} is node-positive, but {counts[0].span.text} nodes are involved"
            yield clash(_RULE, stage, counts[0], reason)


def _in_words(specimen: Specimen) -> Iterator[Contradiction]:
    called = list(_called(specimen))
    free, involved = [e for e in called if e.denied], [e for e in called if not e.denied]
    for no, yes in product(free, involved):
        if not no.value or no.value == yes.value:
            reason = f"nodes are free: {no.span.text}, and involved: {yes.span.text}"
            yield clash(_RULE, no, yes, reason)
    if free and involved:
        return
    for stage in specimen.stages:
        n = stage.value.n or ""
        general = [status for status in free if not status.value and not _are_some(status.passage)]
        opposed = involved if n == "0" else general if n[:1] in _INVOLVED else []
        for status in () if stage.passage.has("few_cells") else opposed:
            if status.passage != stage.passage:
                yield clash(_RULE, stage, status, f"{stage.span.text}, but {status.span.text}")


def _are_some(passage: ReportSentence) -> bool:
    return bool(statements(passage.text).labels) or any(
        organ_of(match.id) not in listed("tissues") for match in find_sites(passage.text)
    )


def _called(specimen: Specimen) -> Iterator[ReportMention[frozenset[str]]]:
    """Statements of a report in prose on its nodes, with the words that tell which nodes."""
    for passage in specimen.passages if specimen.is_prose else ():
        if passage.has("few_cells"):
            continue
        for value in read_nodes(passage.text):
            free = "free" in value.options
            if len(value.options) > 1 or (free and is_on_some_nodes(passage.text)):
                continue
            span = passage.at(value.start, value.end).span
            yield ReportMention(passage.names("node_names"), span, passage, denied=free)


def _against_denial(specimen: Specimen, counts: Sequence[_Count]) -> Iterator[Contradiction]:
    """Nodal metastasis is denied, and some nodes are involved by count."""
    denied = [
        finding
        for finding in specimen.findings
        if finding.denied
        and is_kind_of(str(finding.value.id), _METASTASIS)
        and not finding.passage.has("node_names")
    ]
    for finding in denied[:1]:
        for count in counts:
            if count.value[0] > 0 and count.passage != finding.passage:
                reason = f"nodal metastasis is denied, {count.span.text} nodes are involved"
                yield clash(_RULE, finding, count, reason)
