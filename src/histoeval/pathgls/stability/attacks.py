"""The prompts of the model under test: a neutral one, and adversarial ones.

Prompts are data: YAML files in `prompts/`, or the user's own. An attack wraps the neutral task, so
that the false history, the wrong site or the leading question is all that differs.
"""

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from histoeval.errors import InputError, SettingError, did_you_mean, explain_validation
from histoeval.io.settings_files import read_yaml
from histoeval.llm.chat import REPORTS, SITE, TASK, Instruction, Kind, disarmed
from histoeval.resources import resource_path

NEUTRAL, MERGE = "neutral", "merge"
"""The default prompts."""


def task_of(neutral: Instruction, specimen: str = "") -> str:
    """The task of the model, after what is truly known of the specimen."""
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
    text = known.casefold()
    return next((site for site in order if site.casefold() not in text), order[0])


def merge_of(merge: Instruction, reports: Sequence[str]) -> str:
    """The instruction to make one report of several, with the reports as data."""
    rule = "-" * 20
    fields = [
        f"{rule} field {number}\n{disarmed(text).strip()}"
        for number, text in enumerate(reports, start=1)
    ]
    return merge.text.strip().replace(REPORTS, "\n".join([*fields, rule]))


_FOLDER = resource_path("pathgls/stability/prompts")


def load_instruction(name: str, kind: Kind) -> Instruction:
    """A shipped prompt by its name, or the user's own by its file."""
    if name in known_instructions(kind):
        return _read(_FOLDER / f"{name}.yaml", kind)
    path = Path(name)
    if path.suffix.lower() not in (".yaml", ".yml"):
        known = ", ".join(known_instructions(kind))
        raise SettingError(
            f"there is no prompt {name!r} of kind {kind}"
            f"{did_you_mean(name, known_instructions(kind))}; known: {known}; or name a .yaml file"
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
        raise InputError(
            f"the prompt {path} cannot be used: {explain_validation(error)}"
        ) from error
    if found.kind != kind:
        raise SettingError(
            f"the prompt {path} is of kind {found.kind}, and one of kind {kind} is wanted here "
            f"(kinds: {', '.join(get_args(Kind))})"
        )
    return found
