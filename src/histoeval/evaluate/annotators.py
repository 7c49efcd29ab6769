"""How far two annotations of the same passages agree.

Neither side is the truth, so precision and recall are left out: they would change places with
the annotators. What counts as shared is told in `histoeval.evaluate.matches`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from histoeval.evaluate.matches import (
    NONE,
    Matches,
    Tally,
    assertion_matches,
    exact_matches,
    hare_matches,
    merge,
    overlap_matches,
    relation_matches,
    relation_matches_between_shared,
    total,
)
from histoeval.io.corpus import AnnotatedPassage
from histoeval.report import Report


@dataclass
class AnnotatorAgreement:
    """What two annotators agree on.

    `assertion` counts diagnoses and findings that both marked alike: how many, and for how many
    the assertion is the same too. `relations_between_agreed` looks only at relations both of
    whose entities the other side has too, `relations` at all of them.
    """

    passages: int = 0
    only_one: list[str] = field(default_factory=list)
    only_other: list[str] = field(default_factory=list)
    other_text: list[str] = field(default_factory=list)
    exact: Tally = field(default_factory=dict)
    all_exact: Matches = NONE
    hare_exact: Matches = NONE
    overlap: Matches = NONE
    relations: Matches = NONE
    relations_between_agreed: Matches = NONE
    asserted: int = 0
    asserted_alike: int = 0

    @property
    def assertion(self) -> float | None:
        """The share of agreed diagnoses and findings with the same assertion."""
        return self.asserted_alike / self.asserted if self.asserted else None


def annotator_agreement(
    one: Iterable[AnnotatedPassage], other: Iterable[AnnotatedPassage]
) -> AnnotatorAgreement:
    """Compare passages of the same id and text; the others are named and not compared."""
    agreement = AnnotatorAgreement()
    others = {passage.id: passage for passage in other}
    for passage in one:
        match = others.pop(passage.id, None)
        if match is None:
            agreement.only_one.append(passage.id)
        elif match.text != passage.text:
            agreement.other_text.append(passage.id)
        else:
            _compare(agreement, passage.content, match.content)
    agreement.only_other.extend(others)
    return agreement


def _compare(agreement: AnnotatorAgreement, one: Report, other: Report) -> None:
    exact, assertions = exact_matches(one, other), total(assertion_matches(one, other))
    agreement.passages += 1
    agreement.exact = merge(agreement.exact, exact)
    agreement.all_exact += total(exact)
    agreement.hare_exact += total(hare_matches(one, other))
    agreement.overlap += total(overlap_matches(one, other))
    agreement.asserted += assertions.one
    agreement.asserted_alike += assertions.shared_one
    agreement.relations += total(relation_matches(one, other))
    agreement.relations_between_agreed += total(relation_matches_between_shared(one, other))
