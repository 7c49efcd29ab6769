"""Rule: what is seen, or reported missing, excludes the diagnosis that is concluded."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from histoeval.pathgls.logic.contradiction import clash
from histoeval.pathgls.logic.diagnosis_mentions import DiagnosisMention
from histoeval.pathgls.logic.lexicon import APPEARANCE, listed
from histoeval.pathgls.logic.sentences import ReportSentence
from histoeval.pathgls.logic.specimen import Specimen
from histoeval.pathgls.results import Contradiction
from histoeval.terms.assertion import is_denied
from histoeval.terms.catalogue import Behaviour, Concept, diagnosis_tree
from histoeval.terms.lexicon import any_of


class _Sign(NamedTuple):
    """Words for something that is seen, or that is missing, with what goes with it or does not."""

    words: re.Pattern[str]
    only: tuple[str, ...]
    excludes: tuple[str, ...]
    unless: re.Pattern[str] | None

    def is_against(self, concept: Concept) -> bool:
        """Whether a diagnosis does not go with this."""
        if _is_any_of(concept, self.excludes):
            return True
        return bool(self.only) and not any(
            diagnosis_tree().are_kin(concept.id, id_) for id_ in self.only
        )


@cache
def _signs(kind: str) -> tuple[_Sign, ...]:
    return tuple(
        _Sign(
            any_of(row["words"]),
            () if "excludes" in row else tuple(row["only"]),
            tuple(row.get("excludes", ())),
            any_of(row["unless"], literal=True) if "unless" in row else None,
        )
        for row in APPEARANCE.entry(kind)
    )


def appearance(specimen: Specimen) -> Iterator[Contradiction]:
    """A sign that none of the concluded diagnoses goes with, in another sentence of the lesion."""
    final = _final(specimen) if specimen.is_of_one_kind else []
    if not final:
        return
    for passage in specimen.passages:
        concluding = any(each.passage == passage for each in final)
        if not concluding and not passage.has("beyond", "supposed"):
            yield from _against(passage, final, specimen)
    yield from _stained(final, specimen)


def _final(specimen: Specimen) -> list[DiagnosisMention]:
    """What is concluded; where nothing is, the names in the first sentence that has any."""
    names = [each for each in specimen.names if each.concept.id not in listed("umbrellas")]
    concluded = [each for each in names if each.passage.is_conclusion]
    first = [each for each in names if each.passage == names[0].passage]
    return concluded or [e for e in first if e.concept.behaviour != Behaviour.NON_NEOPLASTIC]


def _against(
    passage: ReportSentence, final: Sequence[DiagnosisMention], specimen: Specimen
) -> Iterator[Contradiction]:
    whole = " ".join(each.text for each in specimen.passages)
    for kind in ("seen", "denied"):
        for sign in _signs(kind):
            found = sign.words.search(passage.text)
            if not found or (kind == "seen" and is_denied(passage.text, *found.span())):
                continue
            if sign.unless and sign.unless.search(whole):
                continue
            if all(sign.is_against(each.concept) for each in final):
                why = f"{found.group()} does not go with {final[0].span.text}"
                yield clash("appearance", passage.found(found), final[0], why)


def _stained(final: Sequence[DiagnosisMention], specimen: Specimen) -> Iterator[Contradiction]:
    """A stain of the tumour that none of the concluded diagnoses goes with."""
    for stain in specimen.markers:
        marker, result = stain.value
        if stain.passage.has("some_cells", "of_gene"):
            continue
        for row in APPEARANCE.entry("stain"):
            excludes = marker in row.get(str(result.polarity), ())
            if excludes and all(_is_any_of(each.concept, row["excludes"]) for each in final):
                why = f"{marker} {result.polarity} does not go with {final[0].span.text}"
                yield clash("appearance", stain, final[0], why)


def _is_any_of(concept: Concept, ids: Sequence[str]) -> bool:
    return any(diagnosis_tree().is_a(concept.id, id_) for id_ in ids)
