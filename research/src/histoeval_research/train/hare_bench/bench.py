"""The models of the HARE paper: classifiers on any encoder, of words and of pairs of entities.

All tokens of a word are taught the tag of the word, and not only its first one: the readers that
load such a model average over the tokens of a word, and a token that was taught nothing would
have its say there too.

The relation model learns from all pairs that are related and from some of those that are not, and
is given the entities; only pairs whose types can be related are ever looked at, as the reader does.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from histoeval.errors import InputError, ModelError
from histoeval.reader.huggingface import RELATIONS_LEARNED, HuggingFaceReader
from histoeval.reader.reader import Reader
from histoeval.reader.tagging import mark, read_tags, relation_label, softmax
from histoeval.reader.windowed import Window, windows
from histoeval.report import HARE_RELATION_TYPES, RELATION_TYPES, Entity, EntityType, Report
from histoeval.runtime.transformer import Runtime, Task, Transformer
from histoeval_research.corpus import AnnotatedPassage
from histoeval_research.evaluate.corpus import HARE_NAMES
from histoeval_research.evaluate.matches import (
    Matches,
    Tally,
    exact_matches,
    merge,
    overlap_matches,
    rates,
    total,
)
from histoeval_research.train.cards import card
from histoeval_research.train.core.loop import (
    THIS_MACHINE,
    Checkpoint,
    TrainingSite,
    TrainingStage,
    fit,
)
from histoeval_research.train.core.model_folder import ModelFolder, request_of, versions, weights_of
from histoeval_research.train.hare_bench.config import (
    NerSettings,
    RelationSettings,
    Types,
    read_passages,
    shared_reports,
)

if TYPE_CHECKING:
    import torch

Passages = Sequence[AnnotatedPassage]

OVERLAP = 96  # tokens that neighbouring windows share, as in the reader

IGNORE_INDEX = -100  # the label of tokens that the loss ignores

_HEADS = {
    "token-classification": "AutoModelForTokenClassification",
    "sequence-classification": "AutoModelForSequenceClassification",
}


class ClassifierExample(NamedTuple):
    """The tokens of one window and its label, or one label for each token."""

    tokens: Sequence[int]
    label: int | Sequence[int]


class UntrainedClassifier(NamedTuple):
    """What a model is made of before it has learned anything."""

    encoder: str
    task: Task
    labels: Sequence[str]
    tokens: int
    seed: int
    markers: Sequence[str] = ()  # tokens that the encoder does not know yet
    relations: Sequence[str] = ()  # the relations that it learns, for whoever loads it

    def make(self, folder: Path, device: str | None) -> Transformer:
        """Write the encoder under a new head to a folder, and load it as every reader does."""
        # So whatever keeps a folder from being read is found before the training and not after it.
        import torch
        import transformers

        torch.manual_seed(self.seed)
        source = Transformer(self.encoder, "encoder", Runtime("cpu", "float32"))
        config, tokenizer = source.model.config, source.tokenizer
        if self.relations:
            setattr(config, RELATIONS_LEARNED, list(self.relations))
        config.id2label = dict(enumerate(self.labels))
        config.label2id = {label: number for number, label in enumerate(self.labels)}
        try:
            model = getattr(transformers, _HEADS[self.task]).from_config(config)
        except ValueError as error:
            raise ModelError(
                f"{self.encoder} cannot become a {self.task} model: Transformers knows none of "
                f"its kind, {config.model_type}"
            ) from error
        loaded = model.base_model.load_state_dict(source.model.state_dict(), strict=False)
        if absent := [name for name in loaded.missing_keys if "pooler" not in name]:
            raise ModelError(f"{self.encoder} has no weights for {', '.join(absent[:3])}")
        tokenizer.model_max_length = min(tokenizer.model_max_length, self.tokens)
        if self.markers:
            tokenizer.add_tokens(list(self.markers), special_tokens=True)
            model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
        save(model.float(), tokenizer, folder)
        return Transformer(folder, self.task, Runtime(device, "float32"))


def save(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write a model as Transformers writes it, without its progress bars."""
    from transformers.utils import logging

    is_shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    finally:
        if is_shown:
            logging.enable_progress_bar()


