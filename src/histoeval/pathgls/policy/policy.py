"""The policy: how much each dimension counts, and from which trust on a report is deployed."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

import yaml
from pydantic import Field, ValidationError, model_validator

from histoeval.errors import InputError, SettingError, did_you_mean, explain_validation
from histoeval.io.settings_files import read_yaml
from histoeval.pathgls.results import Share
from histoeval.report import Noun
from histoeval.resources import resource_path

WITH_ENDPOINT, WITHOUT_ENDPOINT, TEXT_ONLY = "with_endpoint", "without_endpoint", "text_only"

_SHIPPED = sorted(file.stem for file in resource_path("pathgls/policy").glob("*.yaml"))
# From the one that needs most to the one that needs the report alone, and any other in the folder
POLICIES = tuple(dict.fromkeys((WITH_ENDPOINT, WITHOUT_ENDPOINT, TEXT_ONLY, *_SHIPPED)))


def fitting_policy(*, has_images: bool, has_attacks: bool) -> str:
    """The policy for reports with images or not, and with reports under attack or not."""
    if not has_images:
        return TEXT_ONLY
    return WITH_ENDPOINT if has_attacks else WITHOUT_ENDPOINT


def policy_file(named: Path | str) -> Path:
    name = str(named)
    if name in POLICIES:
        return resource_path(f"pathgls/policy/{name}.yaml")
    path = Path(named)
    if path.suffix or path.exists():
        return path
    guess = did_you_mean(name, POLICIES)
    raise SettingError(
        f"there is no policy {name!r}{guess}; known: {', '.join(POLICIES)}; or name a .yaml file"
    )


Dimension = Literal["grounding", "logic", "stability"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)

Text = Annotated[str, Field(min_length=1)]

ROUNDING = 1e-9
"""Numbers that differ by less are the same: weights that sum to 1, trust at a threshold."""


class DimensionWeights(Noun):
    """Weight of each dimension; together 1."""

    grounding: Share
    logic: Share
    stability: Share

    @model_validator(mode="after")
    def _sum_to_one(self) -> Self:
        total = math.fsum(self.numbers)
        if abs(total - 1.0) > ROUNDING:
            raise ValueError(f"the weights sum to {total:g}, and must sum to 1")
        return self

    @property
    def numbers(self) -> tuple[float, float, float]:
        return self.grounding, self.logic, self.stability

    def __str__(self) -> str:
        return ",".join(f"{weight:g}" for weight in self.numbers)


PAPER = DimensionWeights(grounding=0.4, logic=0.3, stability=0.3)
"""Those of the PathGLS paper, section 4.1."""


class Floors(Noun):
    """Below its floor a dimension keeps a report from being deployed; None is no floor."""

    grounding: Share | None = None
    logic: Share | None = None
    stability: Share | None = None


class RejectIf(Noun):
    """Conditions that reject a report at once, whatever else is or is not known."""

    logic_below: Share | None = 0.7
    """Logic below this, by a contradiction that is certain; None: logic rejects nothing alone."""
    certain_from: Share = 0.95
    """A contradiction of at least this probability is certain; one by rule always is."""
    image_contradicts: bool = True
    """The verdict of grounding is that the image shows another organ or diagnosis."""


class Meaning(Noun):
    """A policy in plain words, for those who act on its verdicts."""

    fits: Text  # for whom the policy is: what there must be
    deploy: Text
    review: Text
    reject: Text
    validated: Text  # what its numbers were measured on, and what nobody has measured


class Policy(Noun):
    """The content of a policy file."""

    name: Text = "policy"
    weights: DimensionWeights
    deploy_from: Share | None
    """Trust of at least this is deployed; nothing ever is where this is None."""
    reject_below: Share
    floors: Floors = Floors()
    claims_known: Share = 0.0
    """Below this share of claims known to the encoder, nothing is deployed by the others."""
    reject_if: RejectIf = RejectIf()
    meaning: Meaning | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.deploy_from is not None and self.reject_below > self.deploy_from:
            raise ValueError(
                f"reject_below is {self.reject_below:g}, above deploy_from {self.deploy_from:g}: "
                "a report would be both rejected and deployed"
            )
        return self

    @cached_property
    def hash(self) -> str:
        """Twelve characters that change with every number, and not with names or words."""
        content = self.model_dump_json(exclude={"name", "meaning"})
        return hashlib.sha256(content.encode()).hexdigest()[:12]

    @property
    def identity(self) -> str:
        return f"{self.name}@{self.hash}"

    def asks(self, dimension: Dimension) -> bool:
        """True if the verdict depends on a dimension: by its weight, or by its floor."""
        return getattr(self.weights, dimension) > 0 or getattr(self.floors, dimension) is not None

    @property
    def required(self) -> tuple[Dimension, ...]:
        return tuple(name for name in DIMENSIONS if self.asks(name))

    def content(self) -> dict[str, Any]:
        return {"hash": self.hash, **self.model_dump(mode="json")}

    def weighing(self, weights: DimensionWeights) -> Policy:
        return self.model_copy(update={"weights": weights}) if weights != self.weights else self


def read_policy(named: Path | str = WITH_ENDPOINT) -> Policy:
    """A policy of this package by its name, or the user's own by its file."""
    home = policy_file(named)
    written = read_yaml(home, "the policy")
    try:
        return Policy.model_validate(written.content, strict=True)
    except ValidationError as error:
        fault = min(error.errors(), key=lambda detail: detail["type"] != "extra_forbidden")
        line = written.line_of(fault["loc"])
        location = f"{home}, line {line}," if line is not None else f"{home}"
        raise InputError(f"the policy {location} cannot be used: {_explained(fault)}") from error


