"""How verbs declare their options: one by one, or as bundles.

Typer reads options off a function's signature, one by one. A `verb` may ask for a dataclass of
options instead: on the command line its fields are options like all others, and the function gets
them as one object. A bundle may hold bundles.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import update_wrapper
from inspect import Parameter, Signature, cleandoc, signature
from pathlib import Path
from typing import Any, get_type_hints

import typer
from typer.models import OptionInfo

from histoeval.callers import Caller, called_from
from histoeval.io.writing import check_not_input, protecting

OUTPUTS = ("output", "out", "log_requests", "markdown", "junit")
"""What options and arguments are called that name what is written."""

EXAMPLES = "Examples:"
"""The paragraph of a docstring that starts so keeps its line breaks in the help."""


def option(text: str, panel: str | None = None, *, name: str | None = None, **more: Any) -> Any:
    """An option: its help text, its panel, and its name if not that of the parameter."""
    return typer.Option(*filter(None, [name]), help=text, rich_help_panel=panel, **more)


def verb(function: Callable[..., None]) -> Callable[..., None]:
    """A function as Typer takes it: one parameter an option, and its docstring as help text."""
    hints = get_type_hints(function, include_extras=True)
    parameters = signature(function).parameters.values()
    options = [option for each in parameters for option in _options(each, hints[each.name])]
    caller = Caller(frozenset(name for each in options for name in _names(each)), is_shell=True)

    def command(**given: Any) -> None:
        """Run the verb with its bundles put together; no file that was named as input is lost."""
        bundled = {each.name: _gathered(each.name, hints[each.name], given) for each in parameters}
        with called_from(caller), protecting(_paths(given, lambda name: name not in OUTPUTS)):
            check_not_input(_paths(given, OUTPUTS.__contains__))
            function(**bundled)

    update_wrapper(command, function)
    command.__doc__ = help_text(function.__doc__ or "")
    command.__annotations__ = {option.name: option.annotation for option in options}
    vars(command)["__signature__"] = Signature(options)
    return command


def _paths(given: Mapping[str, Any], wanted: Callable[[str], bool]) -> Iterator[Path]:
    """The paths among the values of the options that are wanted."""
    for name, value in given.items():
        if wanted(name):
            values = value if isinstance(value, list | tuple) else [value]
            yield from (each for each in values if isinstance(each, Path))


def help_text(docstring: str) -> str:
    """A docstring with one line for each paragraph but the examples, to fit any terminal."""
    paragraphs = [
        [line.strip() for line in paragraph.splitlines()]
        for paragraph in cleandoc(docstring).split("\n\n")
    ]
    return "\n\n".join(
        ("\n" if lines[:1] == [EXAMPLES] else " ").join(lines) for lines in paragraphs
    )


def _options(parameter: Parameter, hint: Any) -> Iterator[Parameter]:
    """A parameter as it is, or the fields of the bundle that it asks for."""
    if not is_dataclass(hint):
        yield parameter.replace(annotation=hint, kind=Parameter.KEYWORD_ONLY)
        return
    hints = get_type_hints(hint, include_extras=True)
    for each in fields(hint):
        default = Parameter.empty if each.default is MISSING else each.default
        yield from _options(
            Parameter(each.name, Parameter.KEYWORD_ONLY, default=default), hints[each.name]
        )


def _names(parameter: Parameter) -> Iterator[str]:
    """What an option is called on the command line, with underscores; of an argument, nothing."""
    for each in getattr(parameter.annotation, "__metadata__", ()):
        if isinstance(each, OptionInfo):
            given = [each.default, *(each.param_decls or ())]  # in Annotated, the first is a name
            declared = [name for name in given if isinstance(name, str)] or [parameter.name]
            yield from (name.lstrip("-").replace("-", "_") for name in declared)


def _gathered(name: str, hint: Any, given: Mapping[str, Any]) -> Any:
    """The value of a parameter: as given, or a bundle of values."""
    if not is_dataclass(hint):
        return given[name]
    hints = get_type_hints(hint, include_extras=True)
    bundle: Any = hint
    return bundle(
        **{each.name: _gathered(each.name, hints[each.name], given) for each in fields(hint)}
    )