def train_ner(
    settings: NerSettings, output: Path, site: TrainingSite = THIS_MACHINE
) -> dict[str, Any]:
    """Train an entity model and write its folder; the results, at once if it is finished."""
    names = label_names(settings.types)
    tags = tags_of(names)

    def examples(passages: Passages, model: Transformer) -> list[ClassifierExample]:
        return [e for passage in passages for e in examples_of(passage, model, names, tags)]

    def judge(folder: Path, passages: Passages) -> tuple[int, dict[str, Any]]:
        """The number of passages, and the scores of the reader that loads the folder."""
        reader = HuggingFaceReader(folder, None, runtime=Runtime(site.device, "float32"))
        return len(passages), score_tagger(reader, passages, names)

    task: Task = "token-classification"
    beginning = UntrainedClassifier(settings.encoder, task, tags, settings.tokens, settings.seed)
    return _train("ner", "entities", beginning, examples, judge, settings, output, site)


def train_relations(
    settings: RelationSettings, output: Path, site: TrainingSite = THIS_MACHINE
) -> dict[str, Any]:
    """Train a relation model and write its folder; the results, at once if it is finished."""
    kinds = RELATION_TYPES if settings.types == "all" else HARE_RELATION_TYPES

    def examples(passages: Passages, model: Transformer) -> list[ClassifierExample]:
        """Related pairs and sampled others, as far as a window shows them."""
        pairs = [pair for pair in pairs_of(passages, model, kinds) if pair.tokens]
        if not any(pair.related for pair in pairs):
            raise InputError(f"{settings.train} has no relations of the types to be learned")
        chosen = sample(pairs, settings.negatives, f"{settings.seed}/train")
        return [ClassifierExample(pairs[i].tokens, int(pairs[i].related)) for i in chosen]

    def judge(folder: Path, passages: Passages) -> tuple[int, dict[str, Any]]:
        """The size of a sample of pairs, and the scores on all pairs and on those."""
        model = Transformer(folder, "sequence-classification", Runtime(site.device, "float32"))
        pairs = list(pairs_of(passages, model, kinds))
        tested = sample(pairs, settings.test_negatives, f"{settings.seed}/dev")
        return len(tested), score_relations(model, pairs, tested)

    beginning = UntrainedClassifier(
        settings.encoder,
        "sequence-classification",
        LABELS,
        settings.tokens,
        settings.seed,
        MARKERS,
        sorted("-".join(kind) for kind in kinds),
    )
    return _train("relations", "relations", beginning, examples, judge, settings, output, site)


def _train(
    task: str,
    learned: str,
    beginning: UntrainedClassifier,
    examples_in: Callable[[Passages, Transformer], list[ClassifierExample]],
    judge: Callable[[Path, Passages], tuple[int, dict[str, Any]]],
    settings: NerSettings | RelationSettings,
    output: Path,
    site: TrainingSite,
) -> dict[str, Any]:
    folder = ModelFolder(output)
    files = {"train": settings.train, "dev": settings.dev}
    request = request_of(task, settings, files, dict.fromkeys(files, True))
    if not site.overwrite and (finished := folder.finished(request)) is not None:
        return finished
    train, dev = (read_passages(path, settings.labels) for path in files.values())

    def make(draft: Path, checkpoint: Checkpoint) -> dict[str, Any]:
        model = beginning.make(draft, site.device)
        examples = examples_in(train, model)
        with site.watching(f"training {learned}") as watch:
            fit(
                model.model,
                len(examples),
                loss_of(model, examples),
                settings,
                seed=settings.seed,
                encoder=f"{model.model.base_model_prefix}.",
                stage=TrainingStage(checkpoint, watch),
            )
        save(model.model, model.tokenizer, draft)
        samples, scores = judge(draft, dev)
        return {
            "parameters": model.model.num_parameters(),
            "samples": {"train": len(examples), "dev": samples},
            "shared_reports": shared_reports(train, dev),
            "scores": scores,
            "weights": weights_of(draft),
            "versions": versions(),
        }

    return folder.fill(request, make, partial(card, "hare_bench"), overwrite=site.overwrite)


