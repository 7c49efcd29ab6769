"""The instruments of trust by name, opened once and only where the input can need them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from histoeval.callers import argument
from histoeval.errors import MissingDependency, Problem, SettingError
from histoeval.io.reports import CaseSource
from histoeval.llm.access import Endpoint
from histoeval.pathgls.grounding import encoder as encoders_of
from histoeval.pathgls.grounding.decisions import Decisions, read_calibration
from histoeval.pathgls.grounding.decoys import builtin_decoys
from histoeval.pathgls.grounding.encoder import ImageTextEncoder
from histoeval.pathgls.grounding.load import BUILTIN, open_panel, panel_names
from histoeval.pathgls.logic.score import DEFAULT_TOP, Top
from histoeval.pathgls.policy.policy import Policy, fitting_policy, read_policy, weights_of
from histoeval.pathgls.stability.distance import Distance, open_distance
from histoeval.run.models import Models, load_entailer, load_reader
from histoeval.run.settings import AttackedVlm, TrustOptions
from histoeval.run.trust.case import Instruments, TileSelection, VlmSetup

ALL = "all"
"""In place of a number: every tile of a slide."""


def open_instruments(wanted: TrustOptions, source: CaseSource) -> Instruments:
    """The instruments that are wanted, less those that no row can need."""
    layout = source.layout
    models = wanted.models or Models()
    vlm = _vlm(wanted, models.device)
    attacked = bool(layout.augmented or layout.attacked or vlm is not None)
    policy = policy_of(wanted, has_images=layout.image is not None, has_attacks=attacked)
    tiling = TileSelection(tiles_of(str(wanted.tiles)), wanted.seed, wanted.mpp)
    top = DEFAULT_TOP if wanted.top is None else top_of(wanted.top)
    encoders = () if layout.image is None else _encoders(wanted.encoder, models.device)
    calibrations = _calibrations(wanted, encoders)
    seeing = encoders if isinstance(encoders, tuple) else ()
    reader = load_reader(models)
    entailer = load_entailer(wanted.nli, models.device)
    distance: Distance = wanted.distance
    if attacked and isinstance(wanted.distance, str):
        distance = open_distance(wanted.distance, reader=reader, entailer=entailer)
    return Instruments(
        reader=reader,
        entailer=entailer,
        foreign=builtin_decoys(),
        policy=policy,
        top=top,
        tiling=tiling,
        encoder=encoders if isinstance(encoders, Problem) else next(iter(encoders), None),
        further=seeing[1:],
        calibrations=calibrations,
        distance=distance if attacked else None,
        asking=None if vlm is None else _asking(vlm, wanted),
        language=models.language,
    )


def policy_of(wanted: TrustOptions, *, has_images: bool, has_attacks: bool) -> Policy:
    """The policy that was named, or that fits the input, with the weights given beside it."""
    named = wanted.policy
    if named is None:
        named = fitting_policy(has_images=has_images, has_attacks=has_attacks)
    policy = named if isinstance(named, Policy) else read_policy(named)
    return policy if wanted.weights is None else policy.weighing(weights_of(wanted.weights))


def tiles_of(text: str) -> int | None:
    """How many tiles of a slide are looked at; None is all of them."""
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
    wanted: TrustOptions, encoders: Sequence[ImageTextEncoder] | Problem
) -> dict[str, Decisions]:
    """The user's own limits, each for the encoder that it was measured for."""
    if not wanted.calibration:
        return {}
    if isinstance(encoders, Problem):
        raise SettingError(f"{argument('calibration')} is for an image encoder: {encoders.message}")
    if not encoders:
        raise SettingError(
            f"{argument('calibration')} is for grounding, and the input names no images: add a "
            f"column image, or leave {argument('calibration')} out"
        )
    given = wanted.calibration
    paths = [given] if isinstance(given, str | Path) else given
    found = {}
    for path in paths:
        limits = read_calibration(Path(path))
        own = [each for each in encoders if encoders_of.weights_of(each.identity) == limits.encoder]
        if not own:
            raise SettingError(
                f"{path} was measured for the encoder {limits.encoder}, which is not used here; "
                "measure it again with `histoeval evaluate grounding --calibration FILE`"
            )
        if own[0].identity in found:
            raise SettingError(
                f"{path} is a second calibration of the encoder {limits.encoder}: give one for "
                "each encoder"
            )
        found[own[0].identity] = limits
    return found


def _encoders(given: Any, device: str | None) -> tuple[ImageTextEncoder, ...] | Problem:
    """The encoders; a problem where none is named and none is shipped."""
    each = given if isinstance(given, list | tuple) else [given]
    named = [isinstance(one, str | None) for one in each]
    if any(named) and not all(named):
        raise SettingError("give the encoders of a panel all by name or all as objects")
    if each and not all(named):
        return tuple(each)
    try:
        return open_panel(given, device)
    except MissingDependency as error:
        if panel_names(given) not in ([None], [BUILTIN]):
            raise
        return Problem("no_encoder", str(error))


def _vlm(wanted: TrustOptions, device: str | None) -> Any:
    """The model under test, as the shell or Python names it."""
    from histoeval.vlm.model import VlmConfig

    vlm = wanted.vlm
    if isinstance(vlm, AttackedVlm):
        return vlm.config(wanted.seed, device)
    if isinstance(vlm, Endpoint):
        named = vlm.model_dump(exclude={"url"}, exclude_none=True)
        return VlmConfig(endpoint=vlm.url, **named)
    return vlm


def _asking(vlm: Any, wanted: TrustOptions) -> VlmSetup:
    from histoeval.pathgls.stability.examine import make_examination
    from histoeval.vlm.load import load_vlm
    from histoeval.vlm.model import VlmConfig

    subject = load_vlm(vlm) if isinstance(vlm, VlmConfig) else vlm
    rest = {"seed": wanted.seed, "mpp": wanted.mpp} | dict(wanted.examination)
    return VlmSetup(subject, make_examination(**rest))
