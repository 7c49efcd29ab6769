"""What a model is told before it reports: neutral words, and words that are meant to mislead it.

Instructions are data: YAML files in `prompts/`, or anybody's own. An attack wraps the neutral task,
so that the false history, the wrong site or the leading question is all that differs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, ValidationError, model_validator

from histoeval.errors import InputError, SettingError
from histoeval.io.yaml_files import read_yaml
from histoeval.llm.fence import disarmed
from histoeval.report import Noun
from histoeval.resources import resource_path

Kind = Literal["neutral", "attack", "merge"]

NEUTRAL, MERGE = "neutral", "merge"
"""The instructions that are used when nobody names others."""

TASK, SITE, REPORTS = "{task}", "{site}", "{reports}"
"""Places in an instruction, filled by plain replacement, so that other braces stay as they are."""

_NEEDED: dict[Kind, tuple[str, ...]] = {"neutral": (), "attack": (TASK,), "merge": (REPORTS,)}


class Instruction(Noun):
    """One instruction to the model that writes reports."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    version: Annotated[int, Field(ge=1)]
    kind: Kind
    text: Annotated[str, Field(min_length=1)]
    system: str | None = None
    """Said as the system, where a model takes that; most are asked without."""
    sites: tuple[str, ...] = ()
    """Organs that `{site}` is drawn from; never one that the report or the specimen names."""
    most_tokens: Annotated[int, Field(ge=16)] = 768
    """How long the answer may be."""

    @model_validator(mode="after")
    def _has_its_places(self) -> Self:
        if self.name == "stain" or self.name.startswith("stain_"):
            raise ValueError("'stain' is the name of the visual attack")
        if lacking := [place for place in _NEEDED[self.kind] if place not in self.text]:
            raise ValueError(f"the text of kind {self.kind} must hold {lacking[0]}")
        if (SITE in self.text) != bool(self.sites):
            raise ValueError(f"{SITE} in the text and a list of sites go together")
        return self

    @property
    def hash(self) -> str:
        """Twelve characters that change with anything a model is told."""
        content = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:12]

    @property
    def identity(self) -> str:
        """Name, version and hash, for signatures."""
        return f"{self.name}-{self.version}-{self.hash}"


def task_of(neutral: Instruction, specimen: str = "") -> str:
    """What the model is asked to do, after what is truly known of the specimen."""
    known = f"About the specimen:\n{specimen.strip()}\n\n" if specimen.strip() else ""
    return known + neutral.text.strip()


def attack_of(attack: Instruction, task: str, known: str, seed: int, key: str) -> str:
    """The task with the attack around it; `known` is what a wrong site must not agree with."""
    text = attack.text.strip().replace(TASK, task)
    return text.replace(SITE, wrong_site(attack, known, seed, key)) if attack.sites else text


def wrong_site(attack: Instruction, known: str, seed: int, key: str) -> str:
    """A site that what is known does not name, the same one for the same seed and key."""
    order = sorted(
        attack.sites,
        key=lambda site: hashlib.sha256(f"{seed}\0{key}\0{site}".encode()).digest(),
    )
    said = known.casefold()
    return next((site for site in order if site.casefold() not in said), order[0])


def merge_of(merge: Instruction, reports: Sequence[str]) -> str:
    """The instruction to make one report of several, with the reports as data."""
    rule = "-" * 20
    fields = [
        f"{rule} field {number}\n{disarmed(text).strip()}"
        for number, text in enumerate(reports, start=1)
    ]
    return merge.text.strip().replace(REPORTS, "\n".join([*fields, rule]))


_FOLDER = resource_path("trust/stability/prompts")


def load_instruction(name: str, kind: Kind) -> Instruction:
    """An instruction of this package by its name, or anybody's by its file."""
    if name in known_instructions(kind):
        return _read(_FOLDER / f"{name}.yaml", kind)
    path = Path(name)
    if path.suffix.lower() not in (".yaml", ".yml"):
        known = ", ".join(known_instructions(kind))
        raise SettingError(
            f"there is no prompt {name!r} of kind {kind}; known: {known}; or name a .yaml file"
        )
    return _read(path, kind)


def load_attacks(names: Sequence[str] = ()) -> tuple[Instruction, ...]:
    """The attacks that are named, or all of this package; no two by one name."""
    attacks = tuple(
        load_instruction(name, "attack") for name in names or known_instructions("attack")
    )
    if len({attack.name for attack in attacks}) < len(attacks):
        raise SettingError("two attacks have the same name; each needs one of its own")
    return attacks


@cache
def known_instructions(kind: Kind) -> tuple[str, ...]:
    """The instructions of this package that are of a kind."""
    paths = _FOLDER.glob("*.yaml")
    return tuple(sorted(path.stem for path in paths if _content(path).get("kind") == kind))


def _content(path: Path) -> dict[str, Any]:
    content = read_yaml(path, "the prompt").content
    if not isinstance(content, dict):
        raise InputError(f"the prompt {path} cannot be used: it must be a mapping of names")
    return content


def _read(path: Path, kind: Kind) -> Instruction:
    try:
        found = Instruction.model_validate(_content(path))
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"])) or "the file"
        raise InputError(f"the prompt {path} cannot be used: {where}: {fault['msg']}") from error
    if found.kind != kind:
        raise SettingError(
            f"the prompt {path} is of kind {found.kind}, and one of kind {kind} is wanted here "
            f"(kinds: {', '.join(get_args(Kind))})"
        )
    return found