def loss_of(
    transformer: Transformer, examples: Sequence[ClassifierExample]
) -> Callable[[Sequence[int]], torch.Tensor]:
    """The mean cross-entropy of some of these examples, padded to the longest of them."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    padding = transformer.tokenizer.pad_token_id or 0

    def padded(rows: Iterable[Sequence[int]], fill: int) -> torch.Tensor:
        tensors = [torch.tensor(row) for row in rows]
        return pad_sequence(tensors, True, fill).to(transformer.device)

    def loss(positions: Sequence[int]) -> torch.Tensor:
        tokens, labels = zip(*(examples[i] for i in positions), strict=True)
        is_of_windows = isinstance(labels[0], int)
        output = transformer.model(
            input_ids=padded(tokens, padding),
            attention_mask=padded(([1] * len(row) for row in tokens), 0),
            labels=torch.tensor(labels).to(transformer.device)
            if is_of_windows
            else padded(labels, IGNORE_INDEX),
        )
        return output.loss

    return loss


def windows_of(text: str, model: Transformer, room: int = 0) -> list[Window]:
    most = model.most_tokens - model.tokenizer.num_special_tokens_to_add() - room

    def measure(fragment: str) -> int:
        return len(model.tokenizer.encode(fragment, add_special_tokens=False, verbose=False))

    return windows(text, measure, most, min(OVERLAP, most // 4))


def scores_of(matches: Matches) -> dict[str, float]:
    precision, recall, f1 = map(float, rates(np.array(matches.counts, dtype=float)))
    counts = {"gold": matches.one, "found": matches.other}
    return {"precision": precision, "recall": recall, "f1": f1, **counts}


# --- entities ---------------------------------------------------------------------------------


def label_names(types: Types) -> dict[EntityType, str]:
    if types == "all":
        return {kind: str(kind) for kind in EntityType}
    named = {kind: name.replace(" ", "_") for name, kinds in HARE_NAMES.items() for kind in kinds}
    return {kind: named[kind] for kind in EntityType if kind in named}


def tags_of(names: Mapping[EntityType, str]) -> list[str]:
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
    """The tag of each word that the window owns, by the tokenizer's number of the word."""
    # A word that is partly an entity is of the one that holds most of it.
    tags: dict[int, str] = {}
    last: Entity | None = None
    for word, group in groupby(range(len(encoding.ids)), key=lambda i: encoding.word_ids[i]):
        if word is None:
            continue
        tokens = list(group)
        start = window.start + encoding.offsets[tokens[0]][0]
        end = window.start + encoding.offsets[tokens[-1]][1]
        held = [
            (min(end, entity.end) - max(start, entity.start), -entity.start, entity.end, entity)
            for entity in report.entities
            if entity.type in names and entity.start < end and start < entity.end
        ]
        entity = max(held, key=lambda found: found[:3])[3] if held else None
        if window.own_start <= start < window.own_end:
            begins = entity is not None and entity != last and entity.start >= window.start
            tags[word] = "O" if entity is None else f"{'BI'[not begins]}-{names[entity.type]}"
        last = entity
    return tags


def score_tagger(
    reader: Reader, passages: Sequence[AnnotatedPassage], names: Mapping[EntityType, str]
) -> dict[str, Any]:
    """Precision, recall and F1 of what a reader finds, exact and overlapping."""
    # Entities are compared in the types that a reader can give back: the paper has no grade of its
    # own.
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


