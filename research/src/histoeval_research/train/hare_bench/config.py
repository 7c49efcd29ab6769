"""The paper's training bench: its recipes and its data.

The defaults are the paper's: AdamW at 5e-5, batches of 4, 2 epochs, 512 tokens; as many negative
pairs as positive ones in training and three times as many in testing.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator

from histoeval.errors import InputError
from histoeval.io.settings_files import FilePath, ModelName
from histoeval.report import Noun
from histoeval_research.corpus import AnnotatedPassage, read_corpus
from histoeval_research.train.core.loop import Schedule

Types = Literal["all", "hare"]


def _different(seeds: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(seeds)) < len(seeds):
        raise ValueError("names a seed twice")
    return seeds


# One model is trained for each.
Seeds = Annotated[tuple[int, ...], Field(min_length=1), AfterValidator(_different)]


class Corpora(Noun):
    """What to learn from, what to be judged by, and where the outcome goes."""

    train: FilePath
    dev: FilePath
    # What labels of the corpora mean that are not known, as in `Tumour: diagnosis`.
    labels: dict[str, str | None] | None = None
    types: Types = "all"
    output: FilePath | None = None
    notes: str = ""  # free words on the data, for the model card


class TaggerRecipe(Schedule):
    epochs: Annotated[int, Field(ge=1)] = 2
    batch: Annotated[int, Field(ge=1)] = 4
    rate: Annotated[float, Field(gt=0)] = 5e-5
    # The longest window that the model is shown, in tokens.
    tokens: Annotated[int, Field(ge=32)] = 512


class RelationRecipe(TaggerRecipe):
    """How a relation model learns: negatives are pairs without a relation, for each with one."""

    negatives: Annotated[float, Field(ge=0)] = 1.0
    test_negatives: Annotated[float, Field(ge=0)] = 3.0


class OneModel(Corpora):
    """One encoder, trained once."""

    encoder: ModelName
    seed: int = 42


class NerSettings(OneModel, TaggerRecipe):
    """The YAML file of `histoeval train ner`."""


class RelationSettings(OneModel, RelationRecipe):
    """The YAML file of `histoeval train relations`."""


class SelectSettings(Corpora):
    """The YAML file of `histoeval train select`: encoders by the names they have in the table."""

    encoders: Annotated[dict[str, ModelName], Field(min_length=1)]
    seeds: Seeds = (42,)
    ner: TaggerRecipe = TaggerRecipe()
    relations: RelationRecipe = RelationRecipe()

    @field_validator("encoders", mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
            return given
        named = {Path(name).name: name for name in given}
        if len(named) < len(given):
            raise ValueError("has two of one name: write each as `name: folder or hub name`")
        return named

    @field_validator("encoders")
    @classmethod
    def _are_names_of_folders(cls, given: dict[str, str]) -> dict[str, str]:
        for name in given:
            if name in ("", ".", "..") or Path(name).name != name:
                raise ValueError(f"has a name that cannot name a folder: {name!r}")
        return given


def read_passages(path: Path, labels: Mapping[str, str | None] | None) -> list[AnnotatedPassage]:
    """The passages of a corpus, every one of which must be whole."""
    try:
        passages = list(read_corpus(path, labels=labels))
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    if not passages:
        raise InputError(f"{path} has no passages to train or test with")
    return passages


def shared_reports(train: Iterable[AnnotatedPassage], dev: Iterable[AnnotatedPassage]) -> int:
    """How many reports have passages on both sides, which makes scores better than the model."""
    return len({p.report_id for p in train} & {p.report_id for p in dev})
