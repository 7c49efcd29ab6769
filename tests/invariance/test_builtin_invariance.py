"""The builtin reader says the same of a text, bit for bit, whatever is read beside it and how."""

import csv
import random
from collections.abc import Iterator
from importlib.resources import files
from typing import NamedTuple

import pytest

from histoeval.reader.builtin import BuiltinReader
from histoeval.report import Report
from tests.support.report_words import make_report


def texts() -> list[str]:
    """Real sentences and drawn words, from one word to several windows, all different."""
    content = (files("histoeval") / "examples" / "pairs.csv").read_text("utf-8")
    rows = list(csv.DictReader(content.splitlines(keepends=True)))
    source = random.Random(11)
    drawn = [row["reference"] for row in rows[:18]] + [rows[0]["candidate_good"] * 4]
    drawn += [make_report(source, source.choice([1, 3, 9, 27])) for _ in range(16)]
    return list(dict.fromkeys([*drawn, "", "\0", make_report(source, 200)]))


class Bits(NamedTuple):
    """Everything that was found, with numbers written out to the last bit."""

    entities: list[tuple[int, int, str, str, str]]
    relations: list[tuple[int, int, str]]


def bits(report: Report) -> Bits:
    return Bits(
        [(e.start, e.end, e.type, e.assertion, e.score.hex()) for e in report.entities],
        [(r.head, r.tail, r.score.hex()) for r in report.relations],
    )


def read_in_batches(reader: BuiltinReader, given: list[str], size: int) -> Iterator[Report]:
    for start in range(0, len(given), size):
        yield from reader.read(given[start : start + size])


@pytest.fixture(scope="module")
def alone() -> dict[str, Bits]:
    """What is found when one text at a time is read, in one thread."""
    reader = BuiltinReader(threads=1)
    return {text: bits(reader.read([text])[0]) for text in texts()}


def test_there_is_something_that_could_differ(alone: dict[str, Bits]) -> None:
    entities = [entity for found in alone.values() for entity in found.entities]
    relations = [pair for found in alone.values() for pair in found.relations]
    assert len(entities) > 250
    assert len(relations) > 75
    assert len({entity[3] for entity in entities}) > 1
    assert len({entity[4] for entity in entities}) > 150


@pytest.mark.parametrize(("size", "threads"), [(1, 4), (7, 1), (7, 2), (64, 3)])
def test_the_same_bits_for_any_batch_size_order_and_number_of_threads(
    alone: dict[str, Bits], size: int, threads: int
) -> None:
    shuffled = texts()
    random.Random(100 * size + threads).shuffle(shuffled)
    reader = BuiltinReader(threads=threads)
    reports = list(read_in_batches(reader, shuffled, size))
    assert [report.text for report in reports] == shuffled
    for report in reports:
        assert bits(report) == alone[report.text]


def test_the_same_bits_when_read_again_by_a_reader_that_has_forgotten(
    alone: dict[str, Bits],
) -> None:
    reader = BuiltinReader(threads=1)
    reader._cached._most = 3
    few = texts()[:8]
    for _ in range(2):
        assert [bits(report) for report in reader.read(few)] == [alone[text] for text in few]


def test_the_same_bits_beside_a_neighbour_of_many_windows(
    alone: dict[str, Bits],
) -> None:
    source = random.Random(12)
    neighbour = "\n".join(make_report(source, 40) for _ in range(40))
    assert len(neighbour) > 10_000
    few = texts()[::3]
    reports = BuiltinReader(threads=2).read([*few[:5], neighbour, *few[5:]])
    assert [bits(report) for report in reports if report.text != neighbour] == [
        alone[text] for text in few
    ]


def test_completing_gives_the_same_bits_one_by_one_and_all_at_once(
    alone: dict[str, Bits],
) -> None:
    reader = BuiltinReader(threads=2)
    few = reader.read(texts()[:20])
    together = [bits(report) for report in reader.complete(few)]
    assert together == [bits(reader.complete([report])[0]) for report in few]
    assert together == [alone[report.text] for report in few]
