"""Our own lists as concepts with names, and phrases composed of a base and what is said of it."""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from histoeval.resources import load_toml
from histoeval_research.ontology.obo import OntologyConcept

# Of each list its table, and the keys of the id, the preferred name and the parent of a row.
_LISTS = {
    "diagnoses": ("concept", "id", "name", "parent"),
    "organs": ("organ", "id", "name", "parent"),
    "markers": ("marker", "name", "name", "kind"),
    "findings": ("finding", "id", "name", "parent"),
}

LISTED = (*_LISTS, "abbreviations")

# The source of composed phrases: those of one parent are opposites of each other.
COMPOSED = "composed"

_INFLAMMATION = re.compile(r"itis\b|inflammation|pneumonia")
_SAY_LITTLE = frozenset("of the in is a here with for and on at to be no not tumor".split())
_MOST_WORDS = 4  # longer names of a base make phrases that nobody writes
_CARRIED = 1 / 3  # share of bases that also stand in a clause that says nothing on the axis
_MOST_BASES = 60
# Templates that join a phrase with a meaning of its own and a base, which comes second.
_SAID_OF = ("{1}, {0}", "{0} {1}", "{1} ({0})", "{1}; {0}", "{1} {0}")


def rows(name: str) -> Any:
    return load_toml(f"terms/data/{name}.toml")[_LISTS[name][0]]


@cache
def own_list(name: str) -> tuple[OntologyConcept, ...]:
    """One of our lists as concepts; markers of one kind stand beside each other."""
    # Abbreviations are those of one meaning: others would teach that all their meanings are one.
    if name == "abbreviations":
        return tuple(
            OntologyConcept(name, expansion, expansion, (row["short"], *row.get("also", ())))
            for row in load_toml("terms/data/abbreviations.toml")["abbreviation"]
            if (expansion := row.get("expansion"))
        )
    _, key, preferred, parent = _LISTS[name]
    return tuple(
        OntologyConcept(
            name,
            row[key],
            row[preferred],
            tuple(row.get("aliases", ())),
            (row[parent],) if row.get(parent) else (),
        )
        for row in rows(name)
    )


def short_forms() -> dict[str, str]:
    return {named.name.lower(): named.synonyms[0] for named in own_list("abbreviations")}


def composition_table() -> dict[str, Any]:
    return load_toml("histoeval_research/train/aligner/data/compositions.toml")


def bases(listed: Mapping[str, Sequence[Sequence[str]]]) -> dict[str, list[OntologyConcept]]:
    """What phrases are made of, by kind; `listed` are those that no catalogue holds."""
    diagnoses, markers = list(own_list("diagnoses")), own_list("markers")
    by_id = {row["id"]: row for row in rows("diagnoses")}

    def behaviour(key: str) -> str:
        row = by_id[key]
        return str(row["behaviour"]) if "behaviour" in row else behaviour(row["parent"])

    molecular = {row["name"] for row in rows("markers") if row["kind"] == "molecular"}
    kinds = {
        "organ": list(own_list("organs")),
        "diagnosis": diagnoses,
        "malignant": [d for d in diagnoses if behaviour(d.id) == "malignant"],
        "benign": [d for d in diagnoses if behaviour(d.id) == "benign"],
        "inflammation": [d for d in diagnoses if _INFLAMMATION.search(d.name)],
        "marker": [marker for marker in markers if marker.id not in molecular],
        "gene": [marker for marker in markers if marker.id in molecular],
        "finding": list(own_list("findings")),
    }
    for kind, names in listed.items():
        own = [OntologyConcept(kind, name, name, tuple(others)) for name, *others in names]
        kinds[kind] = kinds.get(kind, []) + own
    return kinds


def composed(
    table: Mapping[str, Any],
    of: Mapping[str, Sequence[OntologyConcept]],
    *,
    most: int,
    seed: int = 0,
) -> Iterator[OntologyConcept]:
    """Concepts with up to so many wordings each."""

    def phrase(
        group: str,
        value: str,
        wordings: Sequence[str],
        names: Sequence[str],
        more: Sequence[str] = (),
    ) -> OntologyConcept:
        chance = random.Random(f"{seed}/{group}/{value}")
        first = wordings[0].format(names[0])
        drawn = [chance.choice(wordings).format(chance.choice(names[:6])) for _ in range(2 * most)]
        others = [name for name in dict.fromkeys(drawn) if name != first][: most - 1]
        synonyms = (*others, *more[:most])
        return OntologyConcept(COMPOSED, f"{group}/{value}", first, synonyms, (group,))

    carriers = table.get("carriers", {}).get("of", ())
    denied = {row["id"]: row.get("denied_aliases", ()) for row in rows("findings")}
    for axis in table["axis"]:
        taken = _words(" ".join(text for texts in axis["values"].values() for text in texts))
        fitting = [carrier for carrier in carriers if not taken & _words(carrier)]
        for base in dict.fromkeys(base for kind in axis["of"] for base in of[kind]):
            names = _fitting(base, taken)
            if not names:
                continue
            group = f"{axis['name']}/{base.source}/{base.id}"
            for value, wordings in axis["values"].items():
                is_denied = value == "absent" and base.source == "findings"
                more = denied.get(base.id, ()) if is_denied else ()
                yield phrase(group, value, wordings, names, more)
            chance = random.Random(f"{seed}/{group}/carrier")
            if fitting and chance.random() < _CARRIED:
                carrier = chance.choice(fitting)
                carried = [carrier.format(name) for name in names]
                for value, wordings in axis["values"].items():
                    yield phrase(f"{group}/longer", value, wordings, carried)
    for same in table["same"]:
        axis = same["axis"]
        if "of" not in same:
            for name, *others in same["names"]:
                yield OntologyConcept(COMPOSED, f"{axis}/{name}", name, tuple(others), (axis,))
        taken = _words(" ".join(name for names in same["names"] for name in names))
        said_of = [base for kind in same.get("of", ()) for base in of[kind]]
        said_of = [base for base in said_of if _fitting(base, taken)]
        if len(said_of) > _MOST_BASES:
            said_of = random.Random(f"{seed}/{axis}").sample(said_of, _MOST_BASES)
        for base in said_of:
            group = f"{axis}/{base.source}/{base.id}"
            for names in same["names"]:
                wordings = [template.format(name, "{}") for name in names for template in _SAID_OF]
                yield phrase(group, names[0], wordings, _fitting(base, taken))


def _fitting(base: OntologyConcept, taken: set[str]) -> list[str]:
    """The names of a base that can be put into phrases of an axis; none if its first cannot."""
    names = [name for name in base.names if len(name.split()) <= _MOST_WORDS]
    fitting = [name for name in names if not taken & _words(name)]
    return fitting if base.name in fitting else []


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{2,}", text.lower())) - _SAY_LITTLE
