"""`histoeval train grounding`: an image tower and a text tower in one space, from tiles."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import torch
from pydantic import Field

from histoeval.align.builtin import BuiltinAligner
from histoeval.evaluate.tile_labels import (
    HE,
    INDEX,
    LabelledTile,
    all_entries,
    entries_of,
    read_pixels,
    read_tiles,
    targets_of,
)
from histoeval.io.settings_files import FilePath, ModelName
from histoeval.report import Noun
from histoeval.resources import resource_bytes
from histoeval_research.train.aligner.config import EmbedderShape, Ontology
from histoeval_research.train.aligner.embedder import Embedder, shape_encoder
from histoeval_research.train.aligner.train import encoded_by
from histoeval_research.train.cards import card
from histoeval_research.train.core.encoder import cut_vocabulary, load_encoder
from histoeval_research.train.core.loop import (
    THIS_MACHINE,
    Checkpoint,
    TrainingSite,
    TrainingStage,
    Watch,
)
from histoeval_research.train.core.model_folder import (
    ModelFolder,
    by_name,
    lists_sha256,
    request_of,
    versions,
    weights_of,
)
from histoeval_research.train.grounding.export import (
    FoldPredictions,
    case_folds,
    cross_validate,
    laboratory_folds,
)
from histoeval_research.train.grounding.loop import (
    LoopSettings,
    SelfSupervision,
    TileDataset,
    continue_trunk,
    learn,
    normalised,
    steps_of,
)
from histoeval_research.train.grounding.model import (
    ContrastiveModel,
    DensityReference,
    Distillation,
    ImageTowerModel,
    PhraseTower,
    StainMatch,
    density_of,
    distil,
    measured_density,
    trunk_from_onnx,
)

_LEARNED = ("train", "val")
_PIXELS_ONLY = "unlabelled"
_AT_ONCE = 256
_LISTS = (
    "tile_concepts.tsv",
    "tile_corrections.tsv",
    "tile_laboratories.tsv",
    "tile_kinds.tsv",
    "tile_organs.tsv",
)


class GroundingSettings(Noun):
    """The YAML file of `histoeval train grounding`."""

    tiles: FilePath
    """A folder with `index.jsonl` and tar files of tiles; the splits train and val are learned."""
    trunk: FilePath
    """The ONNX file of a DINOv2-S trunk."""
    encoder: ModelName
    """What the text tower begins as."""
    teacher: FilePath | None = None
    """The folder of the aligner that the text tower learns from; the shipped one when omitted."""
    ontologies: tuple[Ontology, ...] = ()
    """Names to learn from beside the wordings of the bank."""
    layers: Annotated[int, Field(ge=1)] = 3
    least_pieces: Annotated[int, Field(ge=1)] | None = 3
    """Word pieces that stand in fewer names are cut from the vocabulary."""
    tokens: Annotated[int, Field(ge=4)] = 32
    depth: Annotated[int, Field(ge=1)] = 12
    """Blocks of the trunk that are kept, from the first on."""
    dimension: Annotated[int, Field(ge=2)] = 256
    folds: Annotated[int, Field(ge=2)] = 4
    distillation: Distillation = Distillation()
    stain_match: bool = True
    """Whether the image tower brings each image to the stain of the training tiles first."""
    continuation: SelfSupervision = SelfSupervision()
    """Learning from pixels alone, before labels; the split `unlabelled` is used here."""
    learning: LoopSettings = LoopSettings()
    averaged: Annotated[int, Field(ge=1)] = 1
    """Trainings with other draws, from one start, whose weights are averaged (a model soup)."""
    seed: int = 1
    name: str = "grounding"
    """What the model is called in signatures."""
    output: FilePath | None = None
    notes: str = ""


@dataclass(frozen=True, slots=True)
class PhraseEncoder:
    """A text tower without its head, and how it reads."""

    meaning: Embedder
    tokenizer: Any
    tokens_of: Callable[[Sequence[str]], list[list[int]]]
    likeness: float
    """The mean cosine with the teacher at the end."""


def train_grounding(
    settings: GroundingSettings,
    output: Path,
    site: TrainingSite = THIS_MACHINE,
) -> dict[str, Any]:
    """Train a grounding model and write its folder; the results, at once if it is there already.

    A training that was stopped resumes from the last epoch that it finished.
    """
    request = grounding_request(settings)

    def make(draft: Path, checkpoint: Checkpoint) -> dict[str, Any]:
        with site.watching("training the grounding model") as watch:
            trained = learn_all(settings, checkpoint, watch, site)
        site.tell("writing and measuring the model")
        return write(settings, request, *trained, draft)

    return ModelFolder(output).fill(
        request, make, partial(card, "grounding"), overwrite=site.overwrite
    )


Trials = tuple[FoldPredictions, FoldPredictions]


def learn_all(
    settings: GroundingSettings, checkpoint: Checkpoint, watch: Watch, site: TrainingSite
) -> tuple[ContrastiveModel, PhraseEncoder, TileDataset, Trials]:
    """Train a model for each fold and one of all cases; all stages are watched as one."""
    steps_overall, before = steps_in_all(settings), 0

    def stages(name: str, steps: int) -> TrainingStage:
        """The next stage, which takes so many steps."""
        nonlocal before
        stage = TrainingStage(checkpoint, watch, name, before, steps_overall)
        before += steps
        return stage

    site.tell("teaching the text tower names")
    names = stages("names", settings.distillation.steps)
    phrases = learn_phrases(settings, site.device, names)
    site.tell("reading tiles")
    lesson = lesson_of(settings, phrases)
    begin = beginning(settings, lesson)

    def teach(name: str, rows: Sequence[int]) -> ContrastiveModel:
        """A model that has learned these tiles, from their pixels first where that is set."""
        site.tell(name)
        model = begin()
        if settings.continuation.epochs:
            pixels = unlabelled_pixels(lesson, rows)
            stage = stages(f"{name}, pixels", settings.continuation.steps(len(pixels)))

            def act() -> dict[str, Any]:
                continue_trunk(model.image, pixels, settings.continuation, stage)
                return {"trunk": model.image.trunk.state_dict()}

            stage.load(model.image.trunk.load_state_dict, stage.once(act)["trunk"])
        return averaged(
            model,
            settings.averaged,
            lambda nth, one: learn(
                one,
                lesson,
                rows,
                replace(settings.learning, seed=settings.learning.seed + nth),
                stages(f"{name}, {nth + 1}", steps_of(settings.learning, len(rows))),
            ),
        )

    cases = case_folds(lesson.tiles, settings.folds)
    steps = steps_for(settings)
    trial = cross_validate(lesson, cases, teach, stages, steps)
    elsewhere = cross_validate(lesson, laboratory_folds(lesson.tiles), teach, stages, steps)
    stage, count = stages("the model of all cases", 0), len(lesson.tiles)
    outcome = stage.once(lambda: {"model": teach("all cases", range(count)).state_dict()})
    matcher = begin()
    stage.load(matcher.load_state_dict, outcome["model"])
    return matcher.eval(), phrases, lesson, (trial, elsewhere)


def averaged(
    start: ContrastiveModel,
    count: int,
    train: Callable[[int, ContrastiveModel], ContrastiveModel],
) -> ContrastiveModel:
    """The mean of so many models that were trained from one start (Wortsman and others 2022)."""
    trained = [train(nth, deepcopy(start)).state_dict() for nth in range(count)]
    mean = {name: sum(state[name] for state in trained) / count for name in trained[0]}
    start.load_state_dict(mean)
    return start


def grounding_request(settings: GroundingSettings) -> dict[str, Any]:
    """What makes two trainings the same."""
    files = [settings.tiles / INDEX, settings.trunk, *(o.file for o in settings.ontologies)]
    excluded = dict.fromkeys(("tiles", "trunk", "teacher"), True)
    return request_of(
        "grounding",
        settings,
        by_name(files),
        exclude=excluded | {"ontologies": {"__all__": {"file"}}},
        teacher=BuiltinAligner(settings.teacher).identity,
        lists=lists_sha256(*(resource_bytes(f"evaluate/data/{name}") for name in _LISTS)),
    )


def steps_in_all(settings: GroundingSettings) -> int:
    """The steps of all stages: names, each fold, and all cases."""
    tiles = learned_tiles(settings)
    folds = [*case_folds(tiles, settings.folds), *laboratory_folds(tiles)]
    counts = (*(len(fold.rows) for fold in folds), len(tiles))
    return settings.distillation.steps + sum(map(steps_for(settings), counts))


def steps_for(settings: GroundingSettings) -> Callable[[int], int]:
    """The steps of a model that learns from so many tiles."""
    more = len(unlabelled_tiles(settings))
    return lambda count: (
        settings.averaged * steps_of(settings.learning, count)
        + settings.continuation.steps(count + more)
    )


def unlabelled_tiles(settings: GroundingSettings) -> list[LabelledTile]:
    """Those of which only the pixels are learned, where any are."""
    if not settings.continuation.epochs:
        return []
    return [t for t in read_tiles(settings.tiles / INDEX) if t.split == _PIXELS_ONLY]


def unlabelled_pixels(lesson: TileDataset, rows: Sequence[int]) -> torch.Tensor:
    """The pixels of these tiles and of all that have no label."""
    own = lesson.pixels[torch.tensor(list(rows), device=lesson.pixels.device)]
    return own if lesson.unlabelled is None else torch.cat([own, lesson.unlabelled])


def learned_tiles(settings: GroundingSettings) -> list[LabelledTile]:
    """The tiles of the splits that are learned."""
    return [t for t in read_tiles(settings.tiles / INDEX) if t.split in _LEARNED]


def learn_phrases(
    settings: GroundingSettings, device: str | None, stage: TrainingStage
) -> PhraseEncoder:
    """The text tower without its head, taught where the aligner puts names."""
    wordings = [phrase for entry in all_entries() for phrase in entry.phrases]
    others = [n for o in settings.ontologies for named in o.read() for n in named.names]
    names = list(dict.fromkeys([*wordings, *others]))
    encoder = load_encoder(settings.encoder, settings.tokens, device)
    tokenizer = cut_vocabulary(encoder, names, settings.least_pieces)
    shape_encoder(encoder.model, EmbedderShape(layers=settings.layers, dropout=0.0))
    student = Embedder(encoder.model, "mean").to(encoder.device)
    teacher = BuiltinAligner(settings.teacher)
    rows = encoded_by(tokenizer, settings.tokens)(names)

    def places(chosen: Sequence[int]) -> Any:
        """What the encoder of the teacher gives; what rules read in a phrase stands after it."""
        vectors = teacher.embed([names[i] for i in chosen])[:, : teacher.manifest.size]
        return torch.nn.functional.normalize(torch.from_numpy(vectors), dim=-1)

    def act() -> dict[str, Any]:
        likeness = distil(student, rows, places, settings.distillation, stage)
        return {"model": student.state_dict(), "likeness": likeness}

    outcome = stage.once(act)
    stage.load(student.load_state_dict, outcome["model"])
    student.eval()
    likeness = float(outcome["likeness"])
    return PhraseEncoder(student, tokenizer, encoded_by(tokenizer, settings.tokens), likeness)


def lesson_of(settings: GroundingSettings, phrases: PhraseEncoder) -> TileDataset:
    """The tiles to learn from, what they show, and the wordings as the text tower reads them."""
    tiles = learned_tiles(settings)
    more = unlabelled_tiles(settings)
    device = next(phrases.meaning.parameters()).device
    pixels, unlabelled = (pixels_of(settings.tiles, some).to(device) for some in (tiles, more))
    entries = entries_of(tiles)
    with torch.no_grad():
        phrase_vectors = [
            torch.cat(
                [
                    phrases.meaning(torch.tensor([row], device=device))
                    for row in phrases.tokens_of(entry.phrases)
                ]
            )
            for entry in entries
        ]
    targets = torch.from_numpy(targets_of(tiles, entries)).to(device)
    return TileDataset(pixels, tiles, targets, entries, phrase_vectors, unlabelled)


def pixels_of(folder: Path, tiles: Sequence[LabelledTile]) -> torch.Tensor:
    """The pictures of tiles, colours first."""
    return torch.from_numpy(read_pixels(folder, tiles)).permute(0, 3, 1, 2).contiguous()


def beginning(settings: GroundingSettings, lesson: TileDataset) -> Callable[[], ContrastiveModel]:
    """Makes the same untaught model each time it is called."""
    usual = usual_density(lesson) if settings.stain_match else None

    def begin() -> ContrastiveModel:
        """Weights depend on the seed alone, not on what was drawn before."""
        torch.manual_seed(settings.seed)
        trunk = trunk_from_onnx(settings.trunk)
        trunk.blocks = trunk.blocks[: settings.depth]
        width = lesson.phrases[0].shape[-1]
        stain = None if usual is None else StainMatch(usual)
        matcher = ContrastiveModel(ImageTowerModel(trunk, settings.dimension, stain), width)
        return matcher.to(lesson.pixels.device)  # type: ignore[no-any-return]

    return begin


def usual_density(lesson: TileDataset) -> DensityReference:
    """The mean and the spread of optical density over the tissue of tiles in H&E."""
    rows = [place for place, tile in enumerate(lesson.tiles) if tile.stain_kind == HE]
    start = DensityReference(*(torch.full((3, 1, 1), 0.5) for _ in range(2)))
    found = []
    for first in range(0, len(rows), _AT_ONCE):
        some = lesson.pixels[torch.tensor(rows[first : first + _AT_ONCE])]
        density, tissue = density_of(normalised(some.float().cpu() / 255))
        found.append(torch.stack(measured_density(density, tissue, start)).mean(dim=(1, 3, 4)))
    mean, spread = torch.stack(found).mean(dim=0)
    return DensityReference(mean.view(3, 1, 1), spread.view(3, 1, 1))


def write(
    settings: GroundingSettings,
    request: Mapping[str, Any],
    matcher: ContrastiveModel,
    phrases: PhraseEncoder,
    lesson: TileDataset,
    trials: tuple[FoldPredictions, FoldPredictions],
    folder: Path,
) -> dict[str, Any]:
    """Write what `BuiltinEncoder` loads, and measure it by what was held out."""
    from histoeval_research.train.grounding.export import (
        ManifestFields,
        TrainedTowers,
        keep_held_out,
        write_limits,
        write_model,
    )

    tower = PhraseTower(phrases.meaning, matcher.phrase)
    made = TrainedTowers(matcher.image, tower, phrases.tokenizer, phrases.tokens_of)
    described = ManifestFields(
        name=settings.name,
        dimension=settings.dimension,
        temperature=1 / float(matcher.steepness.detach()),
        tokens=settings.tokens,
        details={"request": dict(request), "versions": versions()},
    )
    meanings = write_model(folder, made, lesson, settings.tokens)
    figures = write_limits(folder, lesson, trials, meanings, described)
    keep_held_out(folder, lesson, trials)
    return {
        "parameters": sum(w.numel() for part in (made.image, tower) for w in part.parameters()),
        "samples": counted(lesson.tiles),
        "teacher_likeness": phrases.likeness,
        "scores": {"held out": figures},
        "weights": weights_of(folder),
        "versions": versions(),
    }


def counted(tiles: Sequence[LabelledTile]) -> dict[str, Any]:
    """What the tiles show, counted, for the card."""
    kinds: dict[str, dict[str, int]] = {"organ": {}, "concept": {}, "stain": {}}
    for tile in tiles:
        for kind, value in (
            ("organ", tile.organ),
            ("concept", tile.concept),
            ("stain", tile.stain),
        ):
            if value is not None:
                kinds[kind][value] = kinds[kind].get(value, 0) + 1
    return {
        "tiles": len(tiles),
        "cases": len({tile.case for tile in tiles}),
        "slides": len({tile.slide for tile in tiles}),
        **{kind: dict(sorted(counts.items())) for kind, counts in kinds.items()},
    }
