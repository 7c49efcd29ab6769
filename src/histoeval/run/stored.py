"""Results read back from the folders that verbs have written: pairs, studies, comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from histoeval.agreement.panel import PANEL, Panel, panel_of_content
from histoeval.agreement.study import Study, StudyPlan
from histoeval.agreement.systems import Contest
from histoeval.argument_names import argument
from histoeval.errors import HistoEvalError, InputError, SettingError, did_you_mean
from histoeval.io.finished_run import KEEP, beside, finished_run, has_texts
from histoeval.io.folder_kinds import folder_kind, wrong_folder
from histoeval.io.pairs import PairRow
from histoeval.io.results import MetricResult, ResultRow, read_rows
from histoeval.io.store import read_json
from histoeval.metric import Explanation, Score, Signature
from histoeval.metrics.base import explain_pair, explained
from histoeval.metrics.registry import metric_entries
from histoeval.report import Pair, PairWithReferences
from histoeval.run.agree import Agreement
from histoeval.run.compare.compare import Comparison
from histoeval.run.compare.gate import USUAL_METRIC, Gate
from histoeval.run.compare.systems import differences, without_versions
from histoeval.run.models import Models, load_metrics

_ROUNDING = 1e-9

MAX_SUGGESTIONS = 3  # how many ids are suggested for one that does not exist
_NO_PANEL = Panel((), (), {}, {})


def read_agreement(folder: Path) -> tuple[Agreement, str]:
    """Read the study in a folder, and the command that made it if known."""
    content = read_json(folder / "agreement.json", folder)
    panel = folder / PANEL
    try:
        return Agreement(
            study=Study.model_validate(_fields(content, Study)),
            plan=StudyPlan.model_validate(content["settings"]),
            panel=panel_of_content(read_json(panel, folder)) if panel.is_file() else _NO_PANEL,
            about=content["sheet"],
            notes=tuple(content["notes"]),
            unavailable=content["unavailable"],
        ), content.get("command", "histoeval agree")
    except (KeyError, TypeError, ValidationError) as error:
        raise _damaged(folder / "agreement.json", "agree") from error


def read_comparison(folder: Path) -> Comparison:
    content = read_json(folder / "comparison.json", folder)
    try:
        gate = content.get("gate")
        return Comparison(
            metric=content["metric"],
            signature=content["signature"],
            contest=Contest.model_validate(_fields(content, Contest)),
            apart=tuple(content["most_different"]),
            left_out=content["left_out"],
            settings=content["settings"],
            notes=tuple(content["notes"]),
            gate=None if gate is None else Gate.model_validate(_fields(gate, Gate)),
        )
    except (KeyError, TypeError, ValidationError) as error:
        raise _damaged(folder / "comparison.json", "compare") from error


def _fields(content: dict[str, Any], noun: Any) -> dict[str, Any]:
    return {name: content[name] for name in noun.model_fields if name in content}


def _damaged(file: Path, verb: str) -> InputError:
    return InputError(
        f"{file} is damaged, or of another version: run the same `histoeval {verb}` command again"
    )


# --- one pair of a run ---------------------------------------------------------------------------


class ExplainedPair(NamedTuple):
    pair: Pair
    score: Explanation
    scale: tuple[float, float]
    note: str = ""


def stored_pairs(folder: Path) -> Iterator[tuple[ResultRow, Pair | None]]:
    """Yield the rows of a run of `score` or `judge`, with their pairs if the run has texts."""
    rows = ({"id": row.id, "row": row} for row in read_rows(folder))
    for entry, stored_texts in beside(rows, folder):
        row, texts = entry["row"], stored_texts or {}
        reference, candidate = texts.get("reference"), texts.get("candidate")
        if reference is None or candidate is None:
            yield row, None
            continue
        pair = Pair(
            id=row.id, reference=reference, candidate=candidate, system=row.system or "candidate"
        )
        more_references = tuple(
            text for name, text in texts.items() if name.startswith("reference_") and text
        )
        yield (
            row,
            PairWithReferences(**dict(pair), more_references=more_references)
            if more_references
            else pair,
        )


def explain_stored(
    run: Path,
    pair_id: str | None,
    system: str | None = None,
    metric: str | None = None,
    models: Models | None = None,
) -> ExplainedPair:
    """Explain the score of one pair of a finished run of `score` or `judge`, from its own files.

    Where the metric can be loaded as it was, the pair is scored again to say what each part and
    each error costs; otherwise the score is shown as it stands in the run.
    """
    kind = folder_kind(run)
    if kind is None or kind.name not in ("score", "judge"):
        raise wrong_folder(run, "is no run", "a folder of `histoeval score` or `judge`")
    folder = finished_run(run).place
    summary = read_json(folder / "summary.json", folder)
    if not has_texts(folder):
        raise _no_texts(folder, summary, pair_id, system)
    stored = list(stored_pairs(folder))
    rows = [
        PairRow(row.row, row.id, row.system, pair, () if pair else row.errors)
        for row, pair in stored
    ]
    pair = chosen_pair(str(run), lambda: rows, pair_id, system)
    row = next(row for row, stored_pair in stored if stored_pair is pair)
    metrics = summary["metrics"]
    # The metric that was named, or the one that a run is mostly about.
    judges = [name for name in metrics if name.startswith("judge") and "@" not in name]
    name = (
        metric
        or [
            *judges,
            *(name for name in metrics if name == USUAL_METRIC),
            *metrics,
        ][0]
    )
    if name not in metrics and name.startswith("judge"):
        hint = did_you_mean(name, metrics)
        raise SettingError(f"the run has no scores of {name!r}{hint}: {', '.join(metrics)}")
    if name not in metrics:
        (loaded_metric,) = load_metrics([name], models)
        return ExplainedPair(pair, explain_pair(loaded_metric, pair), loaded_metric.range)
    if (result := row.scores.get(name)) is None:
        reasons = [error.message for error in row.errors if error.metric in (name, None)]
        raise HistoEvalError(f"{name} could not score {row.id!r}: {'; '.join(reasons)}")
    return _explained(pair, result, name, metrics[name], models)


def _explained(
    pair: Pair,
    result: MetricResult,
    name: str,
    metric_summary: Mapping[str, Any],
    models: Models | None,
) -> ExplainedPair:
    """Explain a stored score; the costs of parts need the same metric with the same result."""
    signature, (low, high) = str(metric_summary["signature"]), metric_summary["range"]
    scale = (float("-inf") if low is None else low, float("inf") if high is None else high)
    if name.partition(":")[0] not in metric_entries():
        reason = "what made it is not asked again"
    else:
        (metric,) = load_metrics([name], models)
        current_signature = str(metric.signature)
        if unavailability := metric.unavailable_reason():
            reason = f"{name} {unavailability}"
        elif without_versions(current_signature) != without_versions(signature):
            reason = (
                f"the run was made otherwise than {name} is here: "
                f"{differences(signature, current_signature)}"
            )
        else:
            score = explain_pair(metric, pair)
            if abs(score.value - result.value) <= _ROUNDING:
                return ExplainedPair(pair, score, scale)
            reason = f"{name} gives {score.value:.3f} here"
    metric_name, *settings = signature.split("|")
    setting_values = {
        name: value for name, _, value in (setting.partition(":") for setting in settings)
    }
    version = setting_values.pop("histoeval", "")
    signed = Signature(
        metric=metric_name, settings=setting_values, version=version, bounds=(low, high)
    )
    score_fields = {name: getattr(result, name) for name in ("value", "parts", "evidence")}
    score = explained(Score(**score_fields, signature=signed))
    reference_info = result.evidence.get("references")
    if isinstance(pair, PairWithReferences) and isinstance(reference_info, Mapping):
        # the evidence is about this one
        pair = pair.model_copy(
            update={"reference": pair.references[int(reference_info["best"]) - 1]}
        )
    note = f"The score is that of the run, without what its parts cost: {reason}."
    return ExplainedPair(pair, score, scale, note)


def _no_texts(
    folder: Path, summary: Mapping[str, Any], pair_id: str | None, system: str | None
) -> InputError:
    source = summary["input"]
    selection = f"--id {pair_id or 'ID'}" + (f" --system {system}" if system else "")
    reason = f"{folder} has no report texts: it keeps none (--no-texts, or {KEEP}=0)"
    if source.get("format") == "memory":
        texts = f"{argument('reference', 'TEXT')} and {argument('candidate', 'TEXT')}"
        return InputError(f"{reason}. {texts} explain two texts")
    files = source["name"].replace(", ", " ")
    return InputError(f"{reason}. From its input: `histoeval explain {files} {selection}`")


def chosen_pair(
    name: str, rows: Callable[[], Iterable[PairRow]], pair_id: str | None, system: str | None
) -> Pair:
    rows_of_id = [row for row in rows() if row.id == pair_id] if pair_id is not None else []
    if not rows_of_id:
        raise _no_pair(name, list(dict.fromkeys(row.id for row in rows())), pair_id)
    systems = list(dict.fromkeys(row.system for row in rows_of_id if row.system is not None))
    names = ", ".join(map(repr, systems))
    if system is not None and system not in systems:
        hint = did_you_mean(system, systems)
        raise InputError(f"{pair_id!r} has no candidate of {system!r}{hint}; there are: {names}")
    if system is None and len(systems) > 1:
        raise SettingError(
            f"{pair_id!r} has candidates of {names}: choose one with {argument('system', 'NAME')}"
        )
    rows_of_system = [row for row in rows_of_id if system is None or row.system == system]
    for row in rows_of_system:
        if row.pair is not None:
            return row.pair
    raise InputError("; ".join(problem.message for problem in rows_of_system[0].problems))


def _no_pair(name: str, ids: list[str], pair_id: str | None) -> HistoEvalError:
    from rapidfuzz import fuzz, process

    ellipsis = " …" if len(ids) > MAX_SUGGESTIONS else ""
    hint = f". Its ids: {', '.join(map(repr, ids[:MAX_SUGGESTIONS]))}{ellipsis}"
    if pair_id is None:
        id_argument = argument("id", "ID")
        return SettingError(f"which pair of {name} should be explained? Give {id_argument}{hint}")
    match_options: Any = {"scorer": fuzz.ratio, "processor": str.casefold, "score_cutoff": 60}
    if suggestions := process.extract(pair_id, ids, limit=MAX_SUGGESTIONS, **match_options):
        hint = f"; did you mean {' or '.join(repr(id_) for id_, *_ in suggestions)}?"
    return InputError(f"{name} has no pair {pair_id!r}{hint}")
