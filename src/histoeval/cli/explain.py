"""`histoeval explain`: show why one pair has its score."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from histoeval.cli.options.bundle import ModelNames, spread
from histoeval.cli.options.judge import JudgeNames
from histoeval.cli.options.models import COLUMNS, EncodingOption
from histoeval.errors import HistoEvalError, InputError, SettingError

if TYPE_CHECKING:
    from histoeval.io.pairs import Columns, PairRow, PairSource
    from histoeval.metric import Metric, Score
    from histoeval.report import Pair
    from histoeval.run.models import Models

NEAR = 3
"""How many ids are named to someone who has misspelt one."""

TWO_WAYS = "give a FILE and --id ID, or two texts with --reference and --candidate"


@spread
def explain(
    inputs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="Pairs, as `histoeval score` takes them: a table; or references and then systems.",
            show_default=False,
        ),
    ] = None,
    wanted: Annotated[str | None, typer.Option("--id", help="Which pair of the FILE.")] = None,
    system: Annotated[
        str | None, typer.Option(help="Whose candidate, where several systems wrote one.")
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Reference, without a FILE; @NAME reads a file."),
    ] = None,
    candidate: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Candidate, without a FILE; @NAME reads a file."),
    ] = None,
    metric: Annotated[
        str, typer.Option(help="One metric; settings after a colon.")
    ] = "concordance",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the score as one JSON object instead.")
    ] = False,
    reference_column: Annotated[
        str | None, typer.Option(help="Column of the reference.", rich_help_panel=COLUMNS)
    ] = None,
    candidate_column: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of a candidate; give it again for each system.", rich_help_panel=COLUMNS
        ),
    ] = None,
    id_column: Annotated[
        str | None, typer.Option(help="Column that names a row.", rich_help_panel=COLUMNS)
    ] = None,
    system_column: Annotated[
        str | None,
        typer.Option(help="Column that names the system of a row.", rich_help_panel=COLUMNS),
    ] = None,
    encoding: EncodingOption = None,
    models: ModelNames = ModelNames(),
    judges: JudgeNames = JudgeNames(),
) -> None:
    """Show why one pair has its score: its parts, what matches and what is wrong.

    Exit code 0: the pair was scored; 2: it was not, and a sentence says why.
    """
    from histoeval.io.pairs import Columns

    columns = Columns(
        reference=reference_column,
        candidates=tuple(candidate_column or ()),
        id=id_column,
        system=system_column,
    )
    if reference is None and candidate is None:
        pair = _pair_of_files(inputs or [], columns, encoding, wanted, system)
    elif inputs or wanted is not None or system is not None or columns != Columns():
        raise SettingError(
            f"{TWO_WAYS}, not both; columns of a FILE are named with --reference-column NAME and "
            "--candidate-column NAME"
        )
    else:
        pair = _pair_of_texts(reference, candidate, encoding)
    made, score = _scored(metric, models.models(judges.choice()), pair)
    if as_json:
        typer.echo(_json(pair, made, score))
        return
    from histoeval.view.terminal.explanation import page, show_explanation

    show_explanation(page(), pair, score, made.range)


def _pair_of_texts(reference: str | None, candidate: str | None, encoding: str | None) -> Pair:
    from histoeval.report import Pair

    if reference is None or candidate is None:
        lacking = "--reference" if reference is None else "--candidate"
        raise SettingError(f"{lacking} is missing: two texts are compared")
    return Pair(
        id="command line",
        reference=_text(reference, "--reference", encoding),
        candidate=_text(candidate, "--candidate", encoding),
    )


def _text(given: str, option: str, encoding: str | None) -> str:
    """A text as it was given, or that of the file behind an @; refused as a cell would be."""
    from histoeval.io.tables.cell_checks import text_of
    from histoeval.io.tables.row_faults import Fault

    from_file = given.startswith("@")
    text = text_of(_read(Path(given[1:]), encoding) if from_file else given)
    if not isinstance(text, Fault):
        return text
    if from_file and text.kind == "lone_surrogate":
        text = text._replace(kind="not_utf8")
    raise InputError(text.problem(given[1:] if from_file else "command line", option).message)


def _read(path: Path, encoding: str | None) -> str:
    """The whole of a text file, but for the end of its last line."""
    from histoeval.io.files import check_there
    from histoeval.io.tables.encoding import BAD_BYTES, open_bytes, survey

    check_there(path)
    settled = survey(path, encoding).encoding
    with open_bytes(path) as (stream, _):
        text = stream.read().decode(settled, BAD_BYTES)
    return text.removesuffix("\n").removesuffix("\r")


def _pair_of_files(
    paths: Sequence[Path],
    columns: Columns,
    encoding: str | None,
    wanted: str | None,
    system: str | None,
) -> Pair:
    from histoeval.io.pairs import open_source

    if not paths:
        raise SettingError(f"nothing to explain: {TWO_WAYS}")
    source = open_source(paths, columns, encoding)
    for note in source.notes:
        typer.echo(f"{source.name}: {note}", err=True)
    if wanted is None:
        raise SettingError(f"say which pair of {source.name} to explain: --id ID{_some(source)}")
    rows = [row for row in source.rows() if row.id == wanted]
    if not rows:
        near = _near(source, wanted)
        raise InputError(f"{source.name} has no pair {wanted!r}{near or _some(source)}")
    return _chosen(rows, wanted, system)


def _chosen(rows: Sequence[PairRow], wanted: str, system: str | None) -> Pair:
    """The one pair of an id: of the system that was named, or of the only one there is."""
    systems = list(dict.fromkeys(row.system for row in rows if row.system is not None))
    named = ", ".join(map(repr, systems))
    if system is not None and system not in systems:
        raise InputError(f"{wanted!r} has no candidate of {system!r}; there are: {named}")
    if system is None and len(systems) > 1:
        raise SettingError(f"{wanted!r} has candidates of {named}: choose one with --system NAME")
    meant = [row for row in rows if system is None or row.system == system]
    for row in meant:
        if row.pair is not None:
            return row.pair
    raise InputError("; ".join(problem.message for problem in meant[0].problems))


def _near(source: PairSource, wanted: str) -> str:
    """Ids that look like the one that was asked for."""
    from rapidfuzz import fuzz, process

    ids = list(dict.fromkeys(row.id for row in source.rows()))
    found = process.extract(
        wanted, ids, scorer=fuzz.ratio, processor=str.casefold, limit=NEAR, score_cutoff=60
    )
    return f"; near it are {', '.join(repr(near) for near, *_ in found)}" if found else ""


def _some(source: PairSource) -> str:
    """The first ids there are."""
    ids: dict[str, None] = {}
    for row in source.rows():
        ids[row.id] = None
        if len(ids) > NEAR:
            break
    more = " …" if len(ids) > NEAR else ""
    return f". Its ids: {', '.join(map(repr, list(ids)[:NEAR]))}{more}"


def _scored(spec: str, models: Models, pair: Pair) -> tuple[Metric, Score]:
    from histoeval.errors import Problem
    from histoeval.run.scoring import make_metrics

    (metric,) = make_metrics([spec], models)
    if reason := metric.unavailable_reason():
        raise SettingError(f"{metric.name} {reason}")
    (answer,) = metric.score([pair])
    if isinstance(answer, Problem):
        raise HistoEvalError(f"{metric.name} could not score {pair.id!r}: {answer.message}")
    return metric, answer


def _json(pair: Pair, metric: Metric, score: Score) -> str:
    """The score in ASCII, so that nothing in a report can reach the terminal as a command."""
    return json.dumps(
        {
            "id": pair.id,
            "system": pair.system,
            "metric": metric.name,
            "value": score.value,
            "parts": score.parts,
            "evidence": score.evidence,
            "signature": str(score.signature),
        }
    )
