"""Verbs made of functions: their settings become options of Typer, their docstring the help.

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
    """Return a command for Typer: one parameter an option, and the docstring as help text."""
    hints = get_type_hints(function, include_extras=True)
    settings = [
        setting(parameter.name, hints[parameter.name], parameter.default)
        for parameter in signature(function).parameters.values()
    ]
    options = [option for field in settings for option in _options(field)]
    caller = Caller(frozenset(option.name for option in options), is_shell=True)

    def command(**values: Any) -> None:
        with called_from(caller), protecting(_paths(values, lambda name: name not in OUTPUTS)):
            check_not_input(_paths(values, OUTPUTS.__contains__))
            function(**{field.name: _value(field, values) for field in settings})

    update_wrapper(command, function)
    command.__doc__ = help_text(function.__doc__ or "")
    command.__annotations__ = {option.name: option.annotation for option in options}
    vars(command)["__signature__"] = Signature(options)
    return command


def help_text(docstring: str) -> str:
    """Join the lines of each paragraph of a docstring but the examples, to fit any terminal."""
    paragraphs = [
        [line.strip() for line in paragraph.splitlines()]
        for paragraph in cleandoc(docstring).split("\n\n")
    ]
    return "\n\n".join(
        ("\n" if lines[:1] == [EXAMPLES] else " ").join(lines) for lines in paragraphs
    )


def _paths(options: Mapping[str, Any], is_wanted: Callable[[str], bool]) -> Iterator[Path]:
    """Yield the paths among the values of the selected options."""
    for name, value in options.items():
        if is_wanted(name):
            values = value if isinstance(value, list | tuple) else [value]
            yield from (path for path in values if isinstance(path, Path))


def _options(field: Setting) -> Iterator[Parameter]:
    """Yield a setting as an option of Typer, or the options of its model."""
    if field.is_model:
        for inner in field.settings():
            yield from _options(inner)
        return
    kind, option = field.annotation, field.option
    if isinstance(option, Argument):
        kind = Annotated[field.kind, typer.Argument(help=option.text, **option.more)]
    elif option is not None:
        names = [] if option.name is None else [option.name]
        shown = typer.Option(*names, help=option.text, rich_help_panel=option.panel, **option.more)
        kind = Annotated[field.kind, shown]
    default = field.shell_default
    yield Parameter(field.shell_name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _value(field: Setting, values: Mapping[str, Any]) -> Any:
    """Return the argument of a function: the value, parsed if need be, or a model of values."""
    value: Any
    if field.is_model:
        fields = {inner.name: _value(inner, values) for inner in field.settings()}
        with single_line_validation_errors():
            value = (
                partial(field.kind, **fields) if isfunction(field.kind) else field.kind(**fields)
            )
    else:
        value = values[field.shell_name]
        if field.is_negated:
            return not value
        if value is None and field.default in ((), {}):
            return field.default
        if field.default == ():
            value = tuple(value)
    read = None if field.option is None else field.option.read
    if read is None or value is None:
        return value
    with single_line_validation_errors():
        return read(value)
