"""Our own lists as concepts with names: diagnoses, organs, markers, findings, abbreviations."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from histoeval.resources import load_toml
from histoeval_research.ontology.obo import OntologyConcept


@cache
def table(name: str) -> dict[str, Any]:
    """What one of the word lists of `histoeval.terms` holds."""
    return load_toml(f"terms/data/{name}.toml")


def diagnoses() -> Iterator[OntologyConcept]:
    """What can be diagnosed, with the lineage parent."""
    for row in table("diagnoses")["concept"]:
        parents = (row["parent"],) if row["parent"] else ()
        yield OntologyConcept(
            "diagnoses", row["id"], row["name"], tuple(row.get("aliases", ())), parents
        )


def organs() -> Iterator[OntologyConcept]:
    """Anatomical sites."""
    for row in table("organs")["organ"]:
        parents = (row["parent"],) if row["parent"] else ()
        yield OntologyConcept(
            "organs", row["id"], row["name"], tuple(row.get("aliases", ())), parents
        )


def markers() -> Iterator[OntologyConcept]:
    """Markers; those of one kind stand beside each other."""
    for row in table("markers")["marker"]:
        aliases = tuple(row.get("aliases", ()))
        yield OntologyConcept("markers", row["name"], row["name"], aliases, (row["kind"],))


def findings() -> Iterator[OntologyConcept]:
    """What can be seen besides the diagnosis, in the wordings that affirm it."""
    for row in table("findings")["finding"]:
        parents = (row["parent"],) if row.get("parent") else ()
        yield OntologyConcept("findings", row["id"], row["name"], tuple(row["aliases"]), parents)


def denials() -> dict[str, tuple[str, ...]]:
    """The wordings that by themselves deny a finding, by its id."""
    return {row["id"]: tuple(row.get("denied_aliases", ())) for row in table("findings")["finding"]}


def abbreviations() -> Iterator[OntologyConcept]:
    """Abbreviations of one meaning; those of several would teach that all of them are one."""
    for row in table("abbreviations")["abbreviation"]:
        if expansion := row.get("expansion"):
            yield OntologyConcept(
                "abbreviations", expansion, expansion, (row["short"], *row.get("also", ()))
            )


def short_forms() -> dict[str, str]:
    """Expansions in lower case, each with the one abbreviation that stands for it."""
    return {named.name.lower(): named.synonyms[0] for named in abbreviations()}


def behaviours() -> dict[str, str]:
    """How each diagnosis behaves, by its id; what is not given is inherited."""
    rows = {row["id"]: row for row in table("diagnoses")["concept"]}

    def of(key: str) -> str:
        """Its own, or that of the nearest above it which has one."""
        row = rows[key]
        return str(row["behaviour"]) if "behaviour" in row else of(row["parent"])

    return {key: of(key) for key in rows}
