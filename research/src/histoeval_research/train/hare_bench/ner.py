"""`histoeval train ner`: the paper's entity model, a token classifier on any encoder.

All tokens of a word are taught the tag of the word, and not only its first one: the readers that
load such a model average over the tokens of a word, and a token that was taught nothing would
have its say there too.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from histoeval.reader.huggingface import HuggingFaceReader
from histoeval.reader.reader import Reader
from histoeval.reader.tagging import read_tags
from histoeval.reader.windowed import Window
from histoeval.report import Entity, EntityType, Report
from histoeval.runtime.transformer import Runtime, Transformer
from histoeval_research.corpus import AnnotatedPassage
from histoeval_research.evaluate.corpus import HARE_NAMES
from histoeval_research.evaluate.matches import Tally, exact_matches, merge, overlap_matches, total
from histoeval_research.train.core.loop import THIS_MACHINE, TrainingSite
from histoeval_research.train.hare_bench.bench import (
    IGNORE_INDEX,
    ClassifierExample,
    UntrainedClassifier,
    scores_of,
    teach,
    windows_of,
)
from histoeval_research.train.hare_bench.config import NerSettings, Types


class EntityLesson:
    """What an entity model is taught, and how it is judged."""

    task = "ner"
    learned = "entities"

    def __init__(self, settings: NerSettings) -> None:
        self.names = label_names(settings.types)
        self.beginning = UntrainedClassifier(
            settings.encoder,
            "token-classification",
            tags_of(self.names),
            settings.tokens,
            settings.seed,
        )

    def examples(
        self, passages: Sequence[AnnotatedPassage], model: Transformer
    ) -> list[ClassifierExample]:
        tags = self.beginning.labels
        return [e for passage in passages for e in examples_of(passage, model, self.names, tags)]

    def judge(
        self, folder: Path, passages: Sequence[AnnotatedPassage], device: str | None
    ) -> tuple[int, dict[str, Any]]:
        reader = HuggingFaceReader(folder, None, runtime=Runtime(device, "float32"))
        return len(passages), evaluate(reader, passages, self.names)


def train_ner(
    settings: NerSettings, output: Path, site: TrainingSite = THIS_MACHINE
) -> dict[str, Any]:
    """Train an entity model and write its folder; the results, at once if it is finished."""
    return teach(EntityLesson(settings), settings, output, site)


def label_names(types: Types) -> dict[EntityType, str]:
    """The label of each type that is learned: ours, or the paper's five."""
    if types == "all":
        return {kind: str(kind) for kind in EntityType}
    named = {kind: name.replace(" ", "_") for name, kinds in HARE_NAMES.items() for kind in kinds}
    return {kind: named[kind] for kind in EntityType if kind in named}


def tags_of(names: Mapping[EntityType, str]) -> list[str]:
    """The labels of the classifier, in the IOB2 scheme."""
    return ["O"] + [f"{place}-{name}" for name in dict.fromkeys(names.values()) for place in "BI"]


def examples_of(
    passage: AnnotatedPassage,
    model: Transformer,
    names: Mapping[EntityType, str],
    tags: Sequence[str],
) -> Iterator[ClassifierExample]:
    """The windows of a passage; a word is learned in the one that owns it, and nowhere else."""
    numbers = {tag: number for number, tag in enumerate(tags)}
    for window in windows_of(passage.text, model):
        encoding = model.tokenizer(passage.text[window.start : window.end])[0]
        word_tags = _word_tags(passage.content, encoding, window, names)
        labels = [
            numbers[word_tags[word]] if word in word_tags else IGNORE_INDEX
            for word in encoding.word_ids
        ]
        if any(label != IGNORE_INDEX for label in labels):
            yield ClassifierExample(encoding.ids, labels)


def _word_tags(
    report: Report, encoding: Any, window: Window, names: Mapping[EntityType, str]
) -> dict[int, str]:
    """The tag of each word that the window owns, by the tokenizer's number of the word.

    A word that is partly an entity is of the one that holds most of it.
    """
    tags: dict[int, str] = {}
    last: Entity | None = None
    for word, group in groupby(range(len(encoding.ids)), key=lambda i: encoding.word_ids[i]):
        if word is None:
            continue
        tokens = list(group)
        start = window.start + encoding.offsets[tokens[0]][0]
        end = window.start + encoding.offsets[tokens[-1]][1]
        entity = max(
            (
                entity
                for entity in report.entities
                if entity.type in names and entity.start < end and start < entity.end
            ),
            key=lambda e: (min(end, e.end) - max(start, e.start), -e.start, e.end),
            default=None,
        )
        if window.own_start <= start < window.own_end:
            begins = entity is not None and entity != last and entity.start >= window.start
            tags[word] = "O" if entity is None else f"{'BI'[not begins]}-{names[entity.type]}"
        last = entity
    return tags


def evaluate(
    reader: Reader, passages: Sequence[AnnotatedPassage], names: Mapping[EntityType, str]
) -> dict[str, Any]:
    """Precision, recall and F1 of what a reader finds, exact and overlapping.

    Entities are compared in the types that a reader can give back: the paper has no grade of its
    own.
    """
    learned = {kind: read_tags([f"B-{name}"])[0].type for kind, name in names.items()}
    exact: Tally = {}
    overlapping: Tally = {}
    reports = reader.read([passage.text for passage in passages])
    for passage, report in zip(passages, reports, strict=True):
        entities = [
            entity.model_copy(update={"type": learned[entity.type]})
            for entity in passage.content.entities
            if entity.type in names
        ]
        gold = Report(text=passage.text, entities=tuple(entities))
        exact = merge(exact, exact_matches(gold, report))
        overlapping = merge(overlapping, overlap_matches(gold, report))
    return {
        "entities": scores_of(total(exact)),
        "overlapping": scores_of(total(overlapping)),
        "types": {kind: scores_of(m) for kind, m in exact.items() if m.one or m.other},
    }