# --- relations --------------------------------------------------------------------------------

Kind = tuple[EntityType, EntityType]

# As positions: 0 for a pair that is not related, 1 for one that is.
LABELS = ("no_relation", "relation")

MARKERS = ("[E1]", "[/E1]", "[E2]", "[/E2]")
WORDS_CUT = 16  # tokens that words may become more when a marker cuts them in two


class EntityPair(NamedTuple):
    """Two entities of types that can be related, and whether they are."""

    # The tokens are those of the marked window; there are none where no window shows both.

    kind: Kind
    related: bool
    tokens: tuple[int, ...]


def pairs_of(
    passages: Sequence[AnnotatedPassage], model: Transformer, kinds: Collection[Kind]
) -> Iterator[EntityPair]:
    for passage in passages:
        entities = passage.content.entities
        linked = {(relation.head, relation.tail) for relation in passage.content.relations}
        cut = windows_of(passage.text, model, len(MARKERS) + WORDS_CUT)
        for h, t in product(range(len(entities)), repeat=2):
            kind = entities[h].type, entities[t].type
            if kind in kinds:
                tokens = _marked_tokens(passage.text, entities[h], entities[t], cut, model)
                yield EntityPair(kind, (h, t) in linked, tokens)


def _marked_tokens(
    text: str, head: Entity, tail: Entity, cut: Sequence[Window], model: Transformer
) -> tuple[int, ...]:
    """The marked window that the reader would choose: the one that owns the head, if it can be."""
    first, last = min(head.start, tail.start), max(head.end, tail.end)
    showing = [window for window in cut if window.start <= first and last <= window.end]
    owning = [window for window in showing if window.own_start <= head.start < window.own_end]
    for window in [*owning, *showing][:1]:
        spans = [(e.start - window.start, e.end - window.start) for e in (head, tail)]
        marked = mark(text[window.start : window.end], *spans)
        tokens = model.tokenizer.encode(marked, verbose=False)
        if len(tokens) <= model.most_tokens:
            return tuple(tokens)
    return ()


def sample(pairs: Sequence[EntityPair], negatives: float, seed: str) -> list[int]:
    """Positions of all related pairs, and of so many others for each, or of all there are."""
    related = [place for place, pair in enumerate(pairs) if pair.related]
    others = [place for place, pair in enumerate(pairs) if not pair.related]
    wanted = min(len(others), round(negatives * len(related)))
    return sorted(related + random.Random(seed).sample(others, wanted))


def score_relations(
    model: Transformer, pairs: Sequence[EntityPair], tested: Sequence[int]
) -> dict[str, Any]:
    """Precision, recall and F1 of a model on all pairs, by type, and on those that are tested."""
    # A pair that no window shows is not related, to the reader. `sampled_micro` is the paper's
    # number: over both labels, which is the share that is right.
    related = relation_label([model.model.config.id2label[n] for n in range(len(LABELS))])
    shown = [pair.tokens for pair in pairs if pair.tokens]
    logits = iter(model.forward(shown, lambda output: output.logits))
    answers = [(pair, bool(pair.tokens and softmax(next(logits))[related] > 0.5)) for pair in pairs]

    def scored(some: Sequence[tuple[EntityPair, bool]]) -> dict[str, float]:
        both = sum(pair.related and answer for pair, answer in some)
        one, other = sum(pair.related for pair, _ in some), sum(answer for _, answer in some)
        return scores_of(Matches(one, other, both, both))

    some = [answers[place] for place in tested]
    kinds = sorted({pair.kind for pair in pairs})
    return {
        "sampled": scored(some),
        "sampled_micro": sum(pair.related == answer for pair, answer in some) / max(1, len(some)),
        "all": scored(answers),
        "types": {"-".join(k): scored([a for a in answers if a[0].kind == k]) for k in kinds},
    }
