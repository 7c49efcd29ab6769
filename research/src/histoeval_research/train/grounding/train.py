"""`histoeval train grounding`: an image tower and a text tower in one space, from tiles."""

from collections import Counter
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch

from histoeval.align.builtin import BuiltinAligner
from histoeval.evaluate.tile_labels import (
    INDEX,
    LabelledTile,
    all_entries,
    entries_of,
    read_pixels,
    read_tiles,
    targets_of,
)
from histoeval.pathgls.grounding.builtin import TextTower
from histoeval.resources import resource_bytes
from histoeval_research.train.aligner.config import EmbedderShape
from histoeval_research.train.aligner.train import Embedder, encoded_by, shape_encoder
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
from histoeval_research.train.grounding.config import GroundingSettings
from histoeval_research.train.grounding.export import (
    Trials,
    case_folds,
    cross_validate,
    keep_held_out,
    laboratory_folds,
    usual_rows,
    write_limits,
    write_towers,
)
from histoeval_research.train.grounding.learn import (
    TileDataset,
    continue_trunk,
    distil,
    learn,
    normalised,
)
from histoeval_research.train.grounding.model import (
    ContrastiveModel,
    DensityReference,
    ImageTowerModel,
    PhraseTower,
    StainMatch,
    density_of,
    measured_density,
    trunk_from_onnx,
)

_LEARNED = ("train", "val")
_PIXELS_ONLY = "unlabelled"
_AT_ONCE = 256
_LISTS = ("concepts", "corrections", "laboratories", "kinds", "organs")

# Gives the next stage by its name, and takes so many steps for it.
Stages = Callable[[str, int], TrainingStage]


class PhraseEncoder(NamedTuple):
    """A text tower without its head, and how it reads."""

    meaning: Embedder
    tokenizer: Any
    tokens_of: Callable[[Sequence[str]], list[list[int]]]
    likeness: float  # the mean cosine with the teacher at the end


def train_grounding(
    settings: GroundingSettings, output: Path, site: TrainingSite = THIS_MACHINE
) -> dict[str, Any]:
    """Train a grounding model and write its folder; the results, at once if it is there already.

    A training that was stopped resumes from the last epoch that it finished.
    """
    files = [settings.tiles / INDEX, settings.trunk, *(o.file for o in settings.ontologies)]
    paths = dict.fromkeys(("tiles", "trunk", "teacher"), True)
    lists = (resource_bytes(f"evaluate/data/tile_{name}.tsv") for name in _LISTS)
    request = request_of(
        "grounding",
        settings,
        by_name(files),
        paths | {"ontologies": {"__all__": {"file"}}},
        teacher=BuiltinAligner(settings.teacher).identity,
        lists=lists_sha256(*lists),
    )

    def make(draft: Path, checkpoint: Checkpoint) -> dict[str, Any]:
        with site.watching("training the grounding model") as watch:
            trained = learn_all(settings, checkpoint, watch, site)
        site.tell("writing and measuring the model")
        return write(settings, request, *trained, draft)

    return ModelFolder(output).fill(
        request, make, partial(card, "grounding"), overwrite=site.overwrite
    )


