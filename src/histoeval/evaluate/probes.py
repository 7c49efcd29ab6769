"""Probes: references, each edited in controlled ways of which it is known whether they do harm.

A metric that can be trusted costs little for a synonym and much for a benign tumour called
malignant. The shipped probes were written by language models; docs/probes.md says what they hold
and how to write others.
"""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, ValidationError, model_validator

from histoeval.errors import InputError, explain_validation
from histoeval.io.tables.encoding import open_lines, survey
from histoeval.io.tables.json_documents import bad_byte
from histoeval.report import Noun, Pair
from histoeval.resources import resource_path

Words = Annotated[str, Field(pattern=r"\S")]  # a text that has something in it


CRITICAL = 4  # the severity from which on an edit could seriously harm a patient


class Effect(StrEnum):
    HARMLESS = "harmless"
    HARMFUL = "harmful"


class Edit(Noun):
    """A reference, changed in one way.

    `severity` is 0 for a harmless edit, and from 1 on for a harmful one, the worse the higher.
    `change` describes the edit for readers.
    """

    kind: Words
    effect: Effect
    severity: Annotated[int, Field(ge=0)]
    text: Words
    change: str = ""

    @model_validator(mode="after")
    def _does_what_it_says(self) -> Self:
        if (self.severity == 0) != (self.effect is Effect.HARMLESS):
            raise ValueError(
                f"a {self.effect} edit cannot have the severity {self.severity}: 0 is harmless, "
                "1 and more is harmful"
            )
        return self


class Probe(Noun):
    id: Words
    reference: Words
    edits: Annotated[tuple[Edit, ...], Field(min_length=1)]
    organ: str = ""

    @model_validator(mode="after")
    def _edits_something(self) -> Self:
        for number, edit in enumerate(self.edits, start=1):
            if edit.text.split() == self.reference.split():
                raise ValueError(f"edit {number} ({edit.kind}) says the same as the reference")
        return self


def shipped() -> Path:
    return resource_path("evaluate/data/probes.jsonl.gz")


def read_probes(path: Path | None = None) -> list[Probe]:
    """The probes of a JSON lines file, plain or .gz; those that are shipped when none is named."""
    path = path or shipped()
    probes: dict[str, Probe] = {}
    effects: dict[str, Effect] = {}
    with open_lines(path, survey(path, "utf-8").encoding) as lines:
        for line in lines:
            if line.isspace():
                continue
            location = f"{path}, line {lines.number}"
            if fault := bad_byte(line):
                raise InputError(fault.problem(location).message)
            try:
                probe = Probe.model_validate_json(line)
            except ValidationError as error:
                raise InputError(f"{location}: {explain_validation(error, '')}") from error
            if probe.id in probes:
                raise InputError(f"{path} has two probes with the id {probe.id!r}")
            probes[probe.id] = probe
            for edit in probe.edits:
                if effects.setdefault(edit.kind, edit.effect) is not edit.effect:
                    raise InputError(
                        f"{path}: edits of the kind {edit.kind!r} are harmless in one place and "
                        f"harmful in another ({probe.id}); give them two names"
                    )
    if not probes:
        raise InputError(f"{path} holds no probes")
    return [*probes.values()]


def pairs_of(probes: Sequence[Probe]) -> list[Pair]:
    return [
        Pair(id=f"{probe.id}/{number}", reference=probe.reference, candidate=text)
        for probe in probes
        for number, text in enumerate((probe.reference, *(edit.text for edit in probe.edits)))
    ]
