"""The YAML file of `histoeval train aligner`."""

from typing import Annotated, Literal

from pydantic import Field

from histoeval.io.settings_files import FilePath, ModelName
from histoeval.report import Noun
from histoeval_research.ontology.obo import Kind, OntologyConcept, read_ontology
from histoeval_research.train.core.loop import Schedule

MARGIN, BASE = 0.2, 0.5  # as in the published code of SapBERT

Pooling = Literal["cls", "mean"]
Share = Annotated[float, Field(ge=0, le=1)]
Weight = Annotated[float, Field(ge=0)]


class Ontology(Noun):
    """A file of concepts, and how often one of them is drawn compared with others."""

    file: FilePath
    kind: Kind
    weight: Weight = 1.0
    within: tuple[str, ...] | None = None  # of MeSH: how the tree numbers of the branches begin
    languages: tuple[str, ...] | None = None  # of MRCONSO, as is `sources`
    sources: tuple[str, ...] | None = None

    def read(self) -> list[OntologyConcept]:
        options = self.model_dump(include={"within", "languages", "sources"}, exclude_none=True)
        return list(read_ontology(self.file, self.kind, **options))


class NameSettings(Noun):
    """What is made of the names."""

    # Share of the concepts of the first ontology that are kept for testing.
    held_out: Annotated[float, Field(ge=0, lt=1)] = 0.1
    terms: Weight = 3.0  # how often a concept of our own lists is drawn; 0 leaves them out
    composed: Weight = 0.5  # how often a composed phrase is drawn; 0 leaves them out
    wordings: Annotated[int, Field(ge=2)] = 6  # of a composed phrase
    # Names of a concept that variants are made of, two of each.
    variants: Annotated[int, Field(ge=0)] = 3
    contrasts: bool = True  # whether words are swapped to make opposites
    # Whether pairs of words that our own test of opposites holds are skipped.
    only_unseen: bool = False
    seed: int = 0


class EmbedderShape(Noun):
    """What is made of the encoder."""

    # How many of its layers are kept, from the first on; all when omitted.
    layers: Annotated[int, Field(ge=1)] | None = None
    # How many of these do not learn, from the first on; what is below them does not either.
    frozen: Annotated[int, Field(ge=0)] = 0
    # Share of numbers that are hidden while learning; the encoder's own when omitted.
    dropout: Annotated[float, Field(ge=0, lt=1)] | None = None
    # What stands for a phrase: the mean of its tokens, or the state of the first one.
    pooling: Pooling = "mean"
    tokens: Annotated[int, Field(ge=4)] = 32  # longer phrases are cut


class AlignerTraining(Schedule):
    """How an aligner learns; an epoch is `draws` draws, each of two pairs of names."""

    epochs: Annotated[int, Field(ge=1)] = 8
    batch: Annotated[int, Field(ge=2)] = 256  # draws in a step: twice as many pairs of names
    rate: Annotated[float, Field(gt=0)] = 3e-4
    warm_up: Annotated[float, Field(ge=0, lt=1)] = 0.05
    draws: Annotated[int, Field(ge=2)] = 100_000
    # Share of draws in which a concept stands beside an opposite, if it has one.
    opposite: Share = 0.5
    sibling: Share = 0.3  # share of draws in which it stands beside another of its kind
    # Share of pairs of names as sources have them; the others may have variants in them.
    own: Share = 0.7
    margin: Weight = MARGIN  # of the miner of hard pairs
    # How much the channel counts beside the vector of the encoder, while learning and after.
    channel: Weight = 0.0
    # How alike names must at least be pulled, and what is not the same must at most stay.
    base: Annotated[float, Field(gt=-1, lt=1)] = BASE


class AlignerSettings(Noun):
    """The YAML file of `histoeval train aligner`."""

    # What names are learned from; the first is also tested on.
    ontologies: Annotated[tuple[Ontology, ...], Field(min_length=1)]
    encoder: ModelName
    opposites: FilePath | None = None  # rows of opposites to test on, which are never learned from
    naming: NameSettings = NameSettings()
    shape: EmbedderShape = EmbedderShape()
    learning: AlignerTraining = AlignerTraining()
    # Word pieces that stand in fewer names are cut from the vocabulary; none when omitted.
    least_pieces: Annotated[int, Field(ge=1)] | None = None
    # Names of more tokens are learned only where a concept has no other; all when omitted.
    longest: Annotated[int, Field(ge=1)] | None = None
    # Weight of the channel in the aligner that is written; that of learning when omitted.
    channel: Weight | None = None
    seed: int = 1
    name: str = "aligner"  # what the aligner is called in signatures
    output: FilePath | None = None
    notes: str = ""

    @property
    def written_channel(self) -> float:
        return self.learning.channel if self.channel is None else self.channel
