"""The instruments of trust by name, opened once and only where the input can need them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from histoeval.argument_names import argument
from histoeval.errors import MissingDependency, Problem, SettingError
from histoeval.io.reports import CaseSource
from histoeval.llm.access import Endpoint
from histoeval.pathgls.grounding.decisions import Decisions, read_calibration
from histoeval.pathgls.grounding.decoys import builtin_decoys
from histoeval.pathgls.grounding.encoder import ImageTextEncoder
from histoeval.pathgls.grounding.encoder import weights_of as weights_hash
from histoeval.pathgls.grounding.load import BUILTIN, open_panel, panel_names
from histoeval.pathgls.logic.score import DEFAULT_TOP, Top
from histoeval.pathgls.policy.policy import Policy, fitting_policy, read_policy, weights_of
from histoeval.pathgls.stability.distance import Distance, open_distance
from histoeval.run.models import Models, load_entailer, load_reader
from histoeval.run.settings import AttackedVlm, TrustOptions
from histoeval.run.trust.reports import Instruments, TileSelection, VlmSetup

ALL = "all"  # in place of a number: every tile of a slide


def open_instruments(wanted: TrustOptions, source: CaseSource) -> Instruments:
    """Open the instruments that are wanted, except those that no row can need."""
    layout = source.layout
    models = wanted.models or Models()
    vlm = _vlm(wanted, models.device)
    has_attacks = bool(layout.augmented or layout.attacked or vlm is not None)
    policy = wanted.policy
    if policy is None:
        policy = fitting_policy(has_images=layout.image is not None, has_attacks=has_attacks)
    if not isinstance(policy, Policy):
        policy = read_policy(policy)
    if wanted.weights is not None:
        policy = policy.weighing(weights_of(wanted.weights))
    tiling = TileSelection(tiles_of(str(wanted.tiles)), wanted.seed, wanted.mpp)
    top = DEFAULT_TOP if wanted.top is None else top_of(wanted.top)
    encoders = () if layout.image is None else _encoders(wanted.encoder, models.device)
    calibrations = _calibrations(wanted, encoders)
    reader = load_reader(models)
    entailer = load_entailer(wanted.nli, models.device)
    distance: Distance = wanted.distance
    if has_attacks and isinstance(wanted.distance, str):
        distance = open_distance(wanted.distance, reader=reader, entailer=entailer)
    return Instruments(
        reader=reader,
        entailer=entailer,
        decoys=builtin_decoys(),
        policy=policy,
        top=top,
        tiling=tiling,
        encoders=() if isinstance(encoders, Problem) else encoders,
        no_encoder=encoders if isinstance(encoders, Problem) else None,
        calibrations=calibrations,
        distance=distance if has_attacks else None,
        vlm_setup=None if vlm is None else _vlm_setup(vlm, wanted),
        language=models.language,
    )


def tiles_of(text: str) -> int | None:
    """Number of tiles of a slide to look at; None is all of them."""
    if text.strip().lower() == ALL:
        return None
    if not text.strip().isdecimal() or int(text) < 1:
        raise SettingError(f"{text!r} is no number of tiles: give 1 or more, or 'all'")
    return int(text)


def top_of(text: str) -> Top:
    """K as a person writes it: a number of pairs, `3`, a share of them, `0.3` or `30%`, or both."""
    try:
        top: dict[str, float] = {}
        for part in map(str.strip, text.split(",")):
            name = "number" if part.isdecimal() else "share"
            if name in top:
                raise ValueError
            if part.isdecimal():
                top[name] = int(part)
            else:
                top[name] = float(part[:-1]) / 100 if part.endswith("%") else float(part)
        return Top.model_validate(top)
    except ValueError as error:
        raise SettingError(
            f"{text!r} is no K: give a number of pairs, as in 3, a share of them, as in 0.3, or "
            "both for the fewer, as in 0.3,3"
        ) from error


def _calibrations(
    options: TrustOptions, encoders: Sequence[ImageTextEncoder] | Problem
) -> dict[str, Decisions]:
    if not options.calibration:
        return {}
    if isinstance(encoders, Problem):
        raise SettingError(f"{argument('calibration')} is for an image encoder: {encoders.message}")
    if not encoders:
        raise SettingError(
            f"{argument('calibration')} is for grounding, and the input names no images: add a "
            f"column image, or leave {argument('calibration')} out"
        )
    paths = options.calibration
    calibrations: dict[str, Decisions] = {}
    for path in [paths] if isinstance(paths, str | Path) else paths:
        limits = read_calibration(Path(path))
        identities = [
            encoder.identity
            for encoder in encoders
            if weights_hash(encoder.identity) == limits.encoder
        ]
        if not identities:
            raise SettingError(
                f"{path} was measured for the encoder {limits.encoder}, which is not used here; "
                "measure it again with `histoeval evaluate grounding --calibration FILE`"
            )
        if identities[0] in calibrations:
            raise SettingError(
                f"{path} is a second calibration of the encoder {limits.encoder}: give one for "
                "each encoder"
            )
        calibrations[identities[0]] = limits
    return calibrations


def _encoders(encoder_choice: Any, device: str | None) -> tuple[ImageTextEncoder, ...] | Problem:
    """Open the encoders; a problem if none is named and none is shipped."""
    encoders = encoder_choice if isinstance(encoder_choice, list | tuple) else [encoder_choice]
    are_names = [isinstance(encoder, str | None) for encoder in encoders]
    if any(are_names) and not all(are_names):
        raise SettingError("give the encoders of a panel all by name or all as objects")
    if encoders and not all(are_names):
        return tuple(encoders)
    try:
        return open_panel(encoder_choice, device)
    except MissingDependency as error:
        if panel_names(encoder_choice) not in ([None], [BUILTIN]):
            raise
        return Problem("no_encoder", str(error))


def _vlm(options: TrustOptions, device: str | None) -> Any:
    from histoeval.vlm.model import VlmConfig

    vlm = options.vlm
    if isinstance(vlm, AttackedVlm):
        return vlm.config(options.seed, device)
    if isinstance(vlm, Endpoint):
        endpoint_fields = vlm.model_dump(exclude={"url"}, exclude_none=True)
        return VlmConfig(endpoint=vlm.url, **endpoint_fields)
    return vlm


def _vlm_setup(vlm: Any, options: TrustOptions) -> VlmSetup:
    from histoeval.pathgls.stability.examine import make_examination
    from histoeval.vlm.load import load_vlm
    from histoeval.vlm.model import VlmConfig

    model = load_vlm(vlm) if isinstance(vlm, VlmConfig) else vlm
    examination_options = {"seed": options.seed, "mpp": options.mpp} | dict(options.examination)
    return VlmSetup(model, make_examination(**examination_options))
