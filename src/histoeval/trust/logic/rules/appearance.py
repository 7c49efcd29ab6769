"""Rule: what is seen, or is said to be missing, excludes the diagnosis that is concluded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from histoeval.terms.catalogue import Concept, diagnosis_tree
from histoeval.trust.logic.diagnosis_mentions import (
    DiagnosisMention,
    is_denied,
    is_of_one_lesion,
    named_in,
)
from histoeval.trust.logic.impression import concludes
from histoeval.trust.logic.lexicon import begins, pattern, table, written_as
from histoeval.trust.logic.rules.presence import clash
from histoeval.trust.logic.sentences import ReportSentence
from histoeval.trust.logic.specimen import Specimen, said_in
from histoeval.trust.results import Contradiction


class _Sign(NamedTuple):
    """Words for something that is seen, or that is missing, with what goes with it or does not."""

    words: re.Pattern[str]
    only: tuple[str, ...]
    excludes: tuple[str, ...]
    unless: re.Pattern[str] | None

    def is_against(self, concept: Concept) -> bool:
        """Whether a diagnosis does not go with this."""
        tree = diagnosis_tree()
        if _is_any_of(concept, self.excludes):
            return True
        return bool(self.only) and not any(
            tree.is_a(concept.id, id_) or tree.is_a(id_, concept.id) for id_ in self.only
        )


@cache
def _signs(kind: str) -> tuple[_Sign, ...]:
    return tuple(
        _Sign(
            written_as(row["words"]),
            () if "excludes" in row else tuple(row["only"]),
            tuple(row.get("excludes", ())),
            begins(row["unless"]) if "unless" in row else None,
        )
        for row in table("appearances")[kind]
    )


def appearance(specimen: Specimen) -> Iterator[Contradiction]:
    """A sign that none of the concluded diagnoses goes with, in another sentence of the lesion."""
    if not is_of_one_lesion(specimen) or any(
        pattern("of_two_kinds").search(passage.text) for passage in specimen.passages
    ):
        return
    final = _final(specimen)
    for passage in specimen.passages if final else ():
        if all(each.passage != passage for each in final) and _is_of_all(passage):
            yield from _against(passage, final, specimen)
    yield from _stained(final, specimen)


def _final(specimen: Specimen) -> list[DiagnosisMention]:
    """What is concluded; where nothing is, what the first sentence says that names a diagnosis."""
    named = named_in(specimen)
    concluded = [each for each in named if concludes(each.passage)]
    return concluded or [each for each in named if each.passage == named[0].passage]


def _is_of_all(passage: ReportSentence) -> bool:
    text = passage.text
    return not any(pattern(name).search(text) for name in ("beyond", "supposed"))


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
                why = f"{found.group()} does not go with {final[0].said.span.text}"
                yield clash("appearance", said_in(found, passage, specimen), final[0].said, why)


def _stained(final: Sequence[DiagnosisMention], specimen: Specimen) -> Iterator[Contradiction]:
    """A stain of the tumour that none of the concluded diagnoses goes with."""
    for said in specimen.markers if final else ():
        marker, result = said.value
        if pattern("some_cells").search(said.passage.text):
            continue
        for row in table("appearances")["stain"]:
            told = marker in row.get(str(result.polarity), ())
            if told and all(_is_any_of(each.concept, row["excludes"]) for each in final):
                why = f"{marker} {result.polarity} does not go with {final[0].said.span.text}"
                yield clash("appearance", said, final[0].said, why)


def _is_any_of(concept: Concept, ids: Sequence[str]) -> bool:
    return any(diagnosis_tree().is_a(concept.id, id_) for id_ in ids)
