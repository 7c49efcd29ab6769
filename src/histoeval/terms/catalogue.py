"""The catalogue of diagnoses: what each is called, how it behaves, where it arises."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from histoeval.resources import load_toml
from histoeval.terms.tree import Tree


class Behaviour(StrEnum):
    """The behaviour of a lesion, from the worst to none at all."""

    MALIGNANT = "malignant"
    IN_SITU = "in_situ"
    BORDERLINE = "borderline"
    BENIGN = "benign"
    NON_NEOPLASTIC = "non_neoplastic"
    NORMAL = "normal"
    UNSPECIFIED = "unspecified"


HARMLESS = frozenset({Behaviour.BENIGN, Behaviour.NON_NEOPLASTIC, Behaviour.NORMAL})


@dataclass(frozen=True, slots=True)
class Concept:
    """A diagnosis: its names, its behaviour, the organs where it arises (none: anywhere).

    `generic` says that it is an umbrella word, incomplete for a specific diagnosis but not wrong;
    `precursor_of` names the disease of which this is the earlier stage.
    """

    id: str
    name: str
    behaviour: Behaviour
    organs: frozenset[str]
    generic: bool
    precursor_of: str | None
    names: tuple[str, ...]


@cache
def table(name: str) -> dict[str, Any]:
    """One data file of this package."""
    return load_toml(f"terms/data/{name}.toml")


@cache
def diagnosis_tree() -> Tree:
    """Which diagnosis is a kind of which."""
    return Tree(
        {
            row["id"]: [*([row["parent"]] if row["parent"] else []), *row.get("also", [])]
            for row in table("diagnoses")["concept"]
        }
    )


@cache
def concepts() -> dict[str, Concept]:
    """All diagnoses by id, with what they have from their lineage."""
    rows = {row["id"]: row for row in table("diagnoses")["concept"]}
    return {id_: _concept(id_, rows) for id_ in rows}


def _concept(id_: str, rows: dict[str, dict[str, Any]]) -> Concept:
    lineage = diagnosis_tree().lineage(id_)

    def inherited(field: str) -> Any:
        """What the concept says itself, or else the nearest above it that does."""
        return next((rows[a][field] for a in lineage if field in rows[a]), None)

    row = rows[id_]
    return Concept(
        id=id_,
        name=row["name"],
        behaviour=Behaviour(inherited("behaviour")),
        organs=frozenset(inherited("organs") or ()),
        generic=row.get("generic", False),
        precursor_of=inherited("precursor_of"),
        names=(row["name"], *row["aliases"]),
    )
