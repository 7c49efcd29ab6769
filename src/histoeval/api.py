"""The front door for Python: every verb of `import histoeval`.

What a verb needs is imported when it is called, so that scoring with BLEU does not wait for the
statistics of `agree` or the image encoders of `trust`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from histoeval.callers import front_door
from histoeval.errors import HistoEvalError, InputError, Problem, SettingError
from histoeval.llm.access import Endpoint
from histoeval.metric import Explanation, Metric
from histoeval.metrics.base import explain_pair, pair_of
from histoeval.metrics.registry import MetricInfo, metric_entries
from histoeval.metrics.registry import create as made
from histoeval.run.engines.local import choose_engine
from histoeval.run.models import DEFAULT_METRICS, Models, load_entailer, load_metrics, load_reader
from histoeval.terms.language import english_problem

if TYPE_CHECKING:
    from histoeval.io.tables.columns import Columns, ReferenceMode
    from histoeval.judges.choice import JudgeConfig
    from histoeval.judges.panel import JudgePanel, JudgeSampling
    from histoeval.pathgls.policy.policy import Policy
    from histoeval.pathgls.results import Logic
    from histoeval.run.engines.engine import Engine
    from histoeval.run.results import Readings, Scores, Verdicts
    from histoeval.run.trust.setup import TrustOptions

PathLike = str | Path
Texts = str | Sequence[str]


# --- metrics as objects --------------------------------------------------------------------------


@front_door
def load(
    spec: str, *, models: Models | None = None, workers: int | None = None, **settings: Any
) -> Metric:
    """A metric that is ready to use, with its models.

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
    """The metrics by name, with what each compares and what it needs.

    Args:
        runnable: only those that can run here as they are. This loads the shipped models; a
            plug-in that cannot be loaded is skipped with a warning.

    Examples:
        >>> histoeval.list_metrics()[0].name
        'hare'
    """
    entries = metric_entries()
    names = [name for name in entries if not runnable or _runs(name)]
    return [
        MetricInfo(name, each.summary, each.needs, each.untested)
        for name in names
        for each in [entries[name]]
    ]


def _runs(name: str) -> bool:
    try:
        return load(name).unavailable_reason() is None
    except HistoEvalError as error:
        warnings.warn(f"the metric {name!r} is skipped: {error}", stacklevel=3)
        return False


# --- one pair, one report ------------------------------------------------------------------------


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
    """The score of one pair with its parts, the evidence for them, and what each of them costs.

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
        found = explain_stored(Path(run), id, system, metric, models)
        if found.note:
            warnings.warn(found.note, stacklevel=2)
        return found.score.model_copy(update={"pair": found.pair})
    if reference is None and candidate is None:
        raise SettingError("two texts are compared: give reference and candidate, or run and id")
    (made,) = load_metrics(["concordance" if metric is None else metric], models)
    return explain_pair(made, pair_of(reference, candidate))


@front_door
def contradictions(
    report: str, *, models: Models | None = None, nli: Any = None, top: str | None = None
) -> Logic:
    """Whether a report contradicts itself, and where.

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
    (read,) = load_reader(models).read([report])
    entailer = load_entailer(nli, models.device)
    logic = logic_of(read, entailer, top=DEFAULT_TOP if top is None else top_of(top))
    if isinstance(logic, Problem):
        raise InputError(logic.message)
    return logic


# --- many ----------------------------------------------------------------------------------------


