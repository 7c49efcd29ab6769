"""`histoeval train aligner`: entity embeddings by the recipe of SapBERT, from open ontologies."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from histoeval.align.builtin import BuiltinAligner, shortened
from histoeval.align.opposites.vector import channel
from histoeval.align.opposites.vector import identity as channel_identity
from histoeval_research.evaluate.aligner import evaluate_aligner, read_opposites
from histoeval_research.train.aligner.config import AlignerSettings
from histoeval_research.train.aligner.embedder import (
    Embedder,
    learn,
    shape_encoder,
    write_aligner,
)
from histoeval_research.train.aligner.names import listed, make_pool, names_sha256
from histoeval_research.train.aligner.sampling import NameSampler, phrases_of
from histoeval_research.train.cards import card
from histoeval_research.train.core.encoder import cut_vocabulary, load_encoder
from histoeval_research.train.core.loop import (
    THIS_MACHINE,
    Checkpoint,
    TrainingSite,
    TrainingStage,
)
from histoeval_research.train.core.model_folder import (
    ModelFolder,
    by_name,
    request_of,
    versions,
    weights_of,
)
from histoeval_research.train.hare_bench.bench import save


@dataclass(frozen=True, slots=True)
class UntrainedAligner:
    """An embedder that has learned nothing yet, its tokenizer, and what it is to learn."""

    embedder: Embedder
    tokenizer: Any
    for_transformers: Any
    """The same tokenizer, as Transformers knows it."""
    phrases: NameSampler
    concepts: int


def train_aligner(
    settings: AlignerSettings, output: Path, site: TrainingSite = THIS_MACHINE
) -> dict[str, Any]:
    """Train an aligner and write its folder; the results, at once if it is there already."""
    request = aligner_request(settings)
    tokens = settings.shape.tokens

    def make(draft: Path, checkpoint: Checkpoint) -> dict[str, Any]:
        begun = begin(settings, site)
        with site.watching("training the aligner") as watch:
            stage = TrainingStage(checkpoint, watch)
            learning, seed = settings.learning, settings.seed
            learn(begun.embedder, begun.phrases, learning, tokens=tokens, seed=seed, stage=stage)
        site.tell("writing and measuring the model")
        save(begun.embedder.encoder, begun.for_transformers, draft)
        made_with = versions()
        write_aligner(
            begun.embedder,
            begun.tokenizer,
            draft,
            name=settings.name,
            tokens=tokens,
            details={"request": request, "versions": made_with},
            channel=settings.written_channel,
        )
        aligner = BuiltinAligner(draft)
        evaluation = evaluate_aligner(
            aligner,
            settings.ontologies[0].read(),
            read_opposites(settings.opposites) if settings.opposites else (),
            held_out=settings.naming.held_out,
            known=listed(),
        )
        return {
            "parameters": sum(weights.numel() for weights in begun.embedder.parameters()),
            "channel": settings.written_channel,
            "size": {"encoder": aligner.manifest.size, "whole": aligner.size},
            "samples": {"concepts": begun.concepts, "names": len(begun.phrases.tokens.lengths)},
            "scores": evaluation.model_dump(mode="json"),
            "weights": weights_of(draft),
            "versions": made_with,
        }

    return ModelFolder(output).fill(
        request, make, partial(card, "aligner"), overwrite=site.overwrite
    )


def aligner_request(settings: AlignerSettings) -> dict[str, Any]:
    """What makes two trainings the same."""
    return request_of(
        "aligner",
        settings,
        by_name([*(ontology.file for ontology in settings.ontologies), settings.opposites]),
        {"ontologies": {"__all__": {"file"}}, "opposites": True},
        lists=names_sha256(),
        channel=channel_identity() if settings.written_channel else None,
    )


def begin(settings: AlignerSettings, site: TrainingSite = THIS_MACHINE) -> UntrainedAligner:
    """Read all names, and make the embedder that will learn them."""
    from transformers import PreTrainedTokenizerFast

    most = settings.shape.tokens
    pool = make_pool(settings.ontologies, settings.naming, site.tell)
    encoder = load_encoder(settings.encoder, most, site.device)
    names = (name for concept in pool.concepts for name in concept.names)
    tokenizer = cut_vocabulary(encoder, names, settings.least_pieces)
    if settings.least_pieces is not None:
        site.tell(f"{tokenizer.get_vocab_size():,} word pieces kept")
    shape_encoder(encoder.model, settings.shape)
    piece = encoder.tokenizer.pad_token
    padding = int(tokenizer.token_to_id(piece)) if piece is not None else 0
    embedder = Embedder(encoder.model, settings.shape.pooling, padding)
    beside = channel if settings.learning.channel else None
    phrases = phrases_of(pool, encoded_by(tokenizer, most), settings.longest, beside)
    special = encoder.tokenizer.special_tokens_map
    return UntrainedAligner(
        embedder.to(encoder.device),
        tokenizer,
        PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=most, **special),
        phrases,
        len(pool.concepts),
    )


def encoded_by(tokenizer: Any, most: int) -> Callable[[Sequence[str]], list[list[int]]]:
    """The tokens of names as `BuiltinAligner` will cut them."""

    def encode(names: Sequence[str]) -> list[list[int]]:
        return [shortened(found.ids, most) for found in tokenizer.encode_batch(list(names))]

    return encode
