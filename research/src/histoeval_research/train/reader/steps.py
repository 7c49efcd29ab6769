"""What is done in each step of a reader's training. Their outcomes lie in the folders of steps."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch

from histoeval.errors import InputError, ModelError
from histoeval.progress import ignore
from histoeval.reader.windowed import Window, windows
from histoeval.report import Relation, Report
from histoeval_research.corpus import AnnotatedPassage
from histoeval_research.train.core.encoder import (
    TorchEncoder,
    load_encoder,
    load_reader,
    new_reader,
    save_reader,
    save_teacher,
)
from histoeval_research.train.core.loop import Schedule, TrainingStage, Watch, fit
from histoeval_research.train.core.model_folder import TrainingStep
from histoeval_research.train.hare_bench.bench import save
from histoeval_research.train.reader.examples import ReaderBatch, ReaderExample, annotated, collate
from histoeval_research.train.reader.language_adaptation import (
    Adaptation,
    GapFiller,
    gap_loss,
    stretches,
)
from histoeval_research.train.reader.model import JointReader, loss_of
from histoeval_research.train.reader.plan import TrainingPlan, Who
from histoeval_research.train.reader.soft_labels import load_examples

OVERLAP = 64
"""Tokens that the windows of a long annotated passage share."""

_SEED = 0
"""Of language adaptation, which is done once for all students and teachers."""


def adapt(course: TrainingPlan, who: Who, watch: Watch = ignore) -> dict[str, Any]:
    """Have an encoder read the unlabelled texts; how many there were."""
    recipe = course.settings.adapt if who == "student" else course.settings.adapt_teacher
    name = course.settings.encoder if who == "student" else course.settings.teacher
    assert recipe is not None, "only what is adapted has this step"

    def act(step: TrainingStep) -> dict[str, Any]:
        """Fill gaps in unlabelled text, and keep the encoder."""
        encoder = load_encoder(str(name), recipe.length, course.device)
        pieces = _pieces(encoder, course.pool.to_adapt(), recipe)
        special = torch.tensor(encoder.tokenizer.all_special_ids, device=encoder.device)
        torch.manual_seed(_SEED)
        model = GapFiller(encoder.model).to(encoder.device)
        mask = encoder.tokenizer.mask_token_id

        def loss(places: Sequence[int]) -> torch.Tensor:
            """How badly hidden pieces are guessed."""
            some = pieces[torch.tensor(places, device=encoder.device)]
            return gap_loss(model, some, recipe.hidden, mask, special)

        stage = TrainingStage(step.checkpoint, watch)
        fit(model, len(pieces), loss, recipe, seed=_SEED, encoder="encoder.", stage=stage)
        save(model.encoder, encoder.tokenizer, step.folder / "encoder")
        return course.pool.facts | {f"{who}_stretches": len(pieces)}

    return course.adapted(who).run(act)


def teach(course: TrainingPlan, seed: int, watch: Watch = ignore) -> None:
    """Train one teacher on the annotated passages."""
    schedule = course.settings.teach
    assert schedule is not None, "there are teachers only where they are taught"
    course.teacher(seed).run(
        lambda step: _learn(course, step, "teacher", schedule, seed, watch, save=save_teacher)
    )


def distil(course: TrainingPlan, watch: Watch = ignore) -> None:
    """Train the student on what the teachers see in the windows."""
    schedule, seed = course.settings.distil, course.settings.seed
    assert schedule is not None, "only what is distilled has this step"

    def act(step: TrainingStep) -> dict[str, Any]:
        """Learn from the parts of the labelled windows."""
        files = sorted(course.labelled.folder.glob("part-*.npz"))
        examples = [example for file in files for example in load_examples(file)]
        return _learn(course, step, "student", schedule, seed, watch, examples=examples)

    course.distilled.run(act)


def fit_gold(course: TrainingPlan, watch: Watch = ignore) -> None:
    """Train the student, as it is so far, on the annotated passages."""
    schedule, seed = course.settings.fit, course.settings.seed
    assert schedule is not None, "only what is fitted has this step"
    source = None if course.settings.distil is None else course.distilled
    course.fitted.run(
        lambda step: _learn(course, step, "student", schedule, seed, watch, source=source)
    )


def _learn(
    course: TrainingPlan,
    step: TrainingStep,
    who: Who,
    schedule: Schedule,
    seed: int,
    watch: Watch,
    *,
    examples: Sequence[ReaderExample] | None = None,
    source: TrainingStep | None = None,
    save: Callable[[JointReader, Path], None] = save_reader,
) -> dict[str, Any]:
    """Train a new reader, or that of an earlier step, on annotated passages or given examples."""
    settings = course.settings
    encoder = load_encoder(course.encoder(who), settings.windows.tokens, course.device)
    if source is None:
        model = new_reader(encoder, settings.shape, seed)
    else:
        model = load_reader(encoder, settings.shape, source.folder)
    given = gold_examples(course.train, encoder) if examples is None else examples

    def prepare(places: Sequence[int]) -> ReaderBatch:
        """A batch on the device, made while another is learned."""
        return collate([given[i] for i in places], encoder.padding, encoder.device)

    fit(
        model,
        len(given),
        lambda batch: loss_of(model, batch, settings.weights),
        schedule,
        seed=seed,
        prepare=prepare,
        encoder="encoder.",
        stage=TrainingStage(step.checkpoint, watch),
    )
    save(model, step.folder)
    return {"examples": len(given)}


def gold_examples(
    passages: Sequence[AnnotatedPassage], encoder: TorchEncoder
) -> list[ReaderExample]:
    """What there is to learn in annotated passages; long ones come in windows."""
    limit = encoder.most_tokens - encoder.fast.num_special_tokens_to_add(False)
    examples = []
    for passage in passages:

        @cache
        def measure(fragment: str) -> int:
            """Tokens of a fragment, without those at its ends."""
            return len(encoder.fast.encode(fragment, add_special_tokens=False).ids)

        for window in windows(passage.text, measure, limit, min(OVERLAP, limit // 4)):
            part = part_of(passage.content, window)
            examples.append(annotated(part, encoder.fast.encode(part.text)))
    if not examples:
        raise InputError("the annotated passages have no text to learn from")
    return examples


def part_of(report: Report, window: Window) -> Report:
    """What a window shows of a report: whole entities, and relations between them."""
    inside = [
        place
        for place, entity in enumerate(report.entities)
        if window.start <= entity.start and entity.end <= window.end
    ]
    new = {old: place for place, old in enumerate(inside)}
    moved = [
        report.entities[place].model_copy(
            update={
                "start": report.entities[place].start - window.start,
                "end": report.entities[place].end - window.start,
            }
        )
        for place in inside
    ]
    return Report(
        text=window.of(report.text),
        entities=tuple(moved),
        relations=tuple(
            Relation(head=new[relation.head], tail=new[relation.tail])
            for relation in report.relations
            if relation.head in new and relation.tail in new
        ),
    )


def _pieces(encoder: TorchEncoder, texts: Sequence[str], recipe: Adaptation) -> torch.Tensor:
    """All texts in stretches of equal length, on the device."""
    tokenizer = encoder.tokenizer
    if None in (tokenizer.mask_token_id, tokenizer.cls_token_id, tokenizer.sep_token_id):
        raise ModelError(
            f"{encoder.name} cannot be adapted: its tokenizer has no token for hidden words, or "
            "none that opens and closes a text"
        )
    encodings = encoder.fast.encode_batch(list(texts), add_special_tokens=False)
    pieces = stretches(
        [encoding.ids for encoding in encodings],
        recipe.length,
        tokenizer.cls_token_id,
        tokenizer.sep_token_id,
    )
    if not len(pieces):
        raise InputError(
            f"the unlabelled texts do not fill one stretch of {recipe.length} tokens to adapt on"
        )
    return torch.from_numpy(pieces).to(encoder.device)