_SECTIONS: dict[str, type[Noun]] = {"reject_if": RejectIf, "meaning": Meaning}
"""Keys with keys of their own, beside those that have one for each dimension."""


def _explained(fault: Mapping[str, Any]) -> str:
    path = [str(part) for part in fault["loc"]]
    key = ".".join(path)
    if not path:
        is_mapping = isinstance(fault["input"], Mapping | Policy)
        message = str(fault["msg"]).removeprefix("Value error, ")
        needed = [name for name, field in Policy.model_fields.items() if field.is_required()]
        return message if is_mapping else f"write {', '.join(needed)}, each as `key: value`"
    if fault["type"] == "value_error":
        return f"{key}: {fault['msg'].removeprefix('Value error, ')}"
    if fault["type"] == "extra_forbidden":
        section = _SECTIONS.get(path[0]) if len(path) > 1 else Policy
        keys = [*DIMENSIONS] if section is None else [*section.model_fields]
        guess = did_you_mean(path[-1], keys)
        return f"there is no key {key}{guess}; there are {', '.join(keys)}"
    if fault["type"] == "missing":
        return f"{key} is missing: write {_wanted(path)}"
    is_text = path == ["name"] or path[0] == "meaning"
    quotes = ", without quotes" if isinstance(fault["input"], str) and not is_text else ""
    value = str(yaml.safe_dump(fault["input"], default_flow_style=True, width=math.inf)).strip()
    value = value.removesuffix("...").strip()
    return f"{key} is {value}: write {_wanted(path)}{quotes}"


def _wanted(path: Sequence[str]) -> str:
    if path == ["name"]:
        return "a name of one letter or more"
    if path in (["weights"], ["floors"]):
        return f"{', '.join(DIMENSIONS)} below it, each with a number from 0 to 1"
    if len(path) == 1 and path[0] in _SECTIONS:
        return f"{', '.join(_SECTIONS[path[0]].model_fields)} below it"
    if path[0] == "meaning":
        return "a sentence"
    if path[-1] == "image_contradicts":
        return "true or false"
    number = "a number from 0 to 1, as in 0.7"
    may_be_null = path[0] == "floors" or path[-1] in ("deploy_from", "logic_below")
    return f"{number}, or null" if may_be_null else number


def weights_of(text: str) -> DimensionWeights:
    cells = text.split(",")
    try:
        numbers = [float(cell) for cell in cells]
        if len(numbers) != len(DIMENSIONS):
            raise ValueError
    except ValueError as error:
        raise SettingError(
            f"{text!r} are no weights: give three numbers that sum to 1, for grounding, logic and "
            "stability, as in 0.4,0.3,0.3"
        ) from error
    try:
        return DimensionWeights(**dict(zip(DIMENSIONS, numbers, strict=True)))
    except ValidationError as error:
        raise SettingError(f"{text!r} are no weights: {explain_validation(error, '')}") from error


def policy_text(policy: Policy, comments: Sequence[str]) -> str:
    content = policy.model_dump(mode="json")
    content["floors"] = {k: v for k, v in content["floors"].items() if v is not None}
    if policy.meaning is None:
        del content["meaning"]
    header = "".join(f"# {line}\n" if line else "#\n" for line in comments)
    return header + str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True))
