"""Makes verbs of functions: their settings become options of Typer, their docstring the help.

A `verb` asks for single settings, or for settings models: on the command line the fields of a model
are options like all others, and the function gets them as one object. A model may hold models.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial, update_wrapper
from inspect import Parameter, Signature, cleandoc, isfunction, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from histoeval.argument_names import Caller, called_from
from histoeval.io.writing import check_not_input, protecting
from histoeval.settings import Argument, Setting, setting, single_line_validation_errors

# what options and arguments are called that name what is written
OUTPUTS = ("output", "out", "errors", "log_requests", "markdown", "junit")
# the paragraph of a docstring that starts so keeps its line breaks in the help
EXAMPLES = "Examples:"


def verb(function: Callable[..., None]) -> Callable[..., None]:
    """A function as Typer takes it: one parameter an option, and its docstring as help text."""
    hints = get_type_hints(function, include_extras=True)
    settings = [
        setting(each.name, hints[each.name], each.default)
        for each in signature(function).parameters.values()
    ]
    options = [option for each in settings for option in _options(each)]
    caller = Caller(frozenset(option.name for option in options), is_shell=True)

    def command(**given: Any) -> None:
        with called_from(caller), protecting(_paths(given, lambda name: name not in OUTPUTS)):
            check_not_input(_paths(given, OUTPUTS.__contains__))
            function(**{each.name: _value(each, given) for each in settings})

    update_wrapper(command, function)
    command.__doc__ = help_text(function.__doc__ or "")
    command.__annotations__ = {option.name: option.annotation for option in options}
    vars(command)["__signature__"] = Signature(options)
    return command


def help_text(docstring: str) -> str:
    """A docstring with one line for each paragraph but the examples, to fit any terminal."""
    paragraphs = [
        [line.strip() for line in paragraph.splitlines()]
        for paragraph in cleandoc(docstring).split("\n\n")
    ]
    return "\n\n".join(
        ("\n" if lines[:1] == [EXAMPLES] else " ").join(lines) for lines in paragraphs
    )


def _paths(given: Mapping[str, Any], wanted: Callable[[str], bool]) -> Iterator[Path]:
    """The paths among the values of the options that are wanted."""
    for name, value in given.items():
        if wanted(name):
            values = value if isinstance(value, list | tuple) else [value]
            yield from (each for each in values if isinstance(each, Path))


def _options(each: Setting) -> Iterator[Parameter]:
    """A setting as an option of Typer, or the options of the model that it asks for."""
    if each.is_model:
        for inner in each.settings():
            yield from _options(inner)
        return
    kind, option = each.annotation, each.option
    if isinstance(option, Argument):
        kind = Annotated[each.kind, typer.Argument(help=option.text, **option.more)]
    elif option is not None:
        names = [] if option.name is None else [option.name]
        shown = typer.Option(*names, help=option.text, rich_help_panel=option.panel, **option.more)
        kind = Annotated[each.kind, shown]
    default = each.shell_default
    yield Parameter(each.shell_name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _value(each: Setting, given: Mapping[str, Any]) -> Any:
    """What the function gets: the value as given or as it is read, or a model of such values."""
    value: Any
    if each.is_model:
        fields = {inner.name: _value(inner, given) for inner in each.settings()}
        with single_line_validation_errors():
            value = partial(each.kind, **fields) if isfunction(each.kind) else each.kind(**fields)
    else:
        value = given[each.shell_name]
        if each.is_negated:
            return not value
        if value is None and each.default in ((), {}):
            return each.default
        if each.default == ():
            value = tuple(value)
    read = None if each.option is None else each.option.read
    if read is None or value is None:
        return value
    with single_line_validation_errors():
        return read(value)