def learn_all(
    settings: GroundingSettings, checkpoint: Checkpoint, watch: Watch, site: TrainingSite
) -> tuple[ContrastiveModel, PhraseEncoder, TileDataset, Trials]:
    """Train a model for each fold and one of all cases; all stages are watched as one."""
    index = read_tiles(settings.tiles / INDEX)
    tiles = [tile for tile in index if tile.split in _LEARNED]
    has_continuation = settings.continuation.epochs > 0
    more = [tile for tile in index if tile.split == _PIXELS_ONLY and has_continuation]
    cases, laboratories = case_folds(tiles, settings.folds), laboratory_folds(tiles)

    def steps_for(count: int) -> int:
        return settings.steps(count, len(more))

    counts = (*(len(fold.rows) for fold in (*cases, *laboratories)), len(tiles))
    steps_overall = settings.distillation.steps + sum(map(steps_for, counts))
    before = 0

    def stages(name: str, steps: int) -> TrainingStage:
        nonlocal before
        stage = TrainingStage(checkpoint, watch, name, before, steps_overall)
        before += steps
        return stage

    site.tell("teaching the text tower names")
    names = stages("names", settings.distillation.steps)
    phrases = learn_phrases(settings, site.device, names)
    site.tell("reading tiles")
    lesson = lesson_of(settings, tiles, more, phrases)
    begin = beginning(settings, lesson)

    def teach(name: str, rows: Sequence[int]) -> ContrastiveModel:
        site.tell(name)
        model = begin()
        if has_continuation:
            pixels = lesson.pixels[torch.tensor(list(rows), device=lesson.pixels.device)]
            if lesson.unlabelled is not None:
                pixels = torch.cat([pixels, lesson.unlabelled])
            stage = stages(f"{name}, pixels", settings.continuation.steps(len(pixels)))

            def act() -> dict[str, Any]:
                continue_trunk(model.image, pixels, settings.continuation, stage)
                return {"trunk": model.image.trunk.state_dict()}

            stage.load(model.image.trunk.load_state_dict, stage.once(act)["trunk"])

        def train(nth: int, start: ContrastiveModel) -> ContrastiveModel:
            seed = settings.learning.seed + nth
            course = settings.learning.model_copy(update={"seed": seed})
            stage = stages(f"{name}, {nth + 1}", course.steps(len(rows)))
            return learn(start, lesson, rows, course, stage)

        return averaged(model, settings.averaged, train)

    trials = (
        cross_validate(lesson, cases, teach, stages, steps_for),
        cross_validate(lesson, laboratories, teach, stages, steps_for),
    )
    stage = stages("the model of all cases", 0)
    outcome = stage.once(lambda: {"model": teach("all cases", range(len(tiles))).state_dict()})
    model = begin()
    stage.load(model.load_state_dict, outcome["model"])
    return model.eval(), phrases, lesson, trials


def averaged(
    start: ContrastiveModel, count: int, train: Callable[[int, ContrastiveModel], ContrastiveModel]
) -> ContrastiveModel:
    """The mean of so many models that were trained from one start (Wortsman and others 2022)."""
    trained = [train(nth, deepcopy(start)).state_dict() for nth in range(count)]
    mean = {name: sum(state[name] for state in trained) / count for name in trained[0]}
    start.load_state_dict(mean)
    return start


def learn_phrases(
    settings: GroundingSettings, device: str | None, stage: TrainingStage
) -> PhraseEncoder:
    wordings = [phrase for entry in all_entries() for phrase in entry.phrases]
    others = [n for o in settings.ontologies for named in o.read() for n in named.names]
    names = list(dict.fromkeys([*wordings, *others]))
    encoder = load_encoder(settings.encoder, settings.tokens, device)
    tokenizer = cut_vocabulary(encoder, names, settings.least_pieces)
    shape_encoder(encoder.model, EmbedderShape(layers=settings.layers, dropout=0.0))
    student = Embedder(encoder.model, "mean").to(encoder.device)
    teacher = BuiltinAligner(settings.teacher)
    tokens_of = encoded_by(tokenizer, settings.tokens)

    def places(chosen: Sequence[int]) -> Any:
        """What the encoder of the teacher gives; what rules read in a phrase stands after it."""
        vectors = teacher.embed([names[i] for i in chosen])[:, : teacher.manifest.size]
        return torch.nn.functional.normalize(torch.from_numpy(vectors), dim=-1)

    def act() -> dict[str, Any]:
        likeness = distil(student, tokens_of(names), places, settings.distillation, stage)
        return {"model": student.state_dict(), "likeness": likeness}

    outcome = stage.once(act)
    stage.load(student.load_state_dict, outcome["model"])
    return PhraseEncoder(student.eval(), tokenizer, tokens_of, float(outcome["likeness"]))


