"""Options of `histoeval trust`: what is looked at, with what, and how the verdict comes about."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.options import MODELS
from histoeval.cli.subject import SHOWING, SUBJECT

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
TrustOutputOption = Annotated[
    Path | None,
    typer.Option(
        help="Folder for trust.jsonl, summary.json, evidence and report.html; a stopped run "
        "continues.",
        show_default=False,
    ),
]
ImagesOption = Annotated[
    Path | None,
    typer.Option(
        help="Folder that images are named in; that of FILE when left out.",
        rich_help_panel=IMAGES,
    ),
]
LookedAtOption = Annotated[
    str,
    typer.Option(
        metavar="N|all",
        help="Tiles of a slide that are looked at, spread over its tissue.",
        rich_help_panel=IMAGES,
    ),
]
TrustMppOption = Annotated[
    float | None,
    typer.Option(
        help="Microns per pixel, where the files do not say them.", rich_help_panel=IMAGES
    ),
]
TrustSeedOption = Annotated[
    int, typer.Option(help="Of samples of tiles, stains and sites.", rich_help_panel=IMAGES)
]
PolicyOption = Annotated[
    Path | None,
    typer.Option(
        help="YAML file with weights, thresholds and floors; the paper's weights when left out.",
        rich_help_panel=VERDICT,
    ),
]
WeightsOption = Annotated[
    str | None,
    typer.Option(
        metavar="G,L,S",
        help="Weights in place of those of the policy, as in 0.4,0.3,0.3.",
        rich_help_panel=VERDICT,
    ),
]
TopOption = Annotated[
    str | None,
    typer.Option(
        metavar="K",
        help="Contradictions that logic averages: a number of pairs, a share as in 0.3, or the "
        "fewer of both as in 0.3,3.",
        rich_help_panel=VERDICT,
    ),
]
GroundingOption = Annotated[
    str | None,
    typer.Option(
        help="Grounding encoder: 'builtin', 'plip', a CLIP model of Transformers, or "
        "open_clip:NAME.",
        rich_help_panel=MODELS,
    ),
]
NliOption = Annotated[
    str | None,
    typer.Option(
        help="NLI model: 'builtin', a folder, or a Transformers model.", rich_help_panel=MODELS
    ),
]
DistanceOption = Annotated[
    str,
    typer.Option(
        help="How far reports lie apart: concordance, nli or embedding.", rich_help_panel=MODELS
    ),
]
AskedEndpointOption = Annotated[
    str | None,
    typer.Option(
        help="Where the model that wrote the reports is asked for those under attack: an "
        "OpenAI-compatible vision server, or 'local'.",
        rich_help_panel=SUBJECT,
    ),
]
AskedModelOption = Annotated[
    str | None, typer.Option(help="Name of that model.", rich_help_panel=SUBJECT)
]
AttackOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Adversarial prompt by name or YAML file; give it again for more. All that are "
        "known when left out.",
        rich_help_panel=SHOWING,
    ),
]
ShownTilesOption = Annotated[
    int,
    typer.Option(min=1, help="Tiles of a slide that the model is shown.", rich_help_panel=SHOWING),
]
StainsOption = Annotated[
    int, typer.Option(min=1, help="Times the stain is perturbed.", rich_help_panel=SHOWING)
]
NoPicturesOption = Annotated[
    bool, typer.Option("--no-pictures", help="Draw no evidence.", rich_help_panel=IMAGES)
]
SubjectTemperatureOption = Annotated[float, typer.Option(min=0, rich_help_panel=SUBJECT)]
