"""Options that belong together, as one argument of a verb.

Typer reads options off a function's signature, one by one. A verb that is `spread` may ask for a
dataclass of options instead: on the command line its fields are options like all others, and the
verb gets them as one object. A bundle may hold bundles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import update_wrapper
from inspect import Parameter, signature
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeVar,
    dataclass_transform,
    get_type_hints,
)

import typer

from histoeval.cli.options.models import (
    COLUMNS,
    MODELS,
    AlignerOption,
    DeviceOption,
    DtypeOption,
    IdOption,
    LabelsOption,
    ReaderOption,
    RelationsOption,
)

if TYPE_CHECKING:
    from histoeval.io.pairs import Columns
    from histoeval.judge.choice import JudgeConfig
    from histoeval.run.models import Models

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def bundle(kind: type[T]) -> type[T]:
    """A class of options as a dataclass, with no more made of it than a command needs.

    Type checkers hold it to be frozen. To have Python do so too, for every bundle of every verb,
    takes longer than to tell --help.
    """
    return dataclass(eq=False, repr=False)(kind)


def spread(verb: Callable[..., None]) -> Callable[..., None]:
    """A verb whose bundles are options of their own on the command line."""
    return _Spread(verb)


class _Spread:
    """A verb that is looked through only when it is asked for: there are many, and --help is one.

    Whoever looks finds the signature and the annotations of a function with all options.
    """

    def __init__(self, verb: Callable[..., None]) -> None:
        update_wrapper(self, verb, ("__module__", "__name__", "__qualname__", "__doc__"))
        self._verb = verb

    def __call__(self, **given: Any) -> None:
        """Run the verb with its bundles put together."""
        hints = get_type_hints(self._verb, include_extras=True)
        names = signature(self._verb).parameters
        self._verb(**{name: _gathered(name, hints[name], given) for name in names})

    def __getattr__(self, name: str) -> Any:
        """The two things about a function that take long to find out."""
        if name == "__signature__":
            found = signature(self._verb)
            hints = get_type_hints(self._verb, include_extras=True)
            parameters = found.parameters.values()
            options = [each for one in parameters for each in _options(one, hints[one.name])]
            self.__signature__ = found.replace(parameters=options)
            return self.__signature__
        if name == "__annotations__":
            return {one.name: one.annotation for one in signature(self).parameters.values()}
        raise AttributeError(name)


def _options(parameter: Parameter, hint: Any) -> Iterator[Parameter]:
    """A parameter as it stands, or the fields of the bundle that it asks for."""
    if not is_dataclass(hint):
        yield parameter.replace(annotation=hint, kind=Parameter.KEYWORD_ONLY)
        return
    hints = get_type_hints(hint, include_extras=True)
    for each in fields(hint):
        default = Parameter.empty if each.default is MISSING else each.default
        yield from _options(
            Parameter(each.name, Parameter.KEYWORD_ONLY, default=default), hints[each.name]
        )


def _gathered(name: str, hint: Any, given: Mapping[str, Any]) -> Any:
    """What was given for a parameter: a value, or a bundle of values."""
    if not is_dataclass(hint):
        return given[name]
    hints = get_type_hints(hint, include_extras=True)
    bundle: Any = hint
    return bundle(
        **{each.name: _gathered(each.name, hints[each.name], given) for each in fields(hint)}
    )


@bundle
class PairColumns:
    """Which columns of a table hold what."""

    reference: Annotated[
        str | None, typer.Option(help="Column of the reference.", rich_help_panel=COLUMNS)
    ] = None
    candidate: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of a candidate; give it again for each system.", rich_help_panel=COLUMNS
        ),
    ] = None
    id_column: IdOption = None
    system: Annotated[
        str | None,
        typer.Option(help="Column that names the system of a row.", rich_help_panel=COLUMNS),
    ] = None

    def columns(self) -> Columns:
        """As the reading of tables takes them."""
        from histoeval.io.pairs import Columns

        return Columns(
            reference=self.reference,
            candidates=tuple(self.candidate or ()),
            id=self.id_column,
            system=self.system,
        )


@bundle
class ModelNames:
    """Which models to use, and how they run."""

    reader: ReaderOption = None
    relations: RelationsOption = None
    labels: LabelsOption = None
    aligner: AlignerOption = None
    pooling: Annotated[
        Literal["cls", "mean"],
        typer.Option(help="How the aligner makes one vector.", rich_help_panel=MODELS),
    ] = "cls"
    encoder: Annotated[
        str | None,
        typer.Option(help="Encoder for bertscore and reg2025.", rich_help_panel=MODELS),
    ] = None
    device: DeviceOption = None
    dtype: DtypeOption = None
    token_budget: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Most tokens in a model batch; best when left out.",
            rich_help_panel=MODELS,
        ),
    ] = None

    def models(self, judge: JudgeConfig | None = None) -> Models:
        """As the making of metrics takes them."""
        from histoeval.io.annotation.names import read_labels
        from histoeval.run.models import Models

        named = {each.name: getattr(self, each.name) for each in fields(self)}
        named["labels"] = None if self.labels is None else read_labels(self.labels)
        return Models(judge=judge, **named)
