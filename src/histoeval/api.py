"""The front door for Python: every verb of `import histoeval`.

Each verb imports its dependencies when it is called, so that scoring with BLEU does not wait for
the statistics of `agree` or the image encoders of `trust`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from histoeval.argument_names import front_door, public
from histoeval.errors import InputError, Problem, SettingError
from histoeval.metric import Explanation, Metric
from histoeval.metrics.base import explain_pair, pair_of
from histoeval.metrics.registry import MetricInfo, metric_entries
from histoeval.metrics.registry import create as create_metric
from histoeval.run.models import Models, load_entailer, load_metrics, load_reader
from histoeval.run.settings import (
    ExtractSettings,
    JudgeSettings,
    PathLike,
    ScoreSettings,
    TrustOptions,
    TrustSettings,
)
from histoeval.terms.language import english_problem

if TYPE_CHECKING:
    from histoeval.pathgls.results import Logic
    from histoeval.run.results import Readings, Scores, Verdicts


@front_door
def load(
    spec: str, *, models: Models | None = None, workers: int | None = None, **settings: Any
) -> Metric:
    """Load a metric and its models, ready to use.

    The models of this package are loaded on first use and shared by all metrics of the process.

    Args:
        spec: a name as `list_metrics` gives it, with settings as in ``hare:threshold=0.5``.
        models: the reader, aligner, encoder or judge to use; by default those of this package.
        workers: share the pairs of each call out among so many processes, which stay: for a reward.
        **settings: the same settings by keyword.

    Returns:
        A metric. Call it with a reference and a candidate, or use `score`, `compute`, `update`.

    Examples:
        >>> concordance = histoeval.load("concordance")
        >>> score = concordance("Left breast: invasive carcinoma.", "Right breast: benign.")
        >>> print(score)
        concordance = 0.078 (0 to 1)
    """
    if not spec.strip() or "," in spec:
        raise SettingError(f"{spec!r} is not the name of one metric; see histoeval.list_metrics()")
    (metric,) = load_metrics([spec], models, **settings)
    if workers is None:
        return metric
    from histoeval.run.parallel_metric import ParallelMetric

    return ParallelMetric(metric, workers)


def list_metrics(*, runnable: bool = False) -> list[MetricInfo]:
    """List the metrics by name, with what each compares and what it needs.

    Args:
        runnable: only those that can run here as they are. This loads the shipped models; a
            plug-in that cannot be loaded is skipped with a warning.

    Examples:
        >>> histoeval.list_metrics()[0].name
        'hare'
    """
    metrics = []
    for name, entry in metric_entries().items():
        try:
            if not runnable or load(name).unavailable_reason() is None:
                metrics.append(MetricInfo(name, entry.summary, entry.needs, entry.untested))
        except Exception as error:  # noqa: BLE001 - whatever a plug-in raises
            warnings.warn(f"the metric {name!r} is skipped: {error}", stacklevel=2)
    return metrics


@front_door
def explain(
    reference: str | None = None,
    candidate: str | None = None,
    metric: str | Metric | None = None,
    *,
    run: PathLike | None = None,
    id: str | None = None,  # noqa: A002 - the name people give the column
    system: str | None = None,
    models: Models | None = None,
) -> Explanation:
    """Explain the score of one pair: its parts, the evidence for them, and what each of them costs.

    Args:
        reference: the text of the reference report.
        candidate: the text of the report that is scored.
        metric: a metric or its name; by default concordance, or that of the run.
        run: the folder of a finished run of `score` or `judge`, in place of two texts.
        id: which pair of the run.
        system: whose candidate, where the run has several systems.
        models: the models to use where a name is given.

    Returns:
        The score: `parts` has the numbers behind it, `breakdown` what each part takes off the
        best score, `evidence` the matches and the errors, each error with the score `without` it.

    Examples:
        >>> score = histoeval.explain("Left breast: carcinoma.", "Right breast: carcinoma.")
        >>> print(score)
        concordance = 0.722 (0 to 1)
          laterality  0.00  costs 0.278
          wrong laterality: 'Right' for 'Left'; without this error: 1.000 (+0.278)
        >>> histoeval.explain(run="results", id="case-7")
    """
    if run is not None:
        from histoeval.run.stored import explain_stored

        if reference is not None or candidate is not None:
            raise SettingError("give two texts, or run and id; not both")
        if metric is not None and not isinstance(metric, str):
            raise SettingError("name the metric: the score of a run is that of the run")
        stored = explain_stored(Path(run), id, system, metric, models)
        if stored.note:
            warnings.warn(stored.note, stacklevel=2)
        return stored.score.model_copy(update={"pair": stored.pair})
    if reference is None and candidate is None:
        raise SettingError("two texts are compared: give reference and candidate, or run and id")
    (chosen,) = load_metrics(["concordance" if metric is None else metric], models)
    return explain_pair(chosen, pair_of(reference, candidate))


@front_door
def contradictions(
    report: str, *, models: Models | None = None, nli: Any = None, top: str | None = None
) -> Logic:
    """Find contradictions within a report.

    Args:
        report: the text of the report.
        models: the reader to use; by default that of this package.
        nli: the NLI model: a folder, a hub name or an object; by default that of this package.
        top: how many pairs of statements are averaged: a number, a share, or both as in "0.3,3".

    Returns:
        The value of logic, from 0 to 1, and the contradictions that are more likely than not. An
        `InputError` where the report states nothing.

    Examples:
        >>> logic = histoeval.contradictions("Left breast: carcinoma. No malignancy is seen.")
        >>> logic.contradictions[0].why
    """
    from histoeval.pathgls.logic.score import DEFAULT_TOP, logic_of
    from histoeval.run.trust.setup import top_of

    models = models or Models()
    if no := english_problem(models.language, report=report):
        raise InputError(no.message)
    (reading,) = load_reader(models).read([report])
    entailer = load_entailer(nli, models.device)
    logic = logic_of(reading, entailer, top=DEFAULT_TOP if top is None else top_of(top))
    if isinstance(logic, Problem):
        raise InputError(logic.message)
    return logic


@public(ScoreSettings)
def score(settings: ScoreSettings) -> Scores:
    """Score candidates against references.

    Returns:
        A summary, the rows, and frames of them. Without `output` the rows are held in memory.

    Examples:
        >>> results = histoeval.score("pairs.csv", metrics="concordance,bleu")
        >>> results.to_polars()
    """
    from histoeval.run.score import run_score

    return run_score(settings)


@public(ExtractSettings)
def extract(settings: ExtractSettings) -> Readings:
    """Read reports: entities, whether they are asserted, and the relations between them.

    Returns:
        A summary and the rows; `reports` has the reports themselves.

    Examples:
        >>> (report,) = histoeval.extract("Left breast: invasive carcinoma.").reports
        >>> [(entity.text, entity.type) for entity in report.entities]
    """
    from histoeval.run.extract import run_extract
    from histoeval.run.results import Readings

    extraction = run_extract(settings)
    return Readings(extraction.summary, extraction.rows)


@public(JudgeSettings)
def judge(settings: JudgeSettings) -> Scores:
    """Have one or several language models judge candidates against references.

    Returns:
        The scores; `summary["judge"]` says how stable the answers are, `summary["usage"]` what
        they cost.

    Examples:
        >>> llm = histoeval.Endpoint(url="http://localhost:8000/v1", model="Qwen/Qwen3-32B")
        >>> histoeval.judge("pairs.csv", llm=llm, repeats=3).to_polars()
    """
    from histoeval.progress import row_progress
    from histoeval.run.judge import open_judged, run_judges

    source, panel = open_judged(settings)
    with row_progress(source, "judging") as watch:
        return run_judges(settings, source, panel, watch)


@public(TrustSettings)
def trust(settings: TrustSettings) -> Verdicts:
    """Tell how far reports can be trusted when there is no reference.

    Returns:
        A summary and a row per report: the three dimensions, trust, the route and the evidence.

    Examples:
        >>> results = histoeval.trust("reports.csv", images="slides", output="results/trust")
        >>> results.summary["routes"]
    """
    from histoeval.view.html.trust import run_trust

    return run_trust(settings)


@front_door
def write_report(
    run: PathLike, output: PathLike | None = None, *, to: str | None = None, texts: bool = True
) -> Path:
    """Make a page, a table or a text of a finished run; nothing is run again.

    Args:
        run: the folder of `score`, `judge`, `trust`, `agree`, `compare` or an experiment, or the
            file that `extract` has written.
        output: the file to write; by default report.html, report.csv … in the folder of the run.
        to: "html" is one page that opens in a browser, offline; "csv" and "xlsx" have a row for
            each pair, report or metric; "md" is the summary; "json" is everything. By default
            the ending of `output` decides.
        texts: whether words of reports may be in it.

    Returns:
        The file that was written.

    Examples:
        >>> histoeval.write_report("results")
        PosixPath('results/report.html')
    """
    from histoeval.view.run_report import write_run_report

    return write_run_report(Path(run), None if output is None else Path(output), to, texts=texts)


def create(spec: str, models: Mapping[str, object] | None = None, **settings: Any) -> Metric:
    """Deprecated name of `load`; takes models that are already loaded."""
    return load(spec, **settings) if models is None else create_metric(spec, models, **settings)


def read_reports(data: Any, **settings: Any) -> Readings:
    """Deprecated name of `extract`."""
    return extract(data, **settings)


def trust_reports(data: Any, *, wanted: TrustOptions | None = None, **settings: Any) -> Verdicts:
    """Deprecated name of `trust`."""
    return trust(data, options=wanted, **settings)