@front_door
def score(
    data: Any = None,
    candidates: Texts | Mapping[str, Texts] | None = None,
    *,
    references: Texts | None = None,
    truth: Any = None,
    loose_ids: bool = False,
    several_references: ReferenceMode | None = None,
    metrics: str | Iterable[str | Metric] = DEFAULT_METRICS,
    output: PathLike | None = None,
    format: str | None = None,  # noqa: A002 - as the command line calls it
    reference: str | None = None,
    candidate: str | Sequence[str] = (),
    id: str | None = None,  # noqa: A002 - the name people give the column
    system: str | None = None,
    encoding: str | None = None,
    models: Models | None = None,
    batch_size: int | None = None,
    overwrite: bool = False,
    engine: str | Engine | None = None,
    workers: int | None = None,
    address: str | None = None,
    texts: bool = True,
) -> Scores:
    """Score candidates against references.

    Args:
        data: a table file (csv, tsv, jsonl, json, parquet); a list of files or folders (the
            references, then the candidates of each system); a polars or pandas frame; or
            records (dicts). With `candidates`, the reference text or texts.
        candidates: the candidate text or texts, or such a list for each of several systems.
        references: the reference text or texts, in place of `data`.
        truth: a file or folder of references, a frame, records, or texts by id; `data` then has the
            candidates: a file or several, or something of the kind for each system by its name.
        loose_ids: accept ids that differ only in file ending, case, outer spaces or zeros.
        several_references: "best" or "mean": what counts where a case has several references.
        metrics: names as `list_metrics` gives them, with settings as in ``hare:threshold=0.5``,
            in a list or one text with commas; or metric objects in a list.
        output: a folder for scores.jsonl and summary.json; a stopped run resumes there.
        format: of the rows in `output`: "jsonl", "jsonl.gz" or "parquet"; by default as they are
            there, in a new folder "jsonl".
        reference: the column of the reference, where it cannot be guessed.
        candidate: the column or columns of candidates.
        id: the column that names a pair.
        system: the column that names the system that wrote a candidate.
        encoding: of text files, where it cannot be detected.
        models: the reader, aligner, encoder and judge to use.
        batch_size: pairs handled together; by default the engine chooses.
        overwrite: replace what `output` holds.
        engine: "local", processes on all cores; "ray", a Ray cluster; "inline", this process. By
            default local, but inline for small inputs. It never changes a result.
        workers: how many processes; by default one per core.
        address: of a Ray cluster; by default a new one on this machine.
        texts: whether words of reports may be in the results; see docs/privacy.md.

    Returns:
        A summary, the rows, and frames of them. Without `output` the rows are held in memory.

    Examples:
        >>> results = histoeval.score("pairs.csv", metrics="concordance,bleu")
        >>> results.to_polars()
    """
    from histoeval.io.results import result_folder
    from histoeval.io.submissions import Joining
    from histoeval.io.tables.columns import Columns
    from histoeval.progress import row_progress
    from histoeval.run.inputs import pair_source
    from histoeval.run.score import score_source

    named = (candidate,) if isinstance(candidate, str) else tuple(candidate)
    source = pair_source(
        data,
        references=references,
        candidates=candidates,
        columns=Columns(reference=reference, candidates=named, id=id, system=system),
        encoding=encoding,
        truth=truth,
        joining=Joining(loose_ids=loose_ids, references=several_references),
    )
    with row_progress(source) as watch:
        return score_source(
            source,
            load_metrics(metrics, models),
            result_folder(output, format),
            overwrite=overwrite,
            batch_size=batch_size,
            watch=watch,
            engine=choose_engine(engine, workers, address),
            texts=texts,
        )


@front_door
def extract(
    data: Any,
    *,
    output: PathLike | None = None,
    text: str | None = None,
    id: str | None = None,  # noqa: A002 - the name people give the column
    encoding: str | None = None,
    models: Models | None = None,
    batch_size: int | None = None,
    overwrite: bool = False,
    engine: str | Engine | None = None,
    workers: int | None = None,
    address: str | None = None,
    texts: bool = True,
) -> Readings:
    """Read reports: entities, whether they are asserted, and the relations between them.

    Args:
        data: a text or a list of texts; a file (csv, tsv, jsonl, json, parquet, or txt with a
            report per line) or a folder of text files; a polars or pandas frame; or records.
        output: a file for the rows (.jsonl, .jsonl.gz or .parquet); a stopped run resumes there.
        text: the column of the text, where it cannot be guessed.
        id: the column that names a report.
        encoding: of text files, where it cannot be detected.
        models: the reader to use; by default that of this package.
        batch_size: reports handled together; by default the engine chooses.
        overwrite: replace what `output` holds.
        engine: "local", processes on all cores; "ray", a Ray cluster; "inline", this process. By
            default local, but inline for small inputs. It never changes a result.
        workers: how many processes; by default one per core.
        address: of a Ray cluster; by default a new one on this machine.
        texts: whether words of reports may be in the results; see docs/privacy.md.

    Returns:
        A summary and the rows; `reports` has the reports themselves.

    Examples:
        >>> (report,) = histoeval.extract("Left breast: invasive carcinoma.").reports
        >>> [(entity.text, entity.type) for entity in report.entities]
    """
    from histoeval.io.results import ReadRow
    from histoeval.io.store import RowStore
    from histoeval.progress import row_progress
    from histoeval.run.extract import extract as read_source
    from histoeval.run.inputs import text_source
    from histoeval.run.results import Readings

    source = text_source(data, text=text, id_=id, encoding=encoding)
    file = None if output is None else RowStore(Path(output), ReadRow.of_line)
    models = models or Models()
    reader = load_reader(models)
    with row_progress(source, "reading") as watch:
        done = read_source(
            source,
            reader,
            file=file,
            language=models.language,
            overwrite=overwrite,
            batch_size=batch_size,
            watch=watch,
            engine=choose_engine(engine, workers, address),
            texts=texts,
        )
    return Readings(done.summary, done.rows)


