"""Options of `histoeval trust`: the images, the models, and how the verdict is reached."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from histoeval.cli.options.bundle import option
from histoeval.cli.options.columns import COLUMNS, EncodingOption, IdOption, TextOption
from histoeval.cli.options.models import MODELS, NliOption, PanelOption, ReaderModels
from histoeval.cli.options.vlm import (
    INPUT,
    VLM,
    LookOption,
    MergeOption,
    PictureOption,
    PromptOption,
    VlmRequestOptions,
)
from histoeval.errors import SettingError
from histoeval.pathgls.policy.policy import POLICIES
from histoeval.vlm.model import VlmConfig

VERDICT = "Verdict"
IMAGES = "Images"


@dataclass(frozen=True)
class ImageOptions:
    """Where the images are, and what is examined of them."""

    images: Annotated[
        Path | None, option("Folder of the images; that of FILE when omitted.", IMAGES)
    ] = None
    tiles: Annotated[
        str, option("Tiles of a slide to examine, spread over its tissue.", IMAGES, metavar="N|all")
    ] = "128"
    mpp: Annotated[
        float | None, option("Microns per pixel of images that do not give it.", IMAGES)
    ] = None
    seed: Annotated[
        int, option("Random seed for tile sampling, stain changes and attack sites.", IMAGES)
    ] = 0
    no_pictures: Annotated[
        bool, option("Draw no pictures of the evidence.", IMAGES, name="--no-pictures")
    ] = False

    def folder(self) -> Path | None:
        """The folder of the images, which must exist if it is given."""
        if self.images is not None and not self.images.is_dir():
            raise SettingError(f"--images {self.images} is not a folder")
        return self.images


@dataclass(frozen=True)
class VerdictOptions:
    """How the verdict is reached."""

    policy: Annotated[
        Path | None,
        option(
            f"How reports are routed: {', '.join(POLICIES)}, or a YAML file of your own; the one "
            "that fits the input when omitted. `histoeval trust policies` explains them.",
            VERDICT,
            metavar="NAME|FILE",
        ),
    ] = None
    weights: Annotated[
        str | None,
        option(
            "Weights that replace those of the policy, as in 0.4,0.3,0.3.", VERDICT, metavar="G,L,S"
        ),
    ] = None
    top: Annotated[
        str | None,
        option(
            "Contradictions that logic averages: a number of pairs, a share as in 0.3, or the "
            "smaller of both as in 0.3,3.",
            VERDICT,
            metavar="K",
        ),
    ] = None


@dataclass(frozen=True)
class TrustModels(ReaderModels):
    """Which models measure, and how they run."""

    encoder: PanelOption = None
    calibration: Annotated[
        list[Path] | None,
        option(
            "Limits of grounding measured on your own cases, as `histoeval evaluate grounding "
            "--calibration FILE` writes them; one for each encoder.",
            MODELS,
            exists=True,
            dir_okay=False,
        ),
    ] = None
    nli: NliOption = None
    distance: Annotated[
        str, option("Distance between reports: concordance, nli or embedding.", MODELS)
    ] = "concordance"


@dataclass(frozen=True)
class AttackedVlm:
    """The model that wrote the reports, where it is asked again, and what it is shown and asked."""

    endpoint: Annotated[
        str | None,
        option(
            "Server of the model that wrote the reports, which is asked again under attack: "
            "an OpenAI-compatible URL, or 'local'.",
            VLM,
        ),
    ] = None
    model: Annotated[str | None, option("Name of that model.", VLM)] = None
    attack: Annotated[
        list[str] | None,
        option(
            "Adversarial prompt, by name or YAML file; can be repeated. All known ones when "
            "omitted.",
            INPUT,
        ),
    ] = None
    prompt: PromptOption = "neutral"
    merge: MergeOption = "merge"
    look: LookOption = "tiles"
    shown_tiles: Annotated[
        int, option("Tiles of a slide that the model is shown.", INPUT, min=1)
    ] = 15
    stains: Annotated[int, option("Number of stain perturbations.", INPUT, min=1)] = 1
    picture: PictureOption = "jpeg"
    requests: VlmRequestOptions = VlmRequestOptions()

    def config(self, seed: int, device: str | None) -> VlmConfig | None:
        """The model that the options name; None where they name none."""
        if (self.endpoint is None) != (self.model is None):
            raise SettingError("the model that wrote the reports needs both --endpoint and --model")
        if self.endpoint is None or self.model is None:
            return None
        return self.requests.config(self.endpoint, self.model, seed, device)

    def examination(self) -> dict[str, Any]:
        """As `TrustOptions` takes it."""
        return {
            "neutral": self.prompt,
            "attacks": tuple(self.attack or ()),
            "merge": self.merge,
            "look": self.look,
            "tiles": self.shown_tiles,
            "stains": self.stains,
            "form": self.picture,
        }


@dataclass(frozen=True)
class ReportColumns:
    """The columns of a table of reports."""

    text: TextOption = None
    image: Annotated[str | None, option("Column with the image.", COLUMNS)] = None
    id_column: IdOption = None
    encoding: EncodingOption = None

    def named(self) -> dict[str, str | None]:
        """As `trust_reports` takes them."""
        return {
            "text": self.text,
            "image": self.image,
            "id": self.id_column,
            "encoding": self.encoding,
        }
