"""Pairs of pathology that are learned from: made ones, and those that language models wrote.

`data/made` holds pairs that a generator made once from word lists (its README says how): what one
statement says of the other is known. Language models wrote the others: 5,490 pairs one by one,
reports with edits of known effect, and statements with wordings of known effect. They were
instructed what to vary and saw neither code nor tests. Some writers and reports are kept back: no
network learns from them, so that the re-ranker and concordance can be fitted on them.
"""

import json
import lzma
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import cycle, islice
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, TypeAdapter

from histoeval.evaluate.probes import Edit, Probe, read_probes
from histoeval.nli.entailer import Label, LabelledPair
from histoeval.reader.sentences import sentences
from histoeval.report import Noun
from histoeval.resources import resource_bytes, resource_path, resource_text
from histoeval.terms.plain import is_held_out
from histoeval_research.train.core.model_folder import lists_sha256
from histoeval_research.train.nli.data import DATA, lines_of, wordings

MadeSet = Literal["train", "rest", "organs", "dev", "organs_dev"]
MADE: dict[MadeSet, int] = {
    "train": 200_000,
    "rest": 30_000,
    "organs": 240_000,
    "dev": 6_000,
    "organs_dev": 6_000,
}
"""How many made pairs each set holds; wordings and concepts of `rest` and `dev`, and organs of
`organs_dev`, stand in no other."""


class PairSettings(Noun):
    """How many pairs are learned from, and of which kinds."""

    count: Annotated[int, Field(ge=3, le=MADE["train"])] = 200_000
    """Pairs without the wordings and concepts of the development set."""
    rest: Annotated[int, Field(ge=0, le=MADE["rest"])] = 0
    """Pairs with these: for a model that is shipped, once it is known how well it generalises."""
    organs: Annotated[int, Field(ge=0, le=MADE["organs"])] = 0
    """Pairs from the cards of organs, without those of the development set."""
    by_hand: Annotated[int, Field(ge=0)] = 0
    """How many times the pairs that language models wrote are learned from."""
    edits: Annotated[int, Field(ge=0)] = 0
    """How many times the pairs from reports that language models edited are learned from."""
    names: Annotated[int, Field(ge=0)] = 0
    """Pairs of names from the ontology."""
    companions: Annotated[int, Field(ge=0)] = 0
    """Pairs of sentences of one true report, which do not contradict each other."""
    statements: Annotated[int, Field(ge=0)] = 0
    """Pairs from the statements that language models wrote with others of known effect."""
    changed: Annotated[int, Field(ge=0)] = 0
    """Pairs from true reports of which one thing was changed."""
    strangers: Annotated[int, Field(ge=0)] = 0
    """Pairs of statements of two true reports, which do not entail each other."""
    dev: Annotated[int, Field(ge=3, le=MADE["dev"])] = 6_000
    """Pairs of the development set."""


def made_pairs(kind: MadeSet, count: int, seed: int = 1) -> Iterator[LabelledPair]:
    """So many pairs of a stored set, labels in turn; another seed begins elsewhere in the file."""
    first = (seed - 1) * count % MADE[kind]
    with lzma.open(resource_path(f"{DATA}/made/{kind}.jsonl.xz"), "rb") as file:
        for line in islice(cycle(file), first, first + count):
            yield LabelledPair.model_validate_json(line)


def pairs_sha256() -> str:
    """A hash of all stored pairs and wordings."""
    places = [f"made/{kind}.jsonl.xz" for kind in MADE]
    places += ["llm_written.jsonl", "llm_edits.jsonl.gz", "llm_statements.jsonl.gz"]
    places += ["unlearned.toml", "wordings.toml"]
    return lists_sha256(*(resource_bytes(f"{DATA}/{place}") for place in places))


# --- pairs that language models wrote one by one ----------------------------------------------


KEPT_BACK = frozenset({2, 8})
"""Language models whose pairs no network learns from."""

_TURNED = 0.35
"""Share of contradictions with premise and hypothesis exchanged: they contradict either way."""
_DRESSED = 0.35
"""Share of texts that are put in another style."""
_COMPANY, _AMERICAN, _LOW_ENDS = 0.4, 0.4, 0.3


class WriterPair(NamedTuple):
    """A pair and the number of the language model that wrote it."""

    writer: int
    pair: LabelledPair


@cache
def llm_written_pairs() -> tuple[WriterPair, ...]:
    """All pairs, writer by writer."""
    lines = resource_text(f"{DATA}/llm_written.jsonl").splitlines()
    rows = [json.loads(line) for line in lines]
    return tuple(WriterPair(row.pop("writer"), LabelledPair(**row)) for row in rows)


def kept_back_pairs() -> Iterator[LabelledPair]:
    """What no network learns from."""
    return (each.pair for each in llm_written_pairs() if each.writer in KEPT_BACK)


def llm_pairs(times: int, seed: int) -> Iterator[LabelledPair]:
    """The pairs that networks learn from, N times: first as written, then restyled."""
    chance = random.Random(f"{seed}/by hand")
    learned = [each.pair for each in llm_written_pairs() if each.writer not in KEPT_BACK]
    for time in range(times):
        yield from (_dressed(pair, chance) if time else pair for pair in learned)


def _dressed(pair: LabelledPair, chance: random.Random) -> LabelledPair:
    """The same pair turned round, among other sentences, or with other ends."""
    premise, hypothesis = pair.premise, pair.hypothesis
    if pair.label == "contradiction" and chance.random() < _TURNED:
        premise, hypothesis = hypothesis, premise
    if chance.random() < _DRESSED:
        premise = _styled(_with_company(premise.rstrip("."), chance), chance)
    if chance.random() < _DRESSED:
        hypothesis = _styled(hypothesis.rstrip("."), chance)
    return pair.model_copy(update={"premise": premise, "hypothesis": hypothesis})


