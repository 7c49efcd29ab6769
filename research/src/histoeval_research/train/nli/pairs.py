"""Stored pairs of pathology that are learned from: made ones, and what language models wrote.

`data/made` holds pairs that were made once (its README says how): from word lists, and from
reports that language models edited. Language models wrote the others: 5,490 pairs one by one, and
statements with wordings of known effect; they were told what to vary, and saw no code and no tests.
Some writers and reports are kept back: no network learns from them, so that the re-ranker and
concordance can be fitted on them.
"""

import csv
import gzip
import json
import lzma
import random
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import TypeAdapter, ValidationError

from histoeval.errors import InputError
from histoeval.io.writing import writing_to
from histoeval.nli.entailer import LABELS, Label, LabelledPair
from histoeval.report import Noun
from histoeval.resources import load_toml, resource_bytes, resource_path
from histoeval.terms.plain import is_held_out
from histoeval_research.train.core.model_folder import lists_sha256

DATA = "histoeval_research/train/nli/data"
TEST = "snli_test"
_TESTS = (TEST, "counterfactual_test")
_MOST_CONDITION = 6
"""Words of a condition in a clinical sentence; longer ones are half sentences."""

_OPENED: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}


def wordings(name: str) -> dict[str, Any]:
    """A part of `wordings.toml`."""
    part: dict[str, Any] = load_toml(f"{DATA}/wordings.toml")[name]
    return part


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a text, also with .gz or .xz, that are not empty."""
    with writing_to(path), _OPENED.get(path.suffix, open)(path, "rt", encoding="utf-8") as file:
        yield from (line for line in file if line.strip())


def read_pairs(path: Path, category: str = "category") -> list[LabelledPair]:
    """Labelled pairs from JSON lines, also with .gz; the field that names their category."""
    pairs = []
    for number, line in enumerate(lines_of(path), 1):
        try:
            row = json.loads(line)
            texts = {name: row[name] for name in ("premise", "hypothesis", "label")}
            pairs.append(LabelledPair(category=str(row.get(category, "")), **texts))
        except (ValueError, RecursionError, KeyError, TypeError, ValidationError) as error:
            raise InputError(
                f"{path}, line {number}: not a pair with premise, hypothesis and label "
                f"({', '.join(LABELS)})"
            ) from error
    return pairs


class General(NamedTuple):
    """General pairs: those to learn from, and the test part of SNLI."""

    train: list[LabelledPair]
    test: list[LabelledPair]


def split_general(pairs: Sequence[LabelledPair]) -> General:
    """Part the file by source; nothing that is tested on is learned from in another source."""

    def plain(pair: LabelledPair) -> str:
        return " ".join(pair.premise.lower().split()).rstrip(".")

    tested = {plain(pair) for pair in pairs if pair.category in _TESTS}
    train = [p for p in pairs if p.category not in _TESTS and plain(p) not in tested]
    return General(train, [pair for pair in pairs if pair.category == TEST])


def labelled_sets(general: Path | None, pairs: Path | None) -> dict[str, list[LabelledPair]]:
    """What a model is measured on, by the names of the files."""
    sets: dict[str, list[LabelledPair]] = {}
    if general is not None:
        sets["SNLI test"] = split_general(read_pairs(general, "source")).test
    if pairs is not None:
        sets[pairs.name] = read_pairs(pairs)
    if not any(sets.values()):
        raise InputError("nothing to measure on: give --general, --pairs or both, with pairs")
    return {name: some for name, some in sets.items() if some}


def negation_pairs(path: Path) -> Iterator[LabelledPair]:
    """Clinical sentences, each with a condition that it affirms or denies, as two pairs."""
    frames = wordings("negation")
    with writing_to(path), path.open(encoding="utf-8", errors="replace", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
    for number, (_, condition, sentence, status, *_) in enumerate(rows):
        if len(condition.split()) > _MOST_CONDITION or condition.lower() not in sentence.lower():
            continue
        for kind in ("said", "denied"):
            text = frames[kind][number % len(frames[kind])].format(f=condition.lower())
            is_said = (status == "Negated") == (kind == "denied")
            label = "entailment" if is_said else "contradiction"
            yield LabelledPair(premise=sentence, hypothesis=text, label=label, category="negex")


MadeSet = Literal["train", "rest", "organs", "edits", "dev", "organs_dev"]
MADE: dict[MadeSet, int] = {
    "train": 200_000,
    "rest": 30_000,
    "organs": 240_000,
    "edits": 6_792,
    "dev": 6_000,
    "organs_dev": 6_000,
}
"""How many made pairs each set holds; wordings and concepts of `rest` and `dev`, and organs of
`organs_dev`, stand in no other."""

_FILES = (
    *(f"made/{kind}.jsonl.xz" for kind in (*MADE, "edited_statements")),
    "llm_written.jsonl",
    "llm_statements.jsonl.gz",
    "unlearned.toml",
    "wordings.toml",
)


def pairs_sha256() -> str:
    """A hash of all stored pairs and wordings."""
    return lists_sha256(*(resource_bytes(f"{DATA}/{file}") for file in _FILES))


def made_pairs(kind: MadeSet, count: int, seed: int = 1) -> Iterator[LabelledPair]:
    """So many pairs of a stored set, labels in turn; another seed begins elsewhere in the file."""
    first = (seed - 1) * count % MADE[kind]
    lines = cycle(lines_of(resource_path(f"{DATA}/made/{kind}.jsonl.xz")))
    return map(LabelledPair.model_validate_json, islice(lines, first, first + count))


# --- pairs that language models wrote one by one ----------------------------------------------


KEPT_BACK = frozenset({2, 8})
"""Language models whose pairs no network learns from."""

_TURNED = 0.35
"""Share of contradictions with premise and hypothesis exchanged: they contradict either way."""
_DRESSED = 0.35
"""Share of texts that are put in another style."""
_COMPANY, _AMERICAN, _LOW_ENDS = 0.4, 0.4, 0.3


@cache
def llm_written_pairs(*, kept_back: bool) -> tuple[LabelledPair, ...]:
    """The pairs that networks learn from, or those that none does, writer by writer."""
    rows = map(json.loads, lines_of(resource_path(f"{DATA}/llm_written.jsonl")))
    return tuple(
        LabelledPair(**row) for row in rows if (row.pop("writer") in KEPT_BACK) == kept_back
    )


def llm_pairs(times: int, seed: int) -> Iterator[LabelledPair]:
    """The pairs that networks learn from, N times: first as written, then restyled."""
    chance = random.Random(f"{seed}/by hand")
    for time in range(times):
        for pair in llm_written_pairs(kept_back=False):
            yield _dressed(pair, chance) if time else pair


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


# --- statements that language models wrote with others of known effect -------------------------


_STATEMENTS_KEPT_BACK = 0.15
"""Share of the reports that no network learns from: there to develop on."""
_ALONE = 0.4
"""Share of premises that are the one statement and no more."""
_MOST_COMPANY = 3
_STATEMENTS_TURNED = 0.4
"""Share of contradictions with premise and hypothesis exchanged."""
_SHARES: dict[Label, float] = {"entailment": 0.42, "contradiction": 0.38, "neutral": 0.2}


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
    reports = map(read, lines_of(resource_path(f"{DATA}/llm_statements.jsonl.gz")))
    return tuple(r for r in reports if is_held_out(r.id, _STATEMENTS_KEPT_BACK) == kept_back)


def statement_pairs(count: int, seed: int) -> Iterator[LabelledPair]:
    """Up to so many pairs: a statement alone or among others of its report, and one about it."""
    chance = random.Random(f"{seed}/statements")
    reports = statement_reports(kept_back=False)
    seen: set[tuple[str, str]] = set()
    for _ in range(count):
        report = chance.choice(reports)
        place = chance.randrange(len(report.statements))
        label = chance.choices([*_SHARES], [*_SHARES.values()])[0]
        drawn = _draw(report.statements, place, label, chance)
        if drawn is not None and drawn[:2] not in seen:
            seen.add(drawn[:2])
            yield LabelledPair(**drawn._asdict(), category="statement")


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
    rest = [statement for at, statement in enumerate(statements) if at != place]
    company = chance.sample(rest, min(len(rest), chance.randint(1, _MOST_COMPANY)))
    premise = [chance.choice([each.text, *each.same]) for each in company]
    premise.insert(chance.randint(0, len(premise)), said)
    ended = (text if text.endswith((".", "!", "?")) else f"{text}." for text in premise)
    return _Drawn(" ".join(ended), hypothesis, label)


# --- statements to change ------------------------------------------------------------------------


def written_statements() -> tuple[list[list[str]], list[list[str]]]:
    """The statements of each report by language models: as they edited it, and as they wrote it.

    Of edited reports that is each report and each edit that changes nothing; of written ones each
    statement in two wordings.
    """
    edited = lines_of(resource_path(f"{DATA}/made/edited_statements.jsonl.xz"))
    reports = statement_reports(kept_back=False)
    return [json.loads(line) for line in edited], [
        *([statement.text for statement in report.statements] for report in reports),
        *([statement.same[0] for statement in report.statements] for report in reports),
    ]
