"""Pairs from reports that language models wrote and edited in ways of which the effect is known.

A rewording entails the report and follows from it; a report with a statement dropped follows from
it and leaves that statement open; one with a wrong statement contradicts it. The same holds for the
sentence that was changed, where there is only one, against the whole of the other text. Nothing is
learned from edits of doubt and certainty, nor where what was added or dropped may be denied in the
other text: its label is not sure.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache

from histoeval.evaluate.probes import Edit, Probe, read_probes
from histoeval.nli.entailer import Label, LabelledPair
from histoeval.reader.sentences import sentences
from histoeval.resources import resource_path
from histoeval.terms.plain import is_held_out

FILE = "histoeval_research/train/nli/data/llm_edits.jsonl.gz"

_DROPPED = re.compile(r"drop|omit|left out|missing|removed")
_ADDED = re.compile(r"invent|\badd(?:ed|s)\b|\bextra\b")
_OPEN = re.compile(r"certain|doubt|hedg|unsure|suspic|definit|favou?r|\bmoved")
_DENIAL = re.compile(
    r"\b(?:no|not|none|never|without|negative|free|clear|absent|absence|lacks?|lacking|benign|"
    r"only|all|alone|normal|unremarkable|uninvolved)\b"
)
"""Words that exclude something else, or may."""
_MOST_WORDS = 170
"""Words of both texts of a pair: of more, the model would not read all."""
_LEAST_CHARS = 12
_KEPT_BACK = 0.25
"""Share of the reports that no network learns from: there to develop on."""


@cache
def edited_reports(*, kept_back: bool) -> tuple[Probe, ...]:
    """The reports and their edits: those that networks learn from, or those that none does."""
    every = read_probes(resource_path(FILE))
    return tuple(each for each in every if is_held_out(each.id, _KEPT_BACK) == kept_back)


def edited_statements() -> tuple[Sequence[str], ...]:
    """The statements of each report to learn from, and of each edit that changes nothing."""
    learned = edited_reports(kept_back=False)
    harmless = (e.text for probe in learned for e in probe.edits if e.severity == 0)
    found = (_statements(text) for text in (*(each.reference for each in learned), *harmless))
    return tuple(each for each in found if each)


def edit_pairs() -> Iterator[LabelledPair]:
    """All pairs to learn from that are short enough, each once."""
    learned = edited_reports(kept_back=False)
    edits = ((probe, edit) for probe in learned for edit in probe.edits)
    found = (pair for each in edits for pair in _of(*each))
    seen: set[tuple[str, str]] = set()
    for pair in found:
        key = pair.premise, pair.hypothesis
        if key not in seen and len(" ".join(key).split()) <= _MOST_WORDS:
            seen.add(key)
            yield pair


def _of(probe: Probe, edit: Edit) -> Iterator[LabelledPair]:
    labels = _labels(probe.reference, edit)
    if labels is None:
        return
    forward, backward = labels
    yield _pair(probe.reference, edit.text, forward, edit.kind)
    yield _pair(edit.text, probe.reference, backward, edit.kind)
    here, there = _statements(probe.reference), _statements(edit.text)
    only_here = [each for each in here if each not in there]
    only_there = [each for each in there if each not in here]
    if edit.severity == 0:
        yield from (_pair(edit.text, each, "entailment", edit.kind) for each in only_here)
        yield from (_pair(probe.reference, each, "entailment", edit.kind) for each in only_there)
    elif len(only_there) <= 1 and len(only_here) <= 1 and len(here) > 1:
        yield from (_pair(edit.text, each, backward, edit.kind) for each in only_here)
        yield from (_pair(probe.reference, each, forward, edit.kind) for each in only_there)


def _labels(reference: str, edit: Edit) -> tuple[Label, Label] | None:
    """What the report says of the edited one, and the other way round, where that is sure."""
    if edit.severity == 0:
        return "entailment", "entailment"
    words = f"{edit.kind} {edit.change}".lower()
    dropped, added = _DROPPED.search(words), _ADDED.search(words)
    if _OPEN.search(words) or (dropped and added):
        return None
    if dropped:
        return None if _denials(edit.text) - _denials(reference) else ("entailment", "neutral")
    if added:
        return None if _denials(reference) - _denials(edit.text) else ("neutral", "entailment")
    return "contradiction", "contradiction"


def _denials(text: str) -> Counter[str]:
    return Counter(_DENIAL.findall(text.lower()))


def _statements(text: str) -> list[str]:
    found = dict.fromkeys(" ".join(each.of(text).split()) for each in sentences(text))
    return [each for each in found if len(each) >= _LEAST_CHARS]


def _pair(premise: str, hypothesis: str, label: Label, kind: str) -> LabelledPair:
    return LabelledPair(
        premise=premise, hypothesis=hypothesis, label=label, category=f"edit: {kind}"
    )
