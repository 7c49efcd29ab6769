"""The card of an NLI model: data, recipe, how well it tells the three labels, limits."""

from collections.abc import Iterator, Mapping
from typing import Any

from histoeval.nli.manifest import hypothesis_tokens
from histoeval.table import markdown_table
from histoeval_research.evaluate.nli import COLUMNS, nli_rows
from histoeval_research.train.core.card import card

_REST = (
    "Of these, {:,} are in the wordings and of the concepts that the development set is made of: "
    "figures on made pairs below are of what was learned."
)


_COMPANIONS = (
    "{:,} pairs of sentences of one true report besides, which are learned as no contradiction."
)
_STATEMENTS = (
    "Among the others are pairs from statements that language models wrote with wordings of known "
    "effect (up to {:,} drawn)."
)
_CHANGED = "{:,} are statements of reports of which one thing was changed."
_STRANGERS = "{:,} pairs of statements of two reports besides, which are learned as not entailed."
_TEACHER = (
    ", and the answers of a teacher built on `{}`, which learned from the same pairs first and "
    "weighs {:g} of the loss ({:,} pairs of a premise and the hypothesis of another have no other "
    "answer than its own)"
)


def nli_card(results: Mapping[str, Any]) -> str:
    """The card, from what is in `results.json`."""
    settings = results["request"]["settings"]
    made = settings["pairs"]
    return card(
        results,
        "nli",
        tokens=settings["tokens"],
        hypothesis=hypothesis_tokens(settings["tokens"]),
        pairs=f"{results['samples']['pairs']:,}",
        made=f"{made['count'] + made['rest'] + made['organs']:,}",
        rest="\n".join(_besides(made)),
        teacher=_teacher(results["request"]),
        figures="".join(_figures(name, found) for name, found in results["scores"].items()),
    )


def _besides(made: Mapping[str, int]) -> Iterator[str]:
    if made["rest"]:
        yield _REST.format(made["rest"])
    sentences = {
        "statements": _STATEMENTS,
        "changed": _CHANGED,
        "companions": _COMPANIONS,
        "strangers": _STRANGERS,
    }
    for kind, sentence in sentences.items():
        if count := made.get(kind, 0):
            yield sentence.format(count)


def _teacher(request: Mapping[str, Any]) -> str:
    if (settings := request["settings"].get("teacher")) is None:
        return ""
    return _TEACHER.format(request["teacher"]["name"], settings["share"], settings["mixed"])


def _figures(name: str, found: Mapping[str, Any]) -> str:
    rows = nli_rows(found)
    shown = rows if len(rows) > 2 else rows[:1]
    error = found["calibration"]["error"]
    return f"### {name}\n\n{markdown_table(COLUMNS, shown)}\n\nCalibration error {error:.3f}.\n\n"
