"""The catalogue of diagnoses: names, behaviour and sites of each, and how close two are."""

from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from typing import Any

from histoeval.resources import load_toml
from histoeval.terms.sites import contains
from histoeval.terms.tree import Tree


class Behaviour(StrEnum):
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


def table(name: str) -> dict[str, Any]:
    return load_toml(f"terms/data/{name}.toml")


@cache
def diagnosis_tree() -> Tree:
    return Tree(
        {
            row["id"]: [*([row["parent"]] if row["parent"] else []), *row.get("also", [])]
            for row in table("diagnoses")["concept"]
        }
    )


@cache
def concepts() -> dict[str, Concept]:
    rows = {row["id"]: row for row in table("diagnoses")["concept"]}
    return {id_: _concept(id_, rows) for id_ in rows}


def _concept(id_: str, rows: dict[str, dict[str, Any]]) -> Concept:
    lineage = diagnosis_tree().lineage(id_)

    def inherited(field: str) -> Any:
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


# --- how close two diagnoses are ------------------------------------------------------------------

_MALIGNANT, _IN_SITU, _BORDERLINE, _BENIGN, _REACTIVE, _NORMAL, _UNSPECIFIED = Behaviour
# The factor of a closeness where the behaviour differs; 0.2 for pairs that are not here
_ALIKE = {
    frozenset({_MALIGNANT, _IN_SITU}): 0.6,
    frozenset({_MALIGNANT, _BORDERLINE}): 0.5,
    frozenset({_IN_SITU, _BORDERLINE}): 0.7,
    frozenset({_BORDERLINE, _BENIGN}): 0.6,
    frozenset({_IN_SITU, _BENIGN}): 0.4,
    frozenset({_BENIGN, _REACTIVE}): 0.9,
    frozenset({_BENIGN, _NORMAL}): 0.8,
    frozenset({_REACTIVE, _NORMAL}): 0.7,
}
_UNALIKE = 0.2
_UNSPECIFIED_FACTOR = 0.9
_SIBLINGS = 0.6
_PRECURSOR = 0.5
_BOTH_NORMAL = 0.5
_INTERCHANGEABLE = 0.9
_HARMLESS_UMBRELLA = 0.35


@lru_cache(maxsize=1 << 14)
def closeness(a: Concept, b: Concept) -> float:
    """Share of one diagnosis that is right when the other is true, from 0 to 1, either way round.

    The same is 1; a diagnosis and what it is a kind of 0.8, less 0.05 for every further step
    down to 0.6; others 0.6 times the square of the tree's closeness (Wu and Palmer); all times a
    factor when the behaviour differs. An earlier stage of the same disease is 0.5; two findings of
    normal tissue are at least 0.5; an umbrella word for what does no harm is at least 0.35 to
    anything else that does none; two schools' names for one thing are 0.9.
    """
    if a.id == b.id:
        return 1.0
    has_umbrella = a.generic or b.generic
    return max(
        _kinship(a, b) * _behaviour_factor(a, b),
        _stages(a, b),
        _stages(b, a),
        _BOTH_NORMAL if a.behaviour == b.behaviour == _NORMAL else 0.0,
        _HARMLESS_UMBRELLA if has_umbrella and {a.behaviour, b.behaviour} <= HARMLESS else 0.0,
        _INTERCHANGEABLE if _are_interchangeable(a, b) else 0.0,
    )


def _are_interchangeable(a: Concept, b: Concept) -> bool:
    tree = diagnosis_tree()
    if a.organs and b.organs and not any(contains(x, y) for x in a.organs for y in b.organs):
        return False
    for group in table("diagnoses")["wording"]["interchangeable"]:
        first, second = ({id_ for id_ in group if tree.is_a(c.id, id_)} for c in (a, b))
        if first and second and first != second:
            return True
    return False


def _kinship(a: Concept, b: Concept) -> float:
    tree = diagnosis_tree()
    for lower_id, upper_id in ((a.id, b.id), (b.id, a.id)):
        if tree.is_a(lower_id, upper_id):
            return max(0.6, 0.8 - 0.05 * (tree.ancestors(lower_id)[upper_id] - 1))
    return float(_SIBLINGS * tree.closeness(a.id, b.id) ** 2)


def _behaviour_factor(a: Concept, b: Concept) -> float:
    if a.behaviour == b.behaviour:
        return 1.0
    if _UNSPECIFIED in (a.behaviour, b.behaviour):
        return _UNSPECIFIED_FACTOR
    return _ALIKE.get(frozenset({a.behaviour, b.behaviour}), _UNALIKE)


def _stages(early: Concept, late: Concept) -> float:
    """Closeness of a lesion to what it precedes, or to the kin of that."""
    if early.precursor_of is None:
        return 0.0
    target = concepts()[early.precursor_of]
    return _PRECURSOR * (
        1.0 if target.id == late.id else _kinship(target, late) * _behaviour_factor(target, late)
    )
