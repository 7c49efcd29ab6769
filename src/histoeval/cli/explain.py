"""`histoeval explain`: show why one pair has its score."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.options.bundle import option, verb
from histoeval.cli.options.columns import COLUMNS, EncodingOption
from histoeval.cli.options.completion import metric_option
from histoeval.cli.options.judge import JudgeOptions
from histoeval.cli.options.models import MetricModels
from histoeval.errors import InputError, SettingError, did_you_mean
from histoeval.io.files import check_there
from histoeval.io.pairs import Columns, PairRow, PairSource, open_source
from histoeval.io.tables.cell_checks import text_of
from histoeval.io.tables.encoding import BAD_BYTES, open_bytes, survey
from histoeval.io.tables.row_faults import Fault
from histoeval.metric import Explanation, Metric
from histoeval.metrics.base import explain_pair
from histoeval.report import Pair
from histoeval.run.models import Models, load_metrics
from histoeval.view.terminal.explanation import page, show_explanation

MAX_SUGGESTIONS = 3
"""How many ids are suggested for one that does not exist."""

TWO_WAYS = "give a FILE and --id ID, or two texts with --reference and --candidate"


@dataclass(frozen=True)
class ExplainedColumns:
    """The columns of a table of pairs, where --reference and --candidate are texts."""

    reference_column: Annotated[str | None, option("Column with the reference.", COLUMNS)] = None
    candidate_column: Annotated[
        list[str] | None, option("Column with a candidate; repeat it for each system.", COLUMNS)
    ] = None
    id_column: Annotated[str | None, option("Column with the row id.", COLUMNS)] = None
    system_column: Annotated[str | None, option("Column with the name of the system.", COLUMNS)] = (
        None
    )

    def columns(self) -> Columns:
        """As `open_source` takes them."""
        return Columns(
            reference=self.reference_column,
            candidates=tuple(self.candidate_column or ()),
            id=self.id_column,
            system=self.system_column,
        )


@verb
def explain(
    inputs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="Pairs, as for `histoeval score`: a table; or references and then systems.",
        ),
    ] = None,
    pair_id: Annotated[str | None, option("Id of the pair in FILE.", name="--id")] = None,
    system: Annotated[str | None, option("Whose candidate, if FILE has several systems.")] = None,
    reference: Annotated[
        str | None, option("Reference, without a FILE; @NAME reads a file.", metavar="TEXT")
    ] = None,
    candidate: Annotated[
        str | None, option("Candidate, without a FILE; @NAME reads a file.", metavar="TEXT")
    ] = None,
    metric: Annotated[str, metric_option("One metric; settings follow a colon.")] = "concordance",
    as_json: Annotated[bool, option("Print the score as one JSON object.", name="--json")] = False,
    named: ExplainedColumns = ExplainedColumns(),
    encoding: EncodingOption = None,
    models: MetricModels = MetricModels(),
    judges: JudgeOptions = JudgeOptions(),
) -> None:
    """Show why one pair has its score: what each part and each error costs, and what matches.

    Exit code 0: the pair was scored; 2: it was not, and a sentence says why.

    Examples:
      histoeval explain pairs.csv --id case-7
      histoeval explain --reference @reference.txt --candidate @candidate.txt
    """
    columns = named.columns()
    if reference is None and candidate is None:
        pair = _pair_of_files(inputs or [], columns, encoding, pair_id, system)
    elif inputs or pair_id is not None or system is not None or columns != Columns():
        raise SettingError(
            f"{TWO_WAYS}, not both; columns of a FILE are named with --reference-column NAME and "
            "--candidate-column NAME"
        )
    else:
        pair = _pair_of_texts(reference, candidate, encoding)
    made, score = _scored(metric, models.models(judge=judges.config()), pair)
    if as_json:
        typer.echo(_json(pair, made, score))
    else:
        show_explanation(page(), pair, score, made.range)


def _pair_of_texts(reference: str | None, candidate: str | None, encoding: str | None) -> Pair:
    if reference is None or candidate is None:
        missing = "--reference" if reference is None else "--candidate"
        raise SettingError(f"{missing} is missing: two texts are compared")
    return Pair(
        id="command line",
        reference=_text(reference, "--reference", encoding),
        candidate=_text(candidate, "--candidate", encoding),
    )


def _text(given: str, option: str, encoding: str | None) -> str:
    """A text as given, or that of the file after an @; refused as a cell would be."""
    from_file = given.startswith("@")
    text = text_of(_read(Path(given[1:]), encoding) if from_file else given)
    if not isinstance(text, Fault):
        return text
    if from_file and text.kind == "lone_surrogate":
        text = text._replace(kind="not_utf8")
    raise InputError(text.problem(given[1:] if from_file else "command line", option).message)


def _read(path: Path, encoding: str | None) -> str:
    """The whole text file, without its last line end."""
    check_there(path)
    settled = survey(path, encoding).encoding
    with open_bytes(path) as (stream, _):
        text = stream.read().decode(settled, BAD_BYTES)
    return text.removesuffix("\n").removesuffix("\r")


def _pair_of_files(
    paths: Sequence[Path],
    columns: Columns,
    encoding: str | None,
    pair_id: str | None,
    system: str | None,
) -> Pair:
    if not paths:
        raise SettingError(f"nothing to explain: {TWO_WAYS}")
    source = open_source(paths, columns, encoding)
    for note in source.notes:
        typer.echo(f"{source.name}: {note}", err=True)
    if pair_id is None:
        raise SettingError(
            f"which pair of {source.name} should be explained? Give --id ID{_first_ids(source)}"
        )
    rows = [row for row in source.rows() if row.id == pair_id]
    if not rows:
        hint = _similar_ids(source, pair_id) or _first_ids(source)
        raise InputError(f"{source.name} has no pair {pair_id!r}{hint}")
    return _chosen(rows, pair_id, system)


def _chosen(rows: Sequence[PairRow], pair_id: str, system: str | None) -> Pair:
    """The pair of the system that was named, or of the only one."""
    systems = list(dict.fromkeys(row.system for row in rows if row.system is not None))
    names = ", ".join(map(repr, systems))
    if system is not None and system not in systems:
        guess = did_you_mean(system, systems)
        raise InputError(f"{pair_id!r} has no candidate of {system!r}{guess}; there are: {names}")
    if system is None and len(systems) > 1:
        raise SettingError(f"{pair_id!r} has candidates of {names}: choose one with --system NAME")
    chosen = [row for row in rows if system is None or row.system == system]
    for row in chosen:
        if row.pair is not None:
            return row.pair
    raise InputError("; ".join(problem.message for problem in chosen[0].problems))


def _similar_ids(source: PairSource, pair_id: str) -> str:
    """Ids that are spelt almost like this one."""
    from rapidfuzz import fuzz, process

    ids = list(dict.fromkeys(row.id for row in source.rows()))
    found = process.extract(
        pair_id,
        ids,
        scorer=fuzz.ratio,
        processor=str.casefold,
        limit=MAX_SUGGESTIONS,
        score_cutoff=60,
    )
    return f"; did you mean {' or '.join(repr(near) for near, *_ in found)}?" if found else ""


def _first_ids(source: PairSource) -> str:
    ids: dict[str, None] = {}
    for row in source.rows():
        ids[row.id] = None
        if len(ids) > MAX_SUGGESTIONS:
            break
    more = " …" if len(ids) > MAX_SUGGESTIONS else ""
    return f". Its ids: {', '.join(map(repr, list(ids)[:MAX_SUGGESTIONS]))}{more}"


def _scored(spec: str, models: Models, pair: Pair) -> tuple[Metric, Explanation]:
    (metric,) = load_metrics([spec], models)
    return metric, explain_pair(metric, pair)


def _json(pair: Pair, metric: Metric, score: Explanation) -> str:
    """The score in ASCII, so that nothing in a report can reach the terminal as a command."""
    return json.dumps(
        {
            "id": pair.id,
            "system": pair.system,
            "metric": metric.name,
            "value": score.value,
            "parts": score.parts,
            "breakdown": [each.model_dump() for each in score.breakdown],
            "evidence": score.evidence,
            "signature": str(score.signature),
        }
    )
