"""`histoeval train aligner`: entity embeddings by the recipe of SapBERT, from open ontologies."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from histoeval.align.opposites.vector import channel
from histoeval.align.opposites.vector import identity as channel_identity
from histoeval.io.settings_files import FilePath, ModelName
from histoeval.report import Noun
from histoeval_research.train.aligner.embedder import (
    AlignerTraining,
    Embedder,
    EmbedderShape,
    learn,
    shape_encoder,
)
from histoeval_research.train.aligner.names import (
    NameSettings,
    Ontology,
    listed,
    make_pool,
    names_sha256,
)
from histoeval_research.train.aligner.sampling import NameSampler, phrases_of
from histoeval_research.train.cards import card
from histoeval_research.train.core.encoder import (
    TorchEncoder,
    cut_vocabulary,
    load_encoder,
)
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


class AlignerSettings(Noun):
    """The YAML file of `histoeval train aligner`."""

    ontologies: Annotated[tuple[Ontology, ...], Field(min_length=1)]
    """What names are learned from; the first is also tested on."""
    encoder: ModelName
    opposites: FilePath | None = None
    """Rows of opposites to test on, which are never learned from."""
    naming: NameSettings = NameSettings()
    shape: EmbedderShape = EmbedderShape()
    learning: AlignerTraining = AlignerTraining()
    least_pieces: Annotated[int, Field(ge=1)] | None = None
    """Word pieces that stand in fewer names are cut from the vocabulary; none when omitted."""
    longest: Annotated[int, Field(ge=1)] | None = None
    """Names of more tokens are learned only where a concept has no other; all when omitted."""
    channel: Annotated[float, Field(ge=0)] | None = None
    """Weight of the channel in the aligner that is written; that of learning when omitted."""
    seed: int = 1
    name: str = "aligner"
    """What the aligner is called in signatures."""
    output: FilePath | None = None
    notes: str = ""

    @property
    def written_channel(self) -> float:
        """The weight of the channel in the aligner that is written."""
        return self.learning.channel if self.channel is None else self.channel


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
    settings: AlignerSettings,
    output: Path,
    site: TrainingSite = THIS_MACHINE,
) -> dict[str, Any]:
    """Train an aligner and write its folder; the results, at once if it is there already."""
    request = aligner_request(settings)

    def make(draft: Path, checkpoint: Checkpoint) -> dict[str, Any]:
        begun = begin(settings, site)
        with site.watching("training the aligner") as watch:
            learn(
                begun.embedder,
                begun.phrases,
                settings.learning,
                tokens=settings.shape.tokens,
                seed=settings.seed,
                stage=TrainingStage(checkpoint, watch),
            )
        site.tell("writing and measuring the model")
        return _write(begun, settings, request, draft)

    return ModelFolder(output).fill(
        request, make, partial(card, "aligner"), overwrite=site.overwrite
    )


def aligner_request(settings: AlignerSettings) -> dict[str, Any]:
    """What makes two trainings the same."""
    return request_of(
        "aligner",
        settings,
        by_name([*(ontology.file for ontology in settings.ontologies), settings.opposites]),
        exclude={"ontologies": {"__all__": {"file"}}, "opposites": True},
        lists=names_sha256(),
        channel=channel_identity() if settings.written_channel else None,
    )


def begin(settings: AlignerSettings, site: TrainingSite = THIS_MACHINE) -> UntrainedAligner:
    """Read all names, and make the embedder that will learn them."""
    pool = make_pool(settings.ontologies, settings.naming, site.tell)
    encoder = load_encoder(settings.encoder, settings.shape.tokens, site.device)
    names = (name for concept in pool.concepts for name in concept.names)
    tokenizer = cut_vocabulary(encoder, names, settings.least_pieces)
    if settings.least_pieces is not None:
        site.tell(f"{tokenizer.get_vocab_size():,} word pieces kept")
    shape_encoder(encoder.model, settings.shape)
    embedder = Embedder(encoder.model, settings.shape.pooling, _padding(tokenizer, encoder))
    phrases = phrases_of(
        pool,
        encoded_by(tokenizer, settings.shape.tokens),
        settings.longest,
        channel if settings.learning.channel else None,
    )
    for_transformers = _for_transformers(tokenizer, encoder, settings.shape.tokens)
    return UntrainedAligner(
        embedder.to(encoder.device), tokenizer, for_transformers, phrases, len(pool.concepts)
    )


def encoded_by(tokenizer: Any, most: int) -> Callable[[Sequence[str]], list[list[int]]]:
    """The tokens of names as `BuiltinAligner` will cut them."""
    from histoeval.align.builtin import shortened

    def encode(names: Sequence[str]) -> list[list[int]]:
        return [shortened(found.ids, most) for found in tokenizer.encode_batch(list(names))]

    return encode


def _for_transformers(tokenizer: Any, encoder: TorchEncoder, most: int) -> Any:
    from transformers import PreTrainedTokenizerFast

    special = encoder.tokenizer.special_tokens_map
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=most, **special)


def _padding(tokenizer: Any, encoder: TorchEncoder) -> int:
    """What stands where a phrase has ended, as the tokenizer that is used numbers it."""
    piece = encoder.tokenizer.pad_token
    return int(tokenizer.token_to_id(piece)) if piece is not None else 0


def _write(
    begun: UntrainedAligner, settings: AlignerSettings, request: dict[str, Any], folder: Path
) -> dict[str, Any]:
    """Write the aligner for Transformers and for `BuiltinAligner`, and measure the latter."""
    from histoeval.align.builtin import BuiltinAligner
    from histoeval_research.evaluate.aligner import evaluate_aligner, read_opposites
    from histoeval_research.train.aligner.embedder import write_aligner

    save(begun.embedder.encoder, begun.for_transformers, folder)
    made_with = versions()
    details = {"request": request, "versions": made_with}
    write_aligner(
        begun.embedder,
        begun.tokenizer,
        folder,
        name=settings.name,
        tokens=settings.shape.tokens,
        details=details,
        channel=settings.written_channel,
    )
    aligner = BuiltinAligner(folder)
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
        "weights": weights_of(folder),
        "versions": made_with,
    }
