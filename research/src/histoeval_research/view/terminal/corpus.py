"""Tables on annotated corpora: their statistics, and the agreement of two annotators."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from histoeval.errors import Problem
from histoeval.report import HARE_RELATION_TYPES, RELATION_TYPES, Assertion, EntityType
from histoeval.table import ResultTable, terminal_table
from histoeval.view.terminal.scores import problem_table
from histoeval_research.evaluate.corpus import HARE_NAMES, AnnotatorAgreement, Counts, Statistics

MAX_SOURCE_COLUMNS = 4
"""More sources do not fit beside the total."""


def statistics_tables(statistics: Statistics, unit: str) -> Iterator[RenderableType]:
    """Tables 1 and 3 of the HARE paper for a corpus."""
    columns = {"all": statistics.total}
    if 1 < len(statistics.sources) <= MAX_SOURCE_COLUMNS:
        columns |= statistics.sources
    yield _numbers("Annotation", list(columns), _annotation_rows(list(columns.values())))
    yield _numbers("Samples", ["samples", unit], _sample_rows(statistics.total))
    sources = [
        [name, *_counts(c.passages, len(c.reports), c.tokens, c.entities.total())]
        for name, c in (*statistics.sources.items(), ("all", statistics.total))
    ]
    yield _numbers("Sources", ["passages", "reports", unit, "entities"], sources)


def agreement_table(agreed: AnnotatorAgreement, names: tuple[str, str]) -> RenderableType:
    """F1 of each type that either side has, and of everything together."""
    counted = [(str(kind), overlap) for kind, overlap in agreed.exact.items()]
    counted += [
        ("all types", agreed.all_exact),
        ("HARE's five", agreed.hare_exact),
        ("all types, overlapping", agreed.overlap),
        ("relations of agreed entities", agreed.relations_between_agreed),
        ("relations, end to end", agreed.relations),
    ]
    rows = [
        [name, *_counts(o.one, o.other), f"{o.f1:.3f}"] for name, o in counted if o.one or o.other
    ]
    if agreed.assertion is not None:
        rows.append(["same assertion", *_counts(agreed.asserted) * 2, f"{agreed.assertion:.3f}"])
    return _numbers("Agreement", [*names, "F1"], rows)


def left_out(agreed: AnnotatorAgreement, names: tuple[str, str]) -> Iterator[str]:
    """Passages that could not be compared, with an example."""
    reasons = {
        f"only in {names[0]}": agreed.only_one,
        f"only in {names[1]}": agreed.only_other,
        "with another text": agreed.other_text,
    }
    for reason, ids in reasons.items():
        if ids:
            yield f"{len(ids):,} passages {reason} and not compared, for example {ids[0]}"


def refusal_table(problems: Sequence[Problem]) -> RenderableType:
    """Passages that could not be read: reason, count, and an example."""
    count = Counter(problem.code for problem in problems)
    examples = {problem.code: problem.message for problem in reversed(problems)}
    errors = {code: {"count": count[code], "example": examples[code]} for code in count}
    return problem_table({"errors": errors}) or Text("")


def _annotation_rows(columns: Sequence[Counts]) -> Iterator[list[str]]:
    """Table 1: HARE's types, then ours, then assertions and relations."""
    for name in HARE_NAMES:
        yield [name, *_counts(*[counts.hare_entities[name] for counts in columns])]
    paired = [sum(counts.relations[pair] for pair in HARE_RELATION_TYPES) for counts in columns]
    yield ["Relations (of HARE)", *_counts(*paired)]
    for kind in EntityType:
        yield [kind, *_counts(*[counts.entities[kind] for counts in columns])]
        for assertion in (Assertion.ABSENT, Assertion.UNCERTAIN):
            found = [counts.assertions[kind, assertion] for counts in columns]
            if any(found):
                yield [f"  {assertion}", *_counts(*found)]
    yield ["all entities", *_counts(*[counts.entities.total() for counts in columns])]
    for pair in sorted(RELATION_TYPES):
        yield ["-".join(pair), *_counts(*[counts.relations[pair] for counts in columns])]
    yield ["all relations", *_counts(*[counts.relations.total() for counts in columns])]


def _sample_rows(counts: Counts) -> Iterator[list[str]]:
    """Table 3: the training samples of a tagger and a relation model."""
    yield ["NER", *_counts(counts.passages, counts.tokens)]
    yield ["relations", *_counts(counts.relations.total(), counts.relation_tokens)]
    yield ["pairs without one", *_counts(counts.candidates, counts.candidate_tokens)]


def _counts(*numbers: int) -> list[str]:
    return [f"{number:,}" for number in numbers]


def _numbers(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> RenderableType:
    return terminal_table(ResultTable(title, ["", *columns], [*rows]))
