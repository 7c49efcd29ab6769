"""`histoeval explain`: show why one pair has its score."""

import json
from operator import call
from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.output import print_lines
from histoeval.cli.verb import verb
from histoeval.errors import InputError, SettingError
from histoeval.io.files import check_there
from histoeval.io.folder_kinds import SCORES_FILES
from histoeval.io.pairs import open_source
from histoeval.io.tables.columns import Columns, IdColumn, ReferenceColumn, SystemColumn
from histoeval.io.tables.encoding import BAD_BYTES, open_bytes, survey
from histoeval.io.tables.records import Fault, text_of
from histoeval.metrics.base import explain_pair
from histoeval.report import Pair
from histoeval.run.compare.gate import USUAL_METRIC
from histoeval.run.models import Models, load_metrics
from histoeval.run.settings import Encoding, metric_option
from histoeval.run.stored import ExplainedPair, chosen_pair, explain_stored
from histoeval.settings import COLUMNS, Option
from histoeval.view.terminal.explanation import page, show_explanation

TWO_WAYS = "give a FILE or a RUN and --id ID, or two texts with --reference and --candidate"


def columns_of(
    reference_column: ReferenceColumn = None,
    candidate_column: Annotated[
        list[str] | None, Option("Column with a candidate; repeat it for each system.", COLUMNS)
    ] = None,
    id_column: IdColumn = None,
    system_column: SystemColumn = None,
) -> Columns:
    """The columns of a table of pairs, where --reference and --candidate are texts."""
    names = tuple(candidate_column or ())
    return Columns(reference=reference_column, candidates=names, id=id_column, system=system_column)


@verb
def explain(
    inputs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="Pairs, as for `histoeval score`: a table; or references and then systems. Or the "
            "folder of a finished run of `score` or `judge`.",
        ),
    ] = None,
    pair_id: Annotated[str | None, Option("Id of the pair in FILE.", name="--id")] = None,
    system: Annotated[str | None, Option("Whose candidate, if FILE has several systems.")] = None,
    reference: Annotated[
        str | None, Option("Reference, without a FILE; @NAME reads a file.", metavar="TEXT")
    ] = None,
    candidate: Annotated[
        str | None, Option("Candidate, without a FILE; @NAME reads a file.", metavar="TEXT")
    ] = None,
    metric: Annotated[
        str | None,
        metric_option(
            "One metric; settings follow a colon. When omitted: concordance, or that of the run."
        ),
    ] = None,
    as_json: Annotated[bool, Option("Print the score as one JSON object.", name="--json")] = False,
    encoding: Encoding = None,
    *,
    columns: Annotated[Columns, Option("", shell=columns_of, read=call)],
    models: Models,
) -> None:
    """Show why one pair has its score: what each part and each error costs, and what matches.

    Exit code 0: the pair was scored; 2: it was not, and a sentence says why.

    Examples:
      histoeval explain pairs.csv --id case-7
      histoeval explain results --id case-7
      histoeval explain --reference @reference.txt --candidate @candidate.txt
    """
    paths = inputs or []
    if reference is not None or candidate is not None:
        if paths or pair_id is not None or system is not None or columns != Columns():
            raise SettingError(
                f"{TWO_WAYS}, not both; columns of a FILE are named with --reference-column NAME "
                "and --candidate-column NAME"
            )
        if reference is None or candidate is None:
            missing = "--reference" if reference is None else "--candidate"
            raise SettingError(f"{missing} is missing: two texts are compared")
        pair = Pair(
            id="command line",
            reference=_text(reference, "--reference", encoding),
            candidate=_text(candidate, "--candidate", encoding),
        )
        explanation = _scored(metric, models, pair)
    elif not paths:
        raise SettingError(f"nothing to explain: {TWO_WAYS}")
    elif len(paths) == 1 and (paths[0].is_dir() or paths[0].name in SCORES_FILES):
        explanation = explain_stored(paths[0], pair_id, system, metric, models)
    else:
        source = open_source(paths, columns, encoding)
        print_lines(*[f"{source.name}: {note}" for note in source.notes], err=True)
        explanation = _scored(
            metric, models, chosen_pair(source.name, source.rows, pair_id, system)
        )
    if explanation.note:
        typer.echo(explanation.note, err=True)
    if as_json:
        score, pair = explanation.score, explanation.pair
        content = {
            "id": pair.id,
            "system": pair.system,
            "metric": score.signature.metric,
            "value": score.value,
            "parts": score.parts,
            "breakdown": [part.model_dump() for part in score.breakdown],
            "evidence": score.evidence,
            "signature": str(score.signature),
        }
        typer.echo(json.dumps(content))  # in ASCII, so that no report can steer the terminal
    else:
        show_explanation(page(), explanation.pair, explanation.score, explanation.scale)


def _text(argument: str, option: str, encoding: str | None) -> str:
    is_file_name, content = argument.startswith("@"), argument
    if is_file_name:
        check_there(path := Path(argument[1:]))
        settled = survey(path, encoding).encoding
        with open_bytes(path) as (stream, _):
            content = stream.read().decode(settled, BAD_BYTES)
        content = content.removesuffix("\n").removesuffix("\r")
    text = text_of(content)
    if not isinstance(text, Fault):
        return text
    if is_file_name and text.kind == "lone_surrogate":
        text = text._replace(kind="not_utf8")
    raise InputError(text.problem(argument[1:] if is_file_name else "command line", option).message)


def _scored(spec: str | None, models: Models, pair: Pair) -> ExplainedPair:
    (metric,) = load_metrics([spec or USUAL_METRIC], models)
    return ExplainedPair(pair, explain_pair(metric, pair), metric.range)
