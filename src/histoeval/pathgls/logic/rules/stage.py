"""Rules: two stages of one tumour, or one that is lower than what is described."""

from collections.abc import Iterator

from histoeval.pathgls.logic.contradiction import clash, two_values
from histoeval.pathgls.logic.grade_mentions import is_of_early_lesion
from histoeval.pathgls.logic.sentences import ReportMention
from histoeval.pathgls.logic.specimen import Specimen
from histoeval.pathgls.results import Contradiction
from histoeval.terms.assertion import denies
from histoeval.terms.values.implied_stages import organ_at, rank, worked_out
from histoeval.terms.values.stages import Stage


def stage(specimen: Specimen) -> Iterator[Contradiction]:
    """Two stages of the tumour by the same rules: pT2 and pT3."""
    if specimen.has_several_tumours:
        return
    yield from two_values("stage", specimen.stages, _differ)


def _differ(one: Stage, other: Stage) -> bool:
    if one.prefix != other.prefix or not (one.prefix or "").endswith("p"):
        return False
    return bool(
        one.t and other.t and one.t[0] != other.t[0] and one.t[0].isdigit() and other.t[0].isdigit()
    )


def stage_as_described(specimen: Specimen) -> Iterator[Contradiction]:
    """In prose on one tumour: its size or depth in another sentence stands for a higher stage."""
    text = " ".join(passage.text for passage in specimen.passages).lower()
    organ = organ_at(text)
    if organ is None or not specimen.is_of_one_lesion or specimen.has_several_tumours:
        return
    for staged in specimen.stages:
        stated = staged.value.t or ""
        if staged.value.prefix == "p" and stated[:1].isdigit():
            yield from _described_higher(staged, stated, organ, specimen)


def _described_higher(
    staged: ReportMention[Stage], stated: str, organ: int, specimen: Specimen
) -> Iterator[Contradiction]:
    for passage in specimen.passages:
        aside = denies(passage.text) or is_of_early_lesion(passage.text)
        aside = aside or passage.has("partly", "beyond", "node_word", "margin_word", "spared")
        if passage == staged.passage or aside:
            continue
        for implied in worked_out(passage.text.lower(), organ).tumour:
            if rank(implied)[0] > rank(stated)[0]:
                seen = passage.at(0, len(passage.text))
                why = f"what is described is pT{implied}, and not {staged.span.text}"
                yield clash("stage", staged, seen, why)
