"""Our own lists as concepts with names: diagnoses, organs, markers, findings, abbreviations."""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
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


COMPOSED = "composed"
"""The source of these concepts: those of one parent are opposites of each other."""

_INFLAMMATION = re.compile(r"itis\b|inflammation|pneumonia")
_SAY_LITTLE = frozenset("of the in is a here with for and on at to be no not tumor".split())
_MOST_WORDS = 4
"""Longer names of a base make phrases that nobody writes."""
_CARRIED = 1 / 3
_MOST_BASES = 60
_SAID_OF = ("{1}, {0}", "{0} {1}", "{1} ({0})", "{1}; {0}", "{1} {0}")
"""Templates that join a phrase with a meaning of its own and a base, which comes second."""
_ABSENT = "absent"


def composition_table() -> dict[str, Any]:
    """What `compositions.toml` holds."""
    return load_toml("histoeval_research/train/aligner/data/compositions.toml")


def bases(listed: Mapping[str, Sequence[Sequence[str]]]) -> dict[str, list[OntologyConcept]]:
    """What phrases are made of, by kind; `listed` are those that no catalogue holds."""
    behaviour = behaviours()
    found = list(diagnoses())
    molecular = {row["name"] for row in table("markers")["marker"] if row["kind"] == "molecular"}
    kinds = {
        "organ": list(organs()),
        "diagnosis": found,
        "malignant": [d for d in found if behaviour[d.id] == "malignant"],
        "benign": [d for d in found if behaviour[d.id] == "benign"],
        "inflammation": [d for d in found if _INFLAMMATION.search(d.name)],
        "marker": [marker for marker in markers() if marker.id not in molecular],
        "gene": [marker for marker in markers() if marker.id in molecular],
        "finding": list(findings()),
    }
    for kind, rows in listed.items():
        own = [OntologyConcept(kind, name, name, tuple(others)) for name, *others in rows]
        kinds[kind] = kinds.get(kind, []) + own
    return kinds


def composed(
    content: Mapping[str, Any],
    of: Mapping[str, Sequence[OntologyConcept]],
    *,
    most: int,
    seed: int = 0,
) -> Iterator[OntologyConcept]:
    """Concepts with up to so many wordings each."""
    carriers = content.get("carriers", {}).get("of", ())
    denied = denials()
    for axis in content["axis"]:
        taken = _words(" ".join(text for texts in axis["values"].values() for text in texts))
        for base in dict.fromkeys(base for kind in axis["of"] for base in of[kind]):
            if fit := _fitting(base, taken):
                group = f"{axis['name']}/{base.source}/{base.id}"
                extra = denied.get(base.id, ()) if base.source == "findings" else ()
                for value, wordings in axis["values"].items():
                    more = extra if value == _ABSENT else ()
                    yield _phrase(group, value, wordings, fit, most, seed, more)
                if carrier := _carrier(group, carriers, taken, seed):
                    carried = [carrier.format(name) for name in fit]
                    for value, wordings in axis["values"].items():
                        yield _phrase(f"{group}/longer", value, wordings, carried, most, seed)
    for same in content["same"]:
        yield from _same(same, of, most, seed)


def _fitting(base: OntologyConcept, taken: set[str]) -> list[str]:
    """The names of a base that can be put into phrases of an axis; none if its first cannot."""
    names = [name for name in base.names if len(name.split()) <= _MOST_WORDS]
    fit = [name for name in names if not taken & _words(name)]
    return fit if base.name in fit else []


def _carrier(group: str, carriers: Sequence[str], taken: set[str], seed: int) -> str | None:
    """For one base of three, a clause around it that says nothing on the axis."""
    chance = random.Random(f"{seed}/{group}/carrier")
    fit = [carrier for carrier in carriers if not taken & _words(carrier)]
    return chance.choice(fit) if fit and chance.random() < _CARRIED else None


def _same(
    same: Mapping[str, Any], of: Mapping[str, Sequence[OntologyConcept]], most: int, seed: int
) -> Iterator[OntologyConcept]:
    """What means the same by itself, or where `of` is given, when it is joined with some bases."""
    axis = same["axis"]
    if "of" not in same:
        for name, *others in same["names"]:
            yield OntologyConcept(COMPOSED, f"{axis}/{name}", name, tuple(others), (axis,))
    taken = _words(" ".join(name for names in same["names"] for name in names))
    kept = [base for kind in same.get("of", ()) for base in of[kind] if _fitting(base, taken)]
    if len(kept) > _MOST_BASES:
        kept = random.Random(f"{seed}/{axis}").sample(kept, _MOST_BASES)
    for base in kept:
        group = f"{axis}/{base.source}/{base.id}"
        for names in same["names"]:
            wordings = [template.format(name, "{}") for name in names for template in _SAID_OF]
            yield _phrase(group, names[0], wordings, _fitting(base, taken), most, seed)


def _phrase(
    group: str,
    value: str,
    wordings: Sequence[str],
    names: Sequence[str],
    most: int,
    seed: int,
    more: Sequence[str] = (),
) -> OntologyConcept:
    """The first wording with the first name, and others drawn by chance; `more` are names as is."""
    chance = random.Random(f"{seed}/{group}/{value}")
    first = wordings[0].format(names[0])
    drawn = [chance.choice(wordings).format(chance.choice(names[:6])) for _ in range(2 * most)]
    others = [name for name in dict.fromkeys(drawn) if name != first][: most - 1]
    return OntologyConcept(COMPOSED, f"{group}/{value}", first, (*others, *more[:most]), (group,))


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{2,}", text.lower())) - _SAY_LITTLE
