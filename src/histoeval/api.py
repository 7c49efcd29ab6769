"""The front door for Python: every verb of `import histoeval`.

What a verb needs is imported when it is called, so that scoring with BLEU does not wait for the
statistics of `agree` or the image encoders of `trust`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from histoeval.errors import InputError, Problem, SettingError
from histoeval.metric import Metric, Score
from histoeval.metrics.registry import MetricInfo, metric_entries
from histoeval.report import Noun

if TYPE_CHECKING:
    from histoeval.run.models import Models
    from histoeval.run.results import Readings, Scores, Verdicts
    from histoeval.trust.policy.policy import Policy
    from histoeval.trust.results import Logic

DEFAULT_METRICS = "concordance,hare,bleu,rouge_l,chrf"

PathLike = str | Path
Texts = str | Sequence[str]


class Endpoint(Noun):
    """A language or vision-language model: an OpenAI-compatible server, or one in this process.

    Example:
        >>> Endpoint(url="http://localhost:8000/v1", model="Qwen/Qwen3-32B")
        >>> Endpoint(model="./my-model")  # a Transformers model here; extra [hf]
    """

    model: str
    url: str = "local"
    key_env: str | None = None
    """The environment variable that holds the API key."""
    key_file: Path | None = None
    device: str | None = None


# --- metrics as objects --------------------------------------------------------------------------


def load(spec: str, *, models: Models | None = None, **settings: Any) -> Metric:
    """A metric that is ready to use, with its models.

    The models of this package are loaded on first use and shared by all metrics of the process.

    Args:
        spec: a name as `list_metrics` gives it, with settings as in ``hare:threshold=0.5``.
        models: the reader, aligner, encoder or judge to use; those of this package when left out.
        **settings: the same settings by keyword.

    Returns:
        A metric. Call it with a reference and a candidate, or use `score`, `compute`, `update`.

    Example:
        >>> concordance = histoeval.load("concordance")
        >>> score = concordance("Left breast: invasive carcinoma.", "Right breast: benign.")
        >>> print(score)
        concordance = 0.078 (0 to 1)
    """
    from histoeval.run.models import load_metrics

    if not spec.strip() or "," in spec:
        raise SettingError(f"{spec!r} is not the name of one metric; see histoeval.list_metrics()")
    return load_metrics([spec], models, **settings)[0]


def list_metrics(*, runnable: bool = False) -> list[MetricInfo]:
    """The metrics by name, with what each compares and what it needs.

    Args:
        runnable: only those that can run here as they are. This loads the shipped models; a
            plug-in that cannot be loaded is skipped with a warning.

    Example:
        >>> [metric.name for metric in histoeval.list_metrics()][:2]
        ['hare', 'concordance']
    """
    entries = metric_entries()
    names = [name for name in entries if not runnable or _runs(name)]
    return [MetricInfo(name, entries[name].summary, entries[name].needs) for name in names]


def _runs(name: str) -> bool:
    try:
        return load(name).unavailable_reason() is None
    except Exception as error:  # noqa: BLE001 - somebody else's plug-in may raise anything
        warnings.warn(f"the metric {name!r} is skipped: {error}", stacklevel=3)
        return False


# --- one pair, one report ------------------------------------------------------------------------


def explain(
    reference: str,
    candidate: str,
    metric: str | Metric = "concordance",
    *,
    models: Models | None = None,
) -> Score:
    """The score of one pair with its parts and the evidence for them.

    Args:
        reference: the text of the reference report.
        candidate: the text of the report that is scored.
        metric: a metric or its name.
        models: the models to use where a name is given.

    Returns:
        The score: `parts` has the numbers behind it, `evidence` the matches and the errors.

    Example:
        >>> score = histoeval.explain("Left breast: carcinoma.", "Right breast: carcinoma.")
        >>> score.evidence["errors"][0]["kind"]
        'wrong_laterality'
    """
    from histoeval.run.models import load_metrics

    return load_metrics([metric], models)[0](reference, candidate)


def contradictions(
    report: str, *, models: Models | None = None, nli: Any = None, top: str | None = None
) -> Logic:
    """Whether a report contradicts itself, and where.

    Args:
        report: the text of the report.
        models: the reader to use; the one of this package when left out.
        nli: the NLI model: a folder, a hub name or an object; that of this package when left out.
        top: how many pairs of statements are averaged: a number, a share, or both as in "0.3,3".

    Returns:
        The value of logic, from 0 to 1, and the contradictions that are more likely than not. An
        `InputError` where the report has fewer than two statements to compare.

    Example:
        >>> logic = histoeval.contradictions("Left breast: carcinoma. No malignancy is seen.")
        >>> logic.contradictions[0].why
    """
    from histoeval.run.models import Models, load_entailer, load_reader
    from histoeval.run.trust.setup import top_of
    from histoeval.trust.logic.score import DEFAULT_TOP, logic_of

    models = models or Models()
    (read,) = load_reader(models).read([report])
    entailer = load_entailer(nli, models.device)
    logic = logic_of(read, entailer, top=DEFAULT_TOP if top is None else top_of(top))
    if isinstance(logic, Problem):
        raise InputError(logic.message)
    return logic


# --- many ----------------------------------------------------------------------------------------


def score(
    data: Any = None,
    candidates: Texts | Mapping[str, Sequence[str]] | None = None,
    *,
    references: Texts | None = None,
    metrics: str | Iterable[str | Metric] = DEFAULT_METRICS,
    output: PathLike | None = None,
    reference: str | None = None,
    candidate: str | Sequence[str] = (),
    id: str | None = None,  # noqa: A002 - the name people give the column
    system: str | None = None,
    encoding: str | None = None,
    models: Models | None = None,
    batch_size: int = 256,
    overwrite: bool = False,
) -> Scores:
    """Score candidates against references.

    Args:
        data: a table file (csv, tsv, jsonl, json, parquet); a list of files or folders (the
            references, then the candidates of each system); a polars or pandas frame; or
            records (dicts). With `candidates`, the reference text or texts.
        candidates: the candidate text or texts, or such a list for each of several systems.
        references: the reference text or texts, in place of `data`.
        metrics: names as `list_metrics` gives them, with settings as in ``hare:threshold=0.5``,
            in a list or one text with commas; or metric objects in a list.
        output: a folder for scores.jsonl and summary.json; a stopped run resumes there.
        reference: the column of the reference, where it cannot be guessed.
        candidate: the column or columns of candidates.
        id: the column that names a pair.
        system: the column that names the system that wrote a candidate.
        encoding: of text files, where it cannot be detected.
        models: the reader, aligner, encoder and judge to use.
        batch_size: pairs handled together; it never changes a score.
        overwrite: replace what `output` holds.

    Returns:
        A summary, the rows, and frames of them. Without `output` the rows are held in memory.

    Example:
        >>> results = histoeval.score("pairs.csv", metrics="concordance,bleu")
        >>> results.to_polars()
    """
    from histoeval.run import scoring

    if data is not None and candidates is not None and references is None:
        if _is_path(data) and _is_path(candidates):
            data, candidates = [data, candidates], None
        else:
            data, references = None, data
    return scoring.score(
        data,
        references=_listed(references),
        candidates=candidates if isinstance(candidates, Mapping) else _listed(candidates),
        metrics=metrics,
        output=output,
        reference=reference,
        candidate=candidate,
        id=id,
        system=system,
        encoding=encoding,
        models=models,
        batch_size=batch_size,
        overwrite=overwrite,
    )


def extract(
    data: Any,
    *,
    output: PathLike | None = None,
    text: str | None = None,
    id: str | None = None,  # noqa: A002 - the name people give the column
    encoding: str | None = None,
    models: Models | None = None,
    batch_size: int = 256,
    overwrite: bool = False,
) -> Readings:
    """Read reports: entities, whether they are asserted, and the relations between them.

    Args:
        data: a text or a list of texts; a file (csv, tsv, jsonl, json, parquet, or txt with a
            report per line) or a folder of text files; a polars or pandas frame; or records.
        output: a .jsonl file for the rows; a stopped run resumes there.
        text: the column of the text, where it cannot be guessed.
        id: the column that names a report.
        encoding: of text files, where it cannot be detected.
        models: the reader to use; the one of this package when left out.
        batch_size: reports handled together; it never changes what is read.
        overwrite: replace what `output` holds.

    Returns:
        A summary and the rows; `reports` has the reports themselves.

    Example:
        >>> (report,) = histoeval.extract("Left breast: invasive carcinoma.").reports
        >>> [(entity.text, entity.type) for entity in report.entities]
    """
    from histoeval.run.read_reports import is_prose, read_reports

    if isinstance(data, str) and not _is_path(data) and is_prose(data):
        data = [data]
    return read_reports(
        data,
        output=output,
        text=text,
        id=id,
        encoding=encoding,
        models=models,
        batch_size=batch_size,
        overwrite=overwrite,
    )


def trust(
    data: Any,
    *,
    images: PathLike | None = None,
    output: PathLike | None = None,
    encoder: Any = None,
    nli: Any = None,
    distance: Any = "concordance",
    policy: Policy | PathLike | None = None,
    weights: str | None = None,
    vlm: Any = None,
    examination: Mapping[str, Any] | None = None,
    top: str | None = None,
    tiles: int | str | None = None,
    mpp: float | None = None,
    seed: int = 0,
    models: Models | None = None,
    text: str | None = None,
    image: str | None = None,
    id: str | None = None,  # noqa: A002 - the name people give the column
    encoding: str | None = None,
    pictures: bool = True,
    overwrite: bool = False,
) -> Verdicts:
    """Tell how far reports can be trusted when there is no reference.

    Args:
        data: a table (csv, tsv, jsonl, json, parquet), a polars or pandas frame, or records
            (dicts), with the columns id, image, report and, where there are any, report_augmented
            and report_attacked.
        images: the folder of the images; that of the table when left out.
        output: a folder for rows, summary, pictures and a page; a stopped run resumes there.
        encoder: the image-text encoder of grounding: a name, a folder or an object.
        nli: the NLI model of logic: a name, a folder or an object.
        distance: the distance of stability: a name or an object.
        policy: weights and thresholds: a `Policy` or its file; those of the paper when left out.
        weights: of the three dimensions, as in "0.4,0.3,0.3".
        vlm: the model that wrote the reports, to ask it again: an `Endpoint`, a `VlmConfig` or an
            object.
        examination: what the model is asked, as `make_examination` takes it.
        top: how many pairs of statements logic averages: a number, a share, or both.
        tiles: how many tiles of a slide are looked at, or "all".
        mpp: micrometres per pixel of the tiles.
        seed: of everything that is drawn.
        models: the reader to use.
        text: the column of the report, where it cannot be guessed.
        image: the column that names the image.
        id: the column that names a row.
        encoding: of text files, where it cannot be detected.
        pictures: draw the evidence; only with `output`.
        overwrite: replace what `output` holds.

    Returns:
        A summary and a row per report: the three dimensions, trust, the route and the evidence.

    Example:
        >>> results = histoeval.trust("reports.csv", images="slides", output="results/trust")
        >>> results.summary["routes"]
    """
    from histoeval.run.models import Models
    from histoeval.run.trust.reports import trust_reports
    from histoeval.run.trust.setup import TrustOptions

    drawn = {} if tiles is None else {"tiles": str(tiles)}
    wanted = TrustOptions(
        encoder=encoder,
        nli=nli,
        distance=distance,
        models=models or Models(),
        policy=policy,
        weights=weights,
        top=top,
        mpp=mpp,
        seed=seed,
        subject=_vlm(vlm),
        examination=examination or {},
        **drawn,
    )
    return trust_reports(
        data,
        images=images,
        output=output,
        wanted=wanted,
        text=text,
        image=image,
        id=id,
        encoding=encoding,
        pictures=pictures,
        overwrite=overwrite,
    )


def _vlm(given: Any) -> Any:
    from histoeval.vlm.model import VlmConfig

    if not isinstance(given, Endpoint):
        return given
    settings = given.model_dump(exclude={"url"}, exclude_none=True)
    return VlmConfig(endpoint=given.url, **settings)


# --- what goes in --------------------------------------------------------------------------------


def _is_path(text: object) -> bool:
    """Whether this names a file or folder that is there, and is not a text."""
    if not isinstance(text, str | Path):
        return False
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # too long, or with characters that no name can have
        return False


def _listed(texts: Texts | None) -> Sequence[str] | None:
    return [texts] if isinstance(texts, str) else texts
