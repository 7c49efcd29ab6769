"""Options of `histoeval trust`: what is looked at, with what, and how the verdict comes about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from histoeval.cli.options.bundle import bundle
from histoeval.cli.options.models import (
    COLUMNS,
    MODELS,
    DeviceOption,
    DtypeOption,
    EncodingOption,
    IdOption,
    LabelsOption,
    ReaderOption,
    RelationsOption,
)
from histoeval.cli.options.vlm import (
    SHOWING,
    SUBJECT,
    LookOption,
    MergeOption,
    PictureOption,
    PromptOption,
    VlmRequestOptions,
)
from histoeval.errors import SettingError

if TYPE_CHECKING:
    from histoeval.run.models import Models
    from histoeval.vlm.model import VlmConfig

VERDICT = "The verdict"
IMAGES = "Images"

ReportsOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Table (csv, tsv, jsonl, json, parquet) with the columns id, image, report and, "
        "where no model is asked, report_augmented and report_attacked.",
        show_default=False,
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        help="Folder for trust.jsonl, summary.json, evidence and report.html; a stopped run "
        "continues.",
        show_default=False,
    ),
]


@bundle
class ImageOptions:
    """Where the images are, and what is looked at of them."""

    images: Annotated[
        Path | None,
        typer.Option(
            help="Folder that images are named in; that of FILE when left out.",
            rich_help_panel=IMAGES,
        ),
    ] = None
    tiles: Annotated[
        str,
        typer.Option(
            metavar="N|all",
            help="Tiles of a slide that are looked at, spread over its tissue.",
            rich_help_panel=IMAGES,
        ),
    ] = "128"
    mpp: Annotated[
        float | None,
        typer.Option(
            help="Microns per pixel, where the files do not say them.", rich_help_panel=IMAGES
        ),
    ] = None
    seed: Annotated[
        int, typer.Option(help="Of samples of tiles, stains and sites.", rich_help_panel=IMAGES)
    ] = 0
    no_pictures: Annotated[
        bool, typer.Option("--no-pictures", help="Draw no evidence.", rich_help_panel=IMAGES)
    ] = False

    def folder(self) -> Path | None:
        """The folder of the images, which must be there where one is named."""
        if self.images is not None and not self.images.is_dir():
            raise SettingError(f"--images {self.images} is not a folder")
        return self.images


@bundle
class VerdictOptions:
    """How the verdict comes about."""

    policy: Annotated[
        Path | None,
        typer.Option(
            help="YAML file with weights, thresholds and floors; the paper's weights when left "
            "out.",
            rich_help_panel=VERDICT,
        ),
    ] = None
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="G,L,S",
            help="Weights in place of those of the policy, as in 0.4,0.3,0.3.",
            rich_help_panel=VERDICT,
        ),
    ] = None
    top: Annotated[
        str | None,
        typer.Option(
            metavar="K",
            help="Contradictions that logic averages: a number of pairs, a share as in 0.3, or the "
            "fewer of both as in 0.3,3.",
            rich_help_panel=VERDICT,
        ),
    ] = None


@bundle
class TrustModels:
    """Which models measure, and how they run."""

    encoder: Annotated[
        str | None,
        typer.Option(
            help="Grounding encoder: 'builtin', 'plip', a CLIP model of Transformers, or "
            "open_clip:NAME.",
            rich_help_panel=MODELS,
        ),
    ] = None
    nli: Annotated[
        str | None,
        typer.Option(
            help="NLI model: 'builtin', a folder, or a Transformers model.", rich_help_panel=MODELS
        ),
    ] = None
    distance: Annotated[
        str,
        typer.Option(
            help="How far reports lie apart: concordance, nli or embedding.", rich_help_panel=MODELS
        ),
    ] = "concordance"
    reader: ReaderOption = None
    relations: RelationsOption = None
    labels: LabelsOption = None
    device: DeviceOption = None
    dtype: DtypeOption = None

    def reading(self) -> Models:
        """The models that read reports."""
        from histoeval.io.annotation.names import read_labels
        from histoeval.run.models import Models

        return Models(
            reader=self.reader,
            relations=self.relations,
            labels=None if self.labels is None else read_labels(self.labels),
            device=self.device,
            dtype=self.dtype,
        )


@bundle
class AttackedSubject:
    """The model that wrote the reports, where it is asked again, and what it is shown and asked."""

    endpoint: Annotated[
        str | None,
        typer.Option(
            help="Where the model that wrote the reports is asked for those under attack: an "
            "OpenAI-compatible vision server, or 'local'.",
            rich_help_panel=SUBJECT,
        ),
    ] = None
    model: Annotated[
        str | None, typer.Option(help="Name of that model.", rich_help_panel=SUBJECT)
    ] = None
    attack: Annotated[
        list[str] | None,
        typer.Option(
            help="Adversarial prompt by name or YAML file; give it again for more. All that are "
            "known when left out.",
            rich_help_panel=SHOWING,
        ),
    ] = None
    prompt: PromptOption = "neutral"
    merge: MergeOption = "merge"
    look: LookOption = "tiles"
    shown_tiles: Annotated[
        int,
        typer.Option(
            min=1, help="Tiles of a slide that the model is shown.", rich_help_panel=SHOWING
        ),
    ] = 15
    stains: Annotated[
        int, typer.Option(min=1, help="Times the stain is perturbed.", rich_help_panel=SHOWING)
    ] = 1
    picture: PictureOption = "jpeg"
    asking: VlmRequestOptions = VlmRequestOptions()

    def choice(self, seed: int, device: str | None) -> VlmConfig | None:
        """The model that options name; None where they name none."""
        if (self.endpoint is None) != (self.model is None):
            raise SettingError(
                "the model that wrote the reports is named by --endpoint and --model"
            )
        if self.endpoint is None or self.model is None:
            return None
        return self.asking.choice(self.endpoint, self.model, seed, device)

    def examination(self) -> dict[str, Any]:
        """As the describing of images takes it."""
        return {
            "neutral": self.prompt,
            "attacks": tuple(self.attack or ()),
            "merge": self.merge,
            "look": self.look,
            "tiles": self.shown_tiles,
            "stains": self.stains,
            "form": self.picture,
        }


@bundle
class ReportColumns:
    """Which columns of a table of reports hold what."""

    text: Annotated[
        str | None, typer.Option(help="Column of the report.", rich_help_panel=COLUMNS)
    ] = None
    image: Annotated[
        str | None, typer.Option(help="Column of the image.", rich_help_panel=COLUMNS)
    ] = None
    id_column: IdOption = None
    encoding: EncodingOption = None

    def named(self) -> dict[str, str | None]:
        """As the reading of tables of reports takes them."""
        return {
            "text": self.text,
            "image": self.image,
            "id": self.id_column,
            "encoding": self.encoding,
        }