@front_door
def judge(
    data: Any = None,
    candidates: Texts | Mapping[str, Texts] | None = None,
    *,
    llm: Endpoint | Sequence[Endpoint] | JudgeConfig | JudgePanel | None = None,
    prompt: str = "rubric4",
    repeats: int = 1,
    check_order: bool = False,
    temperature: float = 0.0,
    seed: int = 0,
    references: Texts | None = None,
    truth: Any = None,
    loose_ids: bool = False,
    several_references: ReferenceMode | None = None,
    beside: str | Iterable[str | Metric] = (),
    alignment: PathLike | None = None,
    output: PathLike | None = None,
    format: str | None = None,  # noqa: A002 - as the command line calls it
    prices: PathLike | None = None,
    columns: Columns | None = None,
    encoding: str | None = None,
    models: Models | None = None,
    overwrite: bool = False,
    engine: str | Engine | None = None,
    workers: int | None = None,
    address: str | None = None,
    texts: bool = True,
) -> Scores:
    """Have one or several language models judge candidates against references.

    Args:
        data: pairs, as `score` takes them.
        candidates: the candidate text or texts, as `score` takes them.
        llm: the judge or judges; by default the one that the environment variables
            HISTOEVAL_JUDGE_ENDPOINT and HISTOEVAL_JUDGE_MODEL name. A `JudgeConfig` has every
            other setting, and replaces repeats, check_order, temperature and seed.
        prompt: rubric4, expert5, or a prompt file of your own.
        repeats: how often each judge is asked about each pair.
        check_order: ask once more with the candidate shown first.
        temperature: of the sampling.
        seed: of the first repeat; repeat n uses seed + n.
        references: the reference text or texts, in place of `data`.
        truth: a file or folder of references, a frame, records, or texts by id; `data` then has the
            candidates: a file or several, or something of the kind for each system by its name.
        loose_ids: accept ids that differ only in file ending, case, outer spaces or zeros.
        several_references: "best" or "mean": what counts where a case has several references.
        beside: metrics to run as well, as in "rubric_offline,concordance".
        alignment: an alignment.yaml of `align_judge`: scores are put where experts would put them,
            and the judge's own stay beside them.
        output: a folder for scores.jsonl and the rest; a stopped run resumes there.
        format: of the rows in `output`, as `score` takes it.
        prices: a TOML table of prices, for what the run costs.
        columns: of the table, where they cannot be guessed.
        encoding: of text files, where it cannot be detected.
        models: the models of the metrics that are run as well.
        overwrite: replace what `output` holds.
        engine: "inline", "local" or "ray"; servers are asked by one process of it.
        workers: how many processes; see `score`.
        address: of a Ray cluster; by default a new one on this machine.
        texts: whether words of reports may be in the results; see docs/privacy.md.

    Returns:
        The scores; `summary["judge"]` says how stable the answers are, `summary["usage"]` what
        they cost.

    Examples:
        >>> llm = histoeval.Endpoint(url="http://localhost:8000/v1", model="Qwen/Qwen3-32B")
        >>> histoeval.judge("pairs.csv", llm=llm, repeats=3).to_polars()
    """
    from histoeval.io.files import GUESS
    from histoeval.io.results import result_folder
    from histoeval.io.submissions import Joining
    from histoeval.judges.panel import JudgeSampling
    from histoeval.llm.usage import read_prices
    from histoeval.progress import row_progress
    from histoeval.run.inputs import pair_source
    from histoeval.run.judge import run_judges

    sampling = JudgeSampling(
        temperature=temperature, seed=seed, repeats=repeats, check_order=check_order
    )
    panel = _panel(llm, sampling)
    source = pair_source(
        data,
        references=references,
        candidates=candidates,
        columns=columns or GUESS,
        encoding=encoding,
        truth=truth,
        joining=Joining(loose_ids=loose_ids, references=several_references),
    )
    with row_progress(source, "judging") as watch:
        return run_judges(
            source,
            panel,
            prompt,
            read_prices(None if prices is None else Path(prices)),
            beside=load_metrics(beside, models) if beside else (),
            alignment="" if alignment is None else str(alignment),
            folder=result_folder(output, format),
            overwrite=overwrite,
            watch=watch,
            engine=choose_engine(engine, workers, address),
            texts=texts,
        )


def _panel(
    llm: Endpoint | Sequence[Endpoint] | JudgeConfig | JudgePanel | None, sampling: JudgeSampling
) -> JudgePanel:
    from histoeval.judges.choice import chosen_by_environment, open_panel, panel_of

    if llm is not None:
        return panel_of(llm, sampling)
    if (named := chosen_by_environment()) is None:
        raise SettingError("no judge: pass llm=Endpoint(url=..., model=...)")
    return open_panel(named.model_copy(update={"manner": sampling}))


