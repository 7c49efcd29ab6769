"""Shows public functions with the arguments that their settings models give them."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import griffe

MADE_BY = ("public", "documented")
"""Decorators that add arguments, or what is said of them."""


class Signatures(griffe.Extension):
    """Takes signature and docstring of a decorated function from the function itself."""

    def on_function_instance(self, *, func: griffe.Function, **_: Any) -> None:
        """Read one function anew where its source does not show its arguments."""
        names = {str(each.value).partition("(")[0] for each in func.decorators}
        if not names & set(MADE_BY) or func.docstring is None:
            return
        function = getattr(import_module(func.module.path), func.name)
        func.docstring.value = inspect.getdoc(function) or ""
        func.parameters = griffe.Parameters(
            *(_parameter(each) for each in inspect.signature(function).parameters.values())
        )


def _parameter(each: inspect.Parameter) -> griffe.Parameter:
    kind = griffe.ParameterKind[each.kind.name.lower()]
    annotation = inspect.formatannotation(each.annotation)
    default = None if each.default is each.empty else repr(each.default)
    return griffe.Parameter(each.name, annotation=annotation, kind=kind, default=default)
