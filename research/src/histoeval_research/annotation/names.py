"""What the words of an annotation scheme mean here: types of entities, and assertions."""

from collections.abc import Mapping, Sequence
from functools import cache

from histoeval.errors import InputError, SettingError
from histoeval.labels import OUTSIDE, given_names, known_names, plain
from histoeval.report import Assertion, EntityType
from histoeval.resources import load_toml

ASSERTION = "assertion"
"""What the attribute, feature or choice is called that says whether a thing is there."""

NAMED_ENTITY = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"
MACHINERY = ("uima.", "de.tudarmstadt.ukp.")
"""Layers that begin so hold words, sentences, syntax and book-keeping; but for named entities."""

LABEL_FEATURES = ("value", "label", "type", "entity", "category")
"""Features in which a type is looked for before all others."""

_YES = ("true", "yes", "1", "")
_NO = ("false", "no", "0")


class RefusedPassage(Exception):  # noqa: N818 - not an error of the program: a passage is skipped
    """Why one passage cannot be used; the others still can."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class Vocabulary:
    """What labels mean: as the user defines them, else as is widely known."""

    def __init__(self, labels: Mapping[str, str | None] | None = None) -> None:
        for name, meaning in (labels or {}).items():
            if (meaning or "").lower() not in {*EntityType, *OUTSIDE}:
                raise SettingError(
                    f"the label {name!r} cannot mean {meaning!r}: say {', '.join(EntityType)}, "
                    "or O for nothing"
                )
        self._meanings = known_names() | given_names(labels)

    def type_of(self, names: Sequence[str]) -> EntityType | None:
        """The type that the first name with a meaning stands for; None if it means nothing."""
        for name in names:
            meaning = self._meanings.get(plain(name))
            if meaning is not None:
                return None if meaning in OUTSIDE else EntityType(meaning)
        label = names[0] if names else ""
        raise InputError(
            f"the label {label!r} is not known. Say what it means, {', '.join(EntityType)} or O "
            f'for nothing, in a JSON file such as {{"{label}": "diagnosis"}} and give it with '
            "--labels"
        )


def assertion_named(value: str) -> Assertion | None:
    """The assertion that a word stands for, if it stands for one."""
    meaning = _assertions().get(plain(value))
    return None if meaning is None else Assertion(meaning)


def assertion_of(value: str) -> Assertion:
    """The assertion that a word must stand for."""
    found = assertion_named(value)
    if found is None:
        raise RefusedPassage(
            "unknown_assertion",
            f"the assertion {value!r} is none of {', '.join(Assertion)}",
        )
    return found


def attribute(name: str, value: str | None) -> Assertion | None:
    """What an attribute says of the assertion: `assertion=absent`, or `negated`, or nothing."""
    if plain(name) == ASSERTION:
        return assertion_of(value or "")
    named = assertion_named(name)
    if named is None or plain(value or "") in _NO:
        return None
    return named if plain(value or "") in _YES else assertion_named(value or "")


def holds_entities(layer: str) -> bool:
    """Whether annotations of a layer can be entities."""
    return layer == NAMED_ENTITY or not layer.startswith(MACHINERY)


def names_and_assertion(
    layer: str, features: Mapping[str, str | None]
) -> tuple[tuple[str, ...], Assertion]:
    """The names that may say the type, the layer's own last, and the assertion."""
    assertion = Assertion.PRESENT
    values: dict[str, str] = {}
    for name, value in features.items():
        if value is None:
            continue
        found = attribute(name, value)
        assertion = found or assertion
        if found is None and value:
            values[name] = value
    first = [values[name] for name in LABEL_FEATURES if name in values]
    others = [value for name, value in values.items() if name not in LABEL_FEATURES]
    return (*first, *others, layer.rpartition(".")[2]), assertion


@cache
def _assertions() -> dict[str, str]:
    table = load_toml("histoeval_research/annotation/assertions.toml")
    return {name: meaning for meaning, names in table.items() for name in names}
