"""The YAML file of `histoeval train nli`."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from histoeval.io.settings_files import FilePath, ModelName
from histoeval.nli.builtin import TOKENS
from histoeval.report import Noun
from histoeval_research.train.core.loop import Schedule
from histoeval_research.train.nli.pairs import BY_HAND, MADE

Count = Annotated[int, Field(ge=0)]


class PairSettings(Noun):
    # Pairs without the wordings and concepts of the development set.
    count: Annotated[int, Field(ge=3, le=MADE["train"])] = 200_000
    # Pairs with these: for a model that is shipped, once it is known how well it generalises.
    rest: Annotated[int, Field(ge=0, le=MADE["rest"])] = 0
    # Pairs from the cards of organs, without those of the development set.
    organs: Annotated[int, Field(ge=0, le=MADE["organs"])] = 0
    # How many times the pairs that language models wrote are learned from.
    by_hand: Annotated[int, Field(ge=0, le=MADE["by_hand"] // BY_HAND)] = 0
    # How many times the pairs from reports that language models edited are learned from.
    edits: Count = 0
    names: Count = 0  # pairs of names from the ontology
    # Pairs of sentences of one true report, which do not contradict each other.
    companions: Count = 0
    # Draws of pairs from the statements that language models wrote with others of known effect.
    statements: Annotated[int, Field(ge=0, le=MADE["statements"])] = 0
    changed: Count = 0  # pairs from true reports of which one thing was changed
    strangers: Count = 0  # pairs of statements of two true reports, which do not entail each other
    dev: Annotated[int, Field(ge=3, le=MADE["dev"])] = 6_000  # pairs of the development set


class NliTeacher(Schedule):
    """The network that teaches, and how it learns."""

    encoder: ModelName
    epochs: Annotated[int, Field(ge=1)] = 2
    batch: Annotated[int, Field(ge=1)] = 128
    rate: Annotated[float, Field(gt=0)] = 4e-5
    warm_up: Annotated[float, Field(ge=0, lt=1)] = 0.05
    # How much of the small network's loss is about the answers of the teacher.
    share: Annotated[float, Field(gt=0, le=1)] = 0.5
    # Pairs of a premise and the hypothesis of another, which only the teacher can answer.
    mixed: Count = 0


class NliTraining(Schedule):
    """How an NLI model learns."""

    epochs: Annotated[int, Field(ge=1)] = 3
    batch: Annotated[int, Field(ge=1)] = 128
    rate: Annotated[float, Field(gt=0)] = 2e-4
    warm_up: Annotated[float, Field(ge=0, lt=1)] = 0.05


class NliSettings(Noun):
    """The YAML file of `histoeval train nli`."""

    # JSON lines of premise, hypothesis, label and source; the source snli_test is tested on.
    general: FilePath
    # Clinical sentences with conditions that they affirm or deny, as NegEx published them.
    negation: FilePath | None = None
    # JSON lines of pathology pairs with label and category, which are only tested on.
    test: FilePath | None = None
    # JSON lines of id, name, synonyms and parents, for pairs of names.
    ontology: FilePath | None = None
    # JSON lines of true reports as `text` or `answer`: what they say is no contradiction.
    reports: tuple[FilePath, ...] = ()
    encoder: ModelName
    # A larger network that learns first, and whose answers this one learns from.
    teacher: NliTeacher | None = None
    pairs: PairSettings = PairSettings()
    tokens: Annotated[int, Field(ge=16)] = TOKENS  # longer pairs are cut
    # Word pieces that stand in fewer texts are cut from the vocabulary; none when omitted.
    least_pieces: Annotated[int, Field(ge=1)] | None = None
    second_opinion: bool = False  # whether a re-ranker with term features corrects the network
    learning: NliTraining = NliTraining()
    seed: int = 1
    name: str = "nli"  # what the model is called in signatures
    output: FilePath | None = None
    notes: str = ""

    @model_validator(mode="after")
    def _has_what_pairs_are_made_of(self) -> Self:
        if self.pairs.names and self.ontology is None:
            raise ValueError("pairs.names are made from `ontology`: name that file, or set 0")
        if self.pairs.companions and not self.reports:
            raise ValueError("pairs.companions are made from `reports`: name files, or set 0")
        return self
