"""From Python and from the shell, an option that is left out means the same."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import histoeval
from histoeval_research.experiments.ablate import ablate
from tests.cli.test_help import COMMANDS

FUNCTIONS: dict[str, tuple[Callable[..., Any], ...]] = {
    "score": (histoeval.score,),
    "explain": (histoeval.explain,),
    "extract": (histoeval.extract,),
    "agree": (histoeval.agree,),
    "compare": (histoeval.compare,),
    "ablate": (ablate,),
    "judge file": (histoeval.judge,),
    "trust": (histoeval.trust,),
}

OTHER_NAMES = {"rater": "raters", "show": "most_different"}
"""Options that have another name in Python."""

DECIDED_LATER = {
    ("judge file", "format"),  # of answers; in Python of rows, here --output-format
    *(("explain", "reference"), ("explain", "candidate"), ("compare", "most_different")),
}
"""Options that the command line fills in itself, or that Python demands."""


def plain(value: Any) -> Any:
    """A default as it is compared: nothing is nothing, and a number may be written out."""
    if value is None or value is inspect.Parameter.empty or value in ("", (), []):
        return None
    return value if isinstance(value, bool) else str(getattr(value, "value", value))


@pytest.mark.parametrize("verb", FUNCTIONS)
def test_what_is_left_out_means_the_same(verb: str) -> None:
    compared = 0
    for function in FUNCTIONS[verb]:
        parameters = inspect.signature(function).parameters
        for option in COMMANDS[verb].params:
            name = option.name if option.name in parameters else OTHER_NAMES.get(option.name, "")
            if name not in parameters or (verb, name) in DECIDED_LATER:
                continue
            compared += 1
            shell, python = plain(option.default), plain(parameters[name].default)
            assert shell == python, f"{verb}: {option.name} is {shell}, in Python {python}"
    assert compared
