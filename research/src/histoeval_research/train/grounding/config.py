"""The YAML file of `histoeval train grounding`."""

from typing import Annotated

from pydantic import Field

from histoeval.io.settings_files import FilePath, ModelName
from histoeval.report import Noun
from histoeval_research.train.aligner.config import Ontology

Count = Annotated[int, Field(ge=1)]


class AugmentationSettings(Noun):
    """How much views may differ from the tile."""

    stain: float = 0.25  # how much stronger or weaker a stain becomes, as a share
    light: float = 0.2  # the same for brightness, contrast and saturation
    smallest: float = 0.4  # the least share of a tile's area that a view is cut from
    blurred: float = 0.3  # the share of views that are blurred
    grey: float = 0.1  # the share of views without colour
    farther: float = 0.0  # the share of views of four tiles of a slide at half their magnification
    coarse: float = 0.0  # the share of views with a half or a third of the resolution


class Distillation(Noun):
    """How the few layers of the text tower learn from the aligner."""

    steps: int = 3000
    batch: int = 512
    rate: float = 5e-4
    warm_up: float = 0.05
    seed: int = 1


class SelfSupervision(Noun):
    """How the trunk is continued; at 0 epochs it is not."""

    epochs: int = 0
    batch: int = 512
    rate: float = 1e-4
    temperature: float = 0.2
    warm_up: float = 0.1
    weight_decay: float = 0.05
    seed: int = 1
    views: AugmentationSettings = AugmentationSettings()

    def steps(self, count: int) -> int:
        return self.epochs * max(1, count // self.batch)


class LoopSettings(Noun):
    """How a model learns what tiles show."""

    epochs: int = 8
    batch: int = 256
    rate: float = 1e-3  # of the projection and the head of phrases
    trunk_rate: float = 3e-5  # of the last block; at 0 the trunk stays as it is
    # Blocks of the trunk that do not learn, from the first on, nor what is below them.
    still: int = 0
    layer_decay: float = 0.75  # each block learns so much slower than the one after it
    weight_decay: float = 0.05
    warm_up: float = 0.1
    # Tiles of a slide in a step, whose mean must also be right: a label is of the slide.
    together: int = 1
    # How much of the running average of weights is kept in a step; at 0 there is none.
    average: float = 0.0
    seed: int = 1
    views: AugmentationSettings = AugmentationSettings()

    def steps(self, count: int) -> int:
        return self.epochs * max(1, count // self.batch)


class GroundingSettings(Noun):
    """The YAML file of `histoeval train grounding`."""

    # A folder with `index.jsonl` and tar files of tiles; the splits train and val are learned.
    tiles: FilePath
    trunk: FilePath  # the ONNX file of a DINOv2-S trunk
    encoder: ModelName  # what the text tower begins as
    # The folder of the aligner that the text tower learns from; the shipped one when omitted.
    teacher: FilePath | None = None
    ontologies: tuple[Ontology, ...] = ()  # names to learn from beside the wordings of the bank
    layers: Count = 3
    # Word pieces that stand in fewer names are cut from the vocabulary.
    least_pieces: Count | None = 3
    tokens: Annotated[int, Field(ge=4)] = 32
    depth: Count = 12  # blocks of the trunk that are kept, from the first on
    dimension: Annotated[int, Field(ge=2)] = 256
    folds: Annotated[int, Field(ge=2)] = 4
    distillation: Distillation = Distillation()
    # Whether the image tower brings each image to the stain of the training tiles first.
    stain_match: bool = True
    # Learning from pixels alone, before labels; the split `unlabelled` is used here.
    continuation: SelfSupervision = SelfSupervision()
    learning: LoopSettings = LoopSettings()
    # Trainings with other draws, from one start, whose weights are averaged (a model soup).
    averaged: Count = 1
    seed: int = 1
    name: str = "grounding"  # what the model is called in signatures
    output: FilePath | None = None
    notes: str = ""

    def steps(self, tiles: int, unlabelled: int) -> int:
        own = self.averaged * self.learning.steps(tiles)
        return own + self.continuation.steps(tiles + unlabelled)