def _with_company(premise: str, chance: random.Random) -> str:
    """A premise, at times with a sentence before or after it that says nothing on it."""
    if chance.random() > _COMPANY:
        return premise
    parts = [premise]
    for _ in range(chance.choice([1, 1, 2])):
        parts.insert(chance.randint(0, len(parts)), chance.choice(wordings("style")["filler"]))
    return ". ".join(part[:1].upper() + part[1:] for part in parts)


def _styled(text: str, chance: random.Random) -> str:
    """A sentence or a phrase, at times as Americans spell it."""
    text = text.replace("  ", " ").strip().replace("a an ", "an ").replace("a a ", "a ")
    if chance.random() < _AMERICAN:
        for ours, theirs in wordings("style")["american"]:
            text = text.replace(ours, theirs).replace(ours.capitalize(), theirs.capitalize())
    if chance.random() < _LOW_ENDS:
        return text
    return text[:1].upper() + text[1:].rstrip(".") + "."


# --- reports that language models edited ---------------------------------------------------------
#
# A rewording entails the report and follows from it; a report with a statement dropped follows from
# it and leaves that statement open; one with a wrong statement contradicts it. The same holds for
# the sentence that was changed, where there is only one, against the whole of the other text.
# Nothing is learned from edits of doubt and certainty, nor where what was added or dropped may be
# denied in the other text: its label is not sure.

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
_EDITS_KEPT_BACK = 0.25
"""Share of the reports that no network learns from: there to develop on."""


@cache
def edited_reports(*, kept_back: bool) -> tuple[Probe, ...]:
    """The reports and their edits: those that networks learn from, or those that none does."""
    every = read_probes(resource_path(f"{DATA}/llm_edits.jsonl.gz"))
    return tuple(each for each in every if is_held_out(each.id, _EDITS_KEPT_BACK) == kept_back)


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


# --- statements that language models wrote with others of known effect -------------------------


_STATEMENTS_KEPT_BACK = 0.15
"""Share of the reports that no network learns from: there to develop on."""
_ALONE = 0.4
"""Share of premises that are the one statement and no more."""
_MOST_COMPANY = 3
_STATEMENTS_TURNED = 0.4
"""Share of contradictions with premise and hypothesis exchanged."""
_SHARES: tuple[tuple[Label, float], ...] = (
    ("entailment", 0.42),
    ("contradiction", 0.38),
    ("neutral", 0.2),
)


class StatementWordings(Noun):
    """A statement, and others that say the same, exclude it, or are left open by it."""

    text: str
    same: tuple[str, ...]
    opposite: tuple[str, ...]
    open: tuple[str, ...]


class StatementReport(Noun):
    """The statements of one report."""

    id: str
    organ: str
    statements: tuple[StatementWordings, ...]


class _Drawn(NamedTuple):
    premise: str
    hypothesis: str
    label: Label


@cache
def statement_reports(*, kept_back: bool) -> tuple[StatementReport, ...]:
    """The reports that networks learn from, or those that none does."""
    read = TypeAdapter(StatementReport).validate_json
    every = [read(line) for line in lines_of(resource_path(f"{DATA}/llm_statements.jsonl.gz"))]
    return tuple(each for each in every if is_held_out(each.id, _STATEMENTS_KEPT_BACK) == kept_back)


def statement_pairs(count: int, seed: int, *, kept_back: bool = False) -> Iterator[LabelledPair]:
    """So many pairs: a statement alone or among others of its report, and one about it."""
    chance = random.Random(f"{seed}/statements")
    reports = statement_reports(kept_back=kept_back)
    labels, shares = zip(*_SHARES, strict=True)
    seen: set[tuple[str, str]] = set()
    for _ in range(count):
        report = chance.choice(reports)
        place = chance.randrange(len(report.statements))
        label = chance.choices(labels, shares)[0]
        drawn = _draw(report.statements, place, label, chance)
        if drawn is None or drawn[:2] in seen:
            continue
        seen.add(drawn[:2])
        yield LabelledPair(**drawn._asdict(), category="statement")


def written_statements() -> tuple[Sequence[str], ...]:
    """The statements of each report to learn from, in two wordings."""
    learned = statement_reports(kept_back=False)
    return (
        *([each.text for each in report.statements] for report in learned),
        *([each.same[0] for each in report.statements] for report in learned),
    )


def _draw(
    statements: Sequence[StatementWordings], place: int, label: Label, chance: random.Random
) -> _Drawn | None:
    about = statements[place]
    ways = [about.text, *about.same]
    said = chance.choice(ways)
    others = {
        "entailment": [way for way in ways if way != said],
        "contradiction": about.opposite,
        "neutral": about.open,
    }[label]
    if not others:
        return None
    hypothesis = chance.choice(others)
    if label == "contradiction" and chance.random() < _STATEMENTS_TURNED:
        said, hypothesis = hypothesis, said
    if chance.random() < _ALONE:
        return _Drawn(said, hypothesis, label)
    rest = [each for at, each in enumerate(statements) if at != place]
    company = chance.sample(rest, min(len(rest), chance.randint(1, _MOST_COMPANY)))
    premise = [chance.choice([each.text, *each.same]) for each in company]
    premise.insert(chance.randint(0, len(premise)), said)
    return _Drawn(" ".join(map(_ended, premise)), hypothesis, label)


def _ended(statement: str) -> str:
    return statement if statement.endswith((".", "!", "?")) else f"{statement}."