def lesson_of(
    settings: GroundingSettings,
    tiles: Sequence[LabelledTile],
    more: Sequence[LabelledTile],
    phrases: PhraseEncoder,
) -> TileDataset:
    device = next(phrases.meaning.parameters()).device
    pixels, unlabelled = (
        torch.from_numpy(read_pixels(settings.tiles, some))
        .permute(0, 3, 1, 2)
        .contiguous()
        .to(device)
        for some in (tiles, more)
    )
    entries = entries_of(tiles)
    vectors = []
    with torch.no_grad():
        for entry in entries:
            rows = phrases.tokens_of(entry.phrases)
            own = [phrases.meaning(torch.tensor([row], device=device)) for row in rows]
            vectors.append(torch.cat(own))
    targets = torch.from_numpy(targets_of(tiles, entries)).to(device)
    return TileDataset(pixels, tiles, targets, entries, vectors, unlabelled)


def beginning(settings: GroundingSettings, lesson: TileDataset) -> Callable[[], ContrastiveModel]:
    usual = usual_density(lesson) if settings.stain_match else None

    def begin() -> ContrastiveModel:
        """Weights depend on the seed alone, not on what was drawn before."""
        torch.manual_seed(settings.seed)
        trunk = trunk_from_onnx(settings.trunk)
        trunk.blocks = trunk.blocks[: settings.depth]
        stain = None if usual is None else StainMatch(usual)
        image = ImageTowerModel(trunk, settings.dimension, stain)
        model = ContrastiveModel(image, lesson.phrases[0].shape[-1])
        return model.to(lesson.pixels.device)  # type: ignore[no-any-return]

    return begin


def usual_density(lesson: TileDataset) -> DensityReference:
    """The mean and the spread of optical density over the tissue of tiles in H&E."""
    rows = usual_rows(lesson.tiles)
    start = DensityReference(*(torch.full((3, 1, 1), 0.5) for _ in range(2)))
    measured = []
    for first in range(0, len(rows), _AT_ONCE):
        some = lesson.pixels[torch.tensor(rows[first : first + _AT_ONCE])]
        density, tissue = density_of(normalised(some.float().cpu() / 255))
        measured.append(torch.stack(measured_density(density, tissue, start)).mean(dim=(1, 3, 4)))
    mean, spread = torch.stack(measured).mean(dim=0)
    return DensityReference(mean.view(3, 1, 1), spread.view(3, 1, 1))


def write(
    settings: GroundingSettings,
    request: dict[str, Any],
    model: ContrastiveModel,
    phrases: PhraseEncoder,
    lesson: TileDataset,
    trials: Trials,
    folder: Path,
) -> dict[str, Any]:
    text = PhraseTower(phrases.meaning, model.phrase)
    tokens, made_with = settings.tokens, versions()
    meanings = write_towers(
        folder, model.image, text, phrases.tokenizer, phrases.tokens_of, tokens, lesson
    )
    scores = write_limits(
        folder,
        lesson,
        trials,
        meanings,
        name=settings.name,
        text=TextTower(max_tokens=tokens),
        dimension=settings.dimension,
        temperature=1 / float(model.steepness.detach()),
        details={"request": request, "versions": made_with},
    )
    keep_held_out(folder, lesson, trials)
    shown = {
        kind: Counter(value for tile in lesson.tiles if (value := getattr(tile, kind)) is not None)
        for kind in ("organ", "concept", "stain")
    }
    samples = {
        "tiles": len(lesson.tiles),
        "cases": len({tile.case for tile in lesson.tiles}),
        "slides": len({tile.slide for tile in lesson.tiles}),
        **{kind: dict(sorted(counts.items())) for kind, counts in shown.items()},
    }
    return {
        "parameters": sum(w.numel() for part in (model.image, text) for w in part.parameters()),
        "samples": samples,
        "teacher_likeness": phrases.likeness,
        "scores": {"held out": scores},
        "weights": weights_of(folder),
        "versions": made_with,
    }