@front_door
def trust(
    data: Any,
    *,
    images: PathLike | None = None,
    output: PathLike | None = None,
    encoder: Any = None,
    calibration: PathLike | Sequence[PathLike] = (),
    nli: Any = None,
    distance: Any = "concordance",
    policy: Policy | PathLike | None = None,
    weights: str | None = None,
    vlm: Any = None,
    examination: Mapping[str, Any] | None = None,
    top: str | None = None,
    tiles: int | str = 128,
    mpp: float | None = None,
    seed: int = 0,
    models: Models | None = None,
    options: TrustOptions | None = None,
    text: str | None = None,
    image: str | None = None,
    id: str | None = None,  # noqa: A002 - the name people give the column
    encoding: str | None = None,
    pictures: bool = True,
    overwrite: bool = False,
    engine: str | Engine | None = None,
    workers: int | None = None,
    address: str | None = None,
    batch_size: int | None = None,
    texts: bool = True,
) -> Verdicts:
    """Tell how far reports can be trusted when there is no reference.

    Args:
        data: a table (csv, tsv, jsonl, json, parquet), a polars or pandas frame, or records
            (dicts), with the columns id, image, report and, where there are any, report_augmented
            and report_attacked.
        images: the folder of the images; by default that of the table.
        output: a folder for rows, summary, pictures and a page; a stopped run resumes there.
        encoder: the image-text encoder of grounding: a name, a folder or an object; a list of them
            is a panel, whose majority decides.
        calibration: files with limits of grounding that were measured on your own cases by
            `histoeval evaluate grounding --calibration FILE`.
        nli: the NLI model of logic: a name, a folder or an object.
        distance: the distance of stability: a name or an object.
        policy: how reports are routed: "with_endpoint", "without_endpoint" or "text_only", a file,
            or a `Policy`; by default the one that fits what `data` has and `vlm` names.
        weights: of the three dimensions, as in "0.4,0.3,0.3".
        vlm: the model that wrote the reports, to ask it again: an `Endpoint`, a `VlmConfig` or an
            object.
        examination: what the model is asked, as `make_examination` takes it.
        top: how many pairs of statements logic averages: a number, a share, or both.
        tiles: how many tiles of a slide are looked at, or "all".
        mpp: micrometres per pixel of the tiles.
        seed: of everything that is drawn.
        models: the reader to use.
        options: all of the above from `encoder` on, in place of them.
        text: the column of the report, where it cannot be guessed.
        image: the column that names the image.
        id: the column that names a row.
        encoding: of text files, where it cannot be detected.
        pictures: draw the evidence; only with `output`.
        overwrite: replace what `output` holds.
        engine: "local", processes on all cores; "ray", a Ray cluster; "inline", this process. By
            default local, but inline for small inputs. It never changes a result.
        workers: how many processes; by default one per core.
        address: of a Ray cluster; by default a new one on this machine.
        batch_size: reports handled together; by default one.
        texts: whether words of reports may be in the results; without, there are no pictures.

    Returns:
        A summary and a row per report: the three dimensions, trust, the route and the evidence.

    Examples:
        >>> results = histoeval.trust("reports.csv", images="slides", output="results/trust")
        >>> results.summary["routes"]
    """
    from histoeval.run.inputs import case_source
    from histoeval.run.trust.setup import TrustOptions, open_instruments
    from histoeval.view.html.trust import trust_with_page

    options = options or TrustOptions(
        encoder=encoder,
        calibration=calibration,
        nli=nli,
        distance=distance,
        models=models or Models(),
        policy=policy,
        weights=weights,
        top=top,
        tiles=tiles,
        mpp=mpp,
        seed=seed,
        subject=_vlm(vlm),
        examination=examination or {},
    )
    source = case_source(data, text=text, image=image, id_=id, images=images, encoding=encoding)
    tools = open_instruments(options, source)
    folder = None if output is None else Path(output)
    return trust_with_page(
        source,
        tools,
        folder,
        pictures=pictures,
        overwrite=overwrite,
        engine=choose_engine(engine, workers, address),
        batch_size=batch_size,
        texts=texts,
    )


def _vlm(given: Any) -> Any:
    from histoeval.vlm.model import VlmConfig

    if not isinstance(given, Endpoint):
        return given
    settings = given.model_dump(exclude={"url"}, exclude_none=True)
    return VlmConfig(endpoint=given.url, **settings)


# --- what was found, for people -------------------------------------------------------------------


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


# --- old names -----------------------------------------------------------------------------------


def create(spec: str, models: Mapping[str, object] | None = None, **settings: Any) -> Metric:
    """The old name of `load`, which took models that were loaded already."""
    return load(spec, **settings) if models is None else made(spec, models, **settings)


def read_reports(data: Any, **settings: Any) -> Readings:
    """The old name of `extract`."""
    return extract(data, **settings)


def trust_reports(data: Any, *, wanted: TrustOptions | None = None, **settings: Any) -> Verdicts:
    """The old name of `trust`."""
    return trust(data, options=wanted, **settings)
