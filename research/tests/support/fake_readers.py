"""Readers that answer from a list, for tests of what measures readers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from histoeval.report import Report
from histoeval_research.corpus import AnnotatedPassage


class ListedReader:
    """Knows the answer to each text; to a text it does not know, nothing."""

    identity = "listed@1"

    def __init__(self, answers: Iterable[Report], *, reads_relations: bool = True) -> None:
        self.answers = {report.text: report for report in answers}
        self.reads_relations = reads_relations
        self.calls: list[int] = []

    def read(self, texts: Sequence[str]) -> list[Report]:
        self.calls.append(len(texts))
        return [self.answers.get(text, Report(text=text)) for text in texts]


class ListedCompleter(ListedReader):
    """Also knows what to say of given entities."""

    def __init__(self, answers: Iterable[Report], completed: Iterable[Report]) -> None:
        super().__init__(answers)
        self.completed = {report.text: report for report in completed}
        self.given: list[Report] = []

    def complete(self, reports: Sequence[Report]) -> list[Report]:
        self.given += reports
        return [self.completed[report.text] for report in reports]


def perfect(passages: Iterable[AnnotatedPassage]) -> ListedCompleter:
    """A reader that reads as people did."""
    contents = [passage.content for passage in passages]
    return ListedCompleter(contents, contents)
