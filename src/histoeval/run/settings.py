"""Settings of each verb, written once: for the shell, for Python, and for the run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from histoeval.errors import SettingError
from histoeval.io.pairs import Joining
from histoeval.io.row_files import RowForm
from histoeval.io.tables.columns import (
    CANDIDATE,
    Columns,
    IdColumn,
    ReferenceColumn,
    ReferenceMode,
    SystemColumn,
)
from histoeval.io.tables.remote import local_input
from histoeval.llm.access import JUDGE_ENDPOINT, JUDGE_MODEL, RequestOptions, Temperature, VlmAccess
from histoeval.metric import Metric
from histoeval.metrics.registry import metric_entries
from histoeval.pathgls.policy.policy import POLICIES, Policy
from histoeval.run.engines.engine import INLINE, Engine
from histoeval.run.engines.local import LocalEngine
from histoeval.run.models import DEFAULT_METRICS, READING, JudgeOptions, Models, NliName
from histoeval.settings import (
    COLUMNS,
    ENGINE,
    INPUT,
    MODELS,
    REFERENCES,
    REQUESTS,
    STATISTICS,
    VLM,
    Argument,
    Keyword,
    Option,
    single_line_validation_errors,
)

if TYPE_CHECKING:
    from histoeval.judges.choice import JudgeConfig
    from histoeval.vlm.model import VlmConfig

IMAGES = "Images"

PathLike = str | Path
Texts = str | Sequence[str]

# --- settings that several verbs share ------------------------------------------------------------

Overwrite = Annotated[
    bool,
    Option(
        "Replace existing results of another run.",
        name="--overwrite",
        python="replace what `output` holds.",
    ),
]
KeepTexts = Annotated[
    bool,
    Option(
        "Keep no word of a report in the results: neither texts nor quotes in evidence.",
        name="--no-texts",
        python="whether words of reports may be in the results; see docs/privacy.md.",
    ),
]
ROW_FORM = (
    "How rows are kept when the run has ended: jsonl, jsonl.gz or parquet. By default as they are "
    "in the folder; in a new one as jsonl."
)
TextColumn = Annotated[str | None, Option("Column with the report text.", COLUMNS)]
Encoding = Annotated[str | None, Option("Encoding of text files, such as latin-1.", COLUMNS)]
Resamples = Annotated[int, Option("Resamples for confidence intervals.", STATISTICS, min=1)]
OptionalResamples = Annotated[
    int, Option("Resamples for confidence intervals; 0 for no intervals.", min=0)
]
Permutations = Annotated[int, Option("Permutations for significance tests.", STATISTICS, min=1)]
Seed = Annotated[int, Option("Random seed of the resamples.", STATISTICS, min=0)]
ModelChoice = Annotated[
    Models | None, Option("the reader, aligner, encoder and judge to use.", shell=Models)
]


def complete_metrics(incomplete: str) -> list[tuple[str, str]]:
    """Complete the last name of a comma-separated list of metrics, with their summaries."""
    prefix, comma, _ = incomplete.rpartition(",")
    return [(f"{prefix}{comma}{name}", entry.summary) for name, entry in metric_entries().items()]


def metric_option(text: str, **more: Any) -> Option:
    return Option(text, autocompletion=complete_metrics, **more)


@dataclass(frozen=True, kw_only=True)
class JoinSettings:
    truth: Annotated[
        Any,
        Option(
            "File or folder of the references; every FILE is then a system, and its reports are "
            "joined with them by id.",
            REFERENCES,
            metavar="FILE",
            shell=Path | None,
            parser=local_input,
            python="a file or folder of references, a frame, records, or texts by id; `data` then "
            "has the candidates: a file or several, or something of the kind for each system by "
            "its name.",
        ),
    ] = None
    loose_ids: Annotated[
        bool,
        Option(
            "Accept ids that differ only in file ending, case, outer spaces or zeros.", REFERENCES
        ),
    ] = False
    several_references: Annotated[
        ReferenceMode | None,
        Option(
            "What counts where a case has several references: ids that come more than once in the "
            "truth, columns reference_1, reference_2 …, or lists in JSON.",
            REFERENCES,
            name="--references",
            python='"best" or "mean": what counts where a case has several references.',
        ),
    ] = None

    @property
    def joining(self) -> Joining:
        return Joining(loose_ids=self.loose_ids, references=self.several_references)


EngineName = Literal["local", "ray", "inline"]

ENGINE_ENV = "HISTOEVAL_ENGINE"


@dataclass(frozen=True, kw_only=True)
class EngineSettings:
    engine: Annotated[
        str | Engine | None,
        Option(
            "local: processes on all cores; ray: a Ray cluster (extra ray); inline: this process. "
            "local when omitted, but inline for small inputs.",
            ENGINE,
            shell=EngineName | None,
            python='"local", processes on all cores; "ray", a Ray cluster; "inline", this process. '
            "By default local, but inline for small inputs. It never changes a result.",
        ),
    ] = None
    workers: Annotated[
        int | None,
        Option("Number of processes; one per core when omitted.", ENGINE, min=1, metavar="N"),
    ] = None
    address: Annotated[
        str | None,
        Option("Ray cluster: auto or HOST:PORT; a new one on this machine when omitted.", ENGINE),
    ] = None
    batch_size: Annotated[
        int | None,
        Option(
            "Rows per block of work; chosen by the engine when omitted.", ENGINE, min=1, metavar="N"
        ),
    ] = None

    def choose_engine(self) -> Engine:
        """Return the engine that is named, here or in the environment, or else the faster one.

        HISTOEVAL_ENGINE in the environment counts where nothing else names an engine.
        """
        name, workers = self.engine, self.workers
        if isinstance(name, Engine):
            return name
        if self.address is not None and name != "ray":
            raise SettingError("--address names a Ray cluster: it goes with --engine ray")
        if name is None and workers is None:
            name = os.environ.get(ENGINE_ENV) or None
        if name == "inline":
            if workers not in (None, 1):
                raise SettingError("--engine inline is this process alone: leave --workers out")
            return INLINE
        if name is None or name == "local":
            return LocalEngine(workers, demanded=name == "local" or workers is not None)
        if name == "ray":
            from histoeval.run.engines.ray_engine import RayEngine

            return RayEngine(workers, self.address)
        raise SettingError(f"there is no engine {name!r}; known: local, ray, inline")


JudgePrompt = Annotated[str, Option("Prompt: rubric4, expert5, or a YAML file.", REQUESTS)]
Repeats = Annotated[
    int, Option("Ask N times and report spread and agreement.", REQUESTS, min=1, metavar="N")
]


@dataclass(frozen=True)
class JudgeRequests(JudgeOptions):
    form: Annotated[
        str,
        Option(
            "How the server enforces the schema: auto (the strictest it supports), json_schema, "
            "json_object or plain.",
            REQUESTS,
            name="--format",
        ),
    ] = "auto"
    requests: RequestOptions = field(default_factory=RequestOptions)

    def required(self, **sampling: Any) -> JudgeConfig:
        manner = {**sampling, "form": self.form, "body": self.requests.body}
        with single_line_validation_errors():
            config = self.config(manner=manner, **self.requests.fields())
        if config is None:
            raise SettingError(
                f"no judge was named: pass --endpoint and --model, or set {JUDGE_ENDPOINT} and "
                f"{JUDGE_MODEL}"
            )
        return config


@dataclass(frozen=True)
class VlmRequests(RequestOptions):
    temperature: Temperature = 0.0
    access: VlmAccess = field(default_factory=VlmAccess)

    def config(self, endpoint: str, model: str, seed: int, device: str | None) -> VlmConfig:
        from histoeval.vlm.model import VlmConfig

        manner: Any = {"temperature": self.temperature, "seed": seed, "body": self.body}
        with single_line_validation_errors():
            return VlmConfig(
                endpoint=endpoint,
                model=model,
                device=device,
                manner=manner,
                **self.access.accesses(1)[0],
                **self.fields(),
            )


@dataclass(frozen=True)
class AttackedVlm:
    """The model that wrote the reports, where it is asked again."""

    endpoint: Annotated[
        str | None,
        Option(
            "Server of the model that wrote the reports, which is asked again under attack: "
            "an OpenAI-compatible URL, or 'local'.",
            VLM,
        ),
    ] = None
    model: Annotated[str | None, Option("Name of that model.", VLM)] = None
    requests: VlmRequests = field(default_factory=VlmRequests)

    def config(self, seed: int, device: str | None) -> VlmConfig | None:
        if (self.endpoint is None) != (self.model is None):
            raise SettingError("the model that wrote the reports needs both --endpoint and --model")
        if self.endpoint is None or self.model is None:
            return None
        return self.requests.config(self.endpoint, self.model, seed, device)


@dataclass(frozen=True, kw_only=True)
class ExaminationOptions:
    neutral: Annotated[
        str, Option("Prompt: neutral, fields, or a YAML file.", INPUT, name="--prompt")
    ] = "neutral"
    merge: Annotated[
        str,
        Option(
            "How reports on tiles become one: merge (by the model), a YAML prompt file, or join.",
            INPUT,
        ),
    ] = "merge"
    look: Annotated[
        Literal["tiles", "overview"],
        Option("Show a sample of tiles, or the whole slide in one picture of 1024 px.", INPUT),
    ] = "tiles"
    form: Annotated[
        Literal["jpeg", "png"],
        Option("Format in which pictures are sent.", INPUT, name="--picture"),
    ] = "jpeg"


@dataclass(frozen=True, kw_only=True)
class AttackOptions(ExaminationOptions):
    attacks: Annotated[
        Sequence[str],
        Option(
            "Adversarial prompt, by name or YAML file; can be repeated. All known ones when "
            "omitted.",
            INPUT,
            name="--attack",
        ),
    ] = ()
    tiles: Annotated[
        int, Option("Tiles of a slide that the model is shown.", INPUT, name="--shown-tiles", min=1)
    ] = 15
    stains: Annotated[int, Option("Number of stain perturbations.", INPUT, min=1)] = 1


# --- verbs ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScoreSettings(JoinSettings, EngineSettings):
    data: Annotated[
        Any,
        Argument(
            "A table (csv, tsv, jsonl, json, parquet); or, with --truth, one or more systems, "
            "each a table, a folder of text, Word or PDF files, HL7 or FHIR; or references and "
            "then systems as text files with a report per line or folders. Addresses such as "
            "s3://bucket/pairs.csv are read by fsspec.",
            shell=list[Path],
            required=True,
            metavar="FILE",
            parser=local_input,
            python="a table file (csv, tsv, jsonl, json, parquet); a list of files or folders "
            "(the references, then the candidates of each system); a polars or pandas frame; or "
            "records (dicts). With `candidates`, the reference text or texts.",
        ),
    ] = None
    candidates: Annotated[
        Texts | Mapping[str, Texts] | None,
        Keyword("the candidate text or texts, or such a list for each of several systems."),
    ] = None
    _: KW_ONLY
    references: Annotated[
        Texts | None, Keyword("the reference text or texts, in place of `data`.")
    ] = None
    metrics: Annotated[
        str | Iterable[str | Metric],
        metric_option(
            "Metrics, separated by commas; settings follow a colon, as in "
            "hare:threshold=0.5. `histoeval metrics` lists them.",
            shell=str,
            python="names as `list_metrics` gives them, with settings as in "
            "``hare:threshold=0.5``, in a list or one text with commas; or metric objects in a "
            "list.",
        ),
    ] = DEFAULT_METRICS
    output: Annotated[
        PathLike | None,
        Option("Folder for scores.jsonl and summary.json; a stopped run resumes there."),
    ] = None
    format: Annotated[str | None, Option(ROW_FORM, shell=RowForm | None)] = None
    overwrite: Overwrite = False
    texts: KeepTexts = True
    reference: ReferenceColumn = None
    candidate: Annotated[str | Sequence[str], CANDIDATE] = ()
    id: IdColumn = None
    system: SystemColumn = None
    encoding: Encoding = None
    models: ModelChoice = None

    @property
    def columns(self) -> Columns:
        candidates = (self.candidate,) if isinstance(self.candidate, str) else self.candidate
        return Columns(
            reference=self.reference, candidates=tuple(candidates), id=self.id, system=self.system
        )


@dataclass(frozen=True)
class ExtractSettings(EngineSettings):
    data: Annotated[
        Any,
        Argument(
            "A table (csv, tsv, jsonl, json, parquet), a text file with a report per line, "
            "a Word, PDF, HL7 or FHIR file, or a folder of such files.",
            shell=Path,
            metavar="FILE",
            parser=local_input,
            python="a text or a list of texts; a file (csv, tsv, jsonl, json, parquet, or txt with "
            "a report per line) or a folder of text files; a polars or pandas frame; or records.",
        ),
    ]
    _: KW_ONLY
    output: Annotated[
        PathLike | None,
        Option(
            "File for the rows (.jsonl, .jsonl.gz or .parquet); a stopped run resumes there. "
            "Without it the first reports are shown and nothing is written.",
            python="a file for the rows (.jsonl, .jsonl.gz or .parquet); a stopped run resumes "
            "there.",
        ),
    ] = None
    overwrite: Overwrite = False
    texts: KeepTexts = True
    text: TextColumn = None
    id: IdColumn = None
    encoding: Encoding = None
    models: Annotated[
        Models | None,
        Option("the reader to use; by default that of this package.", shell=Models, only=READING),
    ] = None


@dataclass(frozen=True)
class JudgeSettings(JoinSettings, EngineSettings):
    data: Annotated[
        Any,
        Argument(
            "Pairs, as for `histoeval score`.",
            shell=list[Path],
            required=True,
            metavar="FILE",
            parser=local_input,
            python="pairs, as `score` takes them.",
        ),
    ] = None
    candidates: Annotated[
        Texts | Mapping[str, Texts] | None,
        Keyword("the candidate text or texts, as `score` takes them."),
    ] = None
    _: KW_ONLY
    llm: Annotated[
        Any,
        Keyword(
            "the judge or judges, as `Endpoint`; by default the one that the environment variables "
            "HISTOEVAL_JUDGE_ENDPOINT and HISTOEVAL_JUDGE_MODEL name. A `JudgeConfig` has every "
            "other setting, and replaces repeats, check_order, temperature and seed."
        ),
    ] = None
    prompt: JudgePrompt = "rubric4"
    repeats: Repeats = 1
    check_order: Annotated[
        bool, Option("Ask again with the candidate first, and compare.", name="--check-order")
    ] = False
    temperature: Temperature = 0.0
    seed: Annotated[int, Option("Seed of the first repeat; repeat n uses seed + n.", REQUESTS)] = 0
    references: Annotated[
        Texts | None, Keyword("the reference text or texts, in place of `data`.")
    ] = None
    output: Annotated[
        PathLike | None,
        Option("Folder for scores.jsonl and the other results; a stopped run resumes there."),
    ] = None
    format: Annotated[
        str | None, Option(ROW_FORM, name="--output-format", shell=RowForm | None)
    ] = None
    overwrite: Overwrite = False
    texts: KeepTexts = True
    beside: Annotated[
        str | Iterable[str | Metric],
        Option("Metrics to compute as well, as in rubric_offline,concordance.", shell=str),
    ] = ""
    alignment: Annotated[
        PathLike | None,
        Option(
            "alignment.yaml of `histoeval judge align`: put scores where experts would.",
            python="an alignment.yaml of `align_judge`: scores are put where experts would put "
            "them, and the judge's own stay beside them.",
        ),
    ] = None
    prices: Annotated[PathLike | None, Option("TOML file with the prices of models.")] = None
    columns: Annotated[
        Columns | None, Option("of the table, where they cannot be guessed.", shell=Columns)
    ] = None
    encoding: Encoding = None
    models: Annotated[
        Models | None, Keyword("the models of the metrics that are computed as well.")
    ] = None

    @property
    def sampling(self) -> dict[str, Any]:
        names = ("repeats", "check_order", "temperature", "seed")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class TrustOptions:
    """The instruments to use, as a person names them."""

    _: KW_ONLY
    encoder: Annotated[
        Any,
        Option(
            "Grounding encoder: 'builtin', a known name (plip, quiltnet, conch, musk, medsiglip, "
            "titan), NAME=FOLDER, a CLIP model of Transformers, or open_clip:NAME. Give it several "
            "times, or a+b, for a panel whose majority decides.",
            MODELS,
            shell=list[str] | None,
            python="the image-text encoder of grounding: a name, a folder or an object; a list of "
            "them is a panel, whose majority decides.",
        ),
    ] = None
    calibration: Annotated[
        PathLike | Sequence[PathLike],
        Option(
            "Limits of grounding measured on your own cases, as `histoeval evaluate grounding "
            "--calibration FILE` writes them; one for each encoder.",
            MODELS,
            shell=list[Path] | None,
            exists=True,
            dir_okay=False,
        ),
    ] = ()
    nli: NliName = None
    distance: Annotated[
        Any, Option("Distance between reports: concordance, nli or embedding.", MODELS, shell=str)
    ] = "concordance"
    models: Annotated[Models | None, Option("the reader to use.", shell=Models, only=READING)] = (
        None
    )
    policy: Annotated[
        Policy | PathLike | None,
        Option(
            f"How reports are routed: {', '.join(POLICIES)}, or a YAML file of your own; the one "
            "that fits the input when omitted. `histoeval trust policies` explains them.",
            "Verdict",
            shell=Path | None,
            metavar="NAME|FILE",
            python=f"how reports are routed: {', '.join(POLICIES)}, a file, or a `Policy`; by "
            "default the one that fits what `data` has and `vlm` names.",
        ),
    ] = None
    weights: Annotated[
        str | None,
        Option(
            "Weights that replace those of the policy, as in 0.4,0.3,0.3.",
            "Verdict",
            metavar="G,L,S",
        ),
    ] = None
    top: Annotated[
        str | None,
        Option(
            "Contradictions that logic averages: a number of pairs, a share as in 0.3, or the "
            "smaller of both as in 0.3,3.",
            "Verdict",
            metavar="K",
        ),
    ] = None
    tiles: Annotated[
        int | str,
        Option(
            "Tiles of a slide to examine, spread over its tissue.",
            IMAGES,
            shell=str,
            metavar="N|all",
        ),
    ] = "128"
    mpp: Annotated[
        float | None, Option("Microns per pixel of images that do not give it.", IMAGES)
    ] = None
    seed: Annotated[
        int, Option("Random seed for tile sampling, stain changes and attack sites.", IMAGES)
    ] = 0
    vlm: Annotated[
        Any,
        Option(
            "the model that wrote the reports, to ask it again: an `Endpoint`, a `VlmConfig` or an "
            "object.",
            shell=AttackedVlm,
        ),
    ] = None
    examination: Annotated[
        Mapping[str, Any],
        Option(
            "what the model is asked, as `make_examination` takes it.",
            shell=AttackOptions,
            read=vars,
        ),
    ] = field(default_factory=dict)


@dataclass(frozen=True)
class TrustSettings(TrustOptions, EngineSettings):
    data: Annotated[
        Any,
        Option(
            "Table (csv, tsv, jsonl, json, parquet) with the columns id, image, report and, "
            "if no model is asked, report_augmented and report_attacked; or reports alone: a "
            "folder of text, Word or PDF files, HL7 or FHIR.",
            name="--reports",
            required=False,
            shell=Path | None,
            metavar="FILE",
            parser=local_input,
            python="a table (csv, tsv, jsonl, json, parquet), a polars or pandas frame, or records "
            "(dicts), with the columns id, image, report and, where there are any, "
            "report_augmented and report_attacked.",
        ),
    ]
    _: KW_ONLY
    output: Annotated[
        PathLike | None,
        Option(
            "Folder for trust.jsonl, summary.json, evidence and report.html; a stopped run "
            "resumes there."
        ),
    ] = None
    overwrite: Overwrite = False
    texts: KeepTexts = True
    images: Annotated[
        PathLike | None, Option("Folder of the images; that of FILE when omitted.", IMAGES)
    ] = None
    pictures: Annotated[
        bool,
        Option(
            "Draw no pictures of the evidence.",
            IMAGES,
            name="--no-pictures",
            python="draw the evidence; only with `output`.",
        ),
    ] = True
    options: Annotated[
        TrustOptions | None, Keyword("which instruments to use, in place of the arguments on them.")
    ] = None
    text: TextColumn = None
    image: Annotated[str | None, Option("Column with the image.", COLUMNS)] = None
    id: IdColumn = None
    encoding: Encoding = None
