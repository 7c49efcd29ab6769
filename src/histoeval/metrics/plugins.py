"""Metrics of other packages, found by their entry points; none of them is imported here."""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import NamedTuple

GROUP = "histoeval.metrics"
"""The entry point group of plug-ins."""


class PlugIn(NamedTuple):
    """A metric that an installed package offers, and why it is not used where it cannot be."""

    name: str
    package: str
    target: str
    """As it is declared: ``module:name``."""
    refused: str = ""

    def __str__(self) -> str:
        return f"the metric {self.name!r} of {self.package}"


@cache
def plug_ins() -> tuple[PlugIn, ...]:
    """Every entry point of the group; of two that share a name the first is used."""
    found: dict[str, PlugIn] = {}
    refused: list[PlugIn] = []
    for point in entry_points(group=GROUP):
        package = point.dist.name if point.dist else "an unknown package"
        plug_in = PlugIn(point.name, package, point.value)
        if reason := _fault(point, found):
            refused.append(plug_in._replace(refused=reason))
        else:
            found[point.name] = plug_in
    return (*found.values(), *refused)


def _fault(point: EntryPoint, found: Mapping[str, PlugIn]) -> str:
    """Why an entry point cannot be used; empty where it can."""
    if not point.name or set(point.name) & set(":,= \t"):
        return "a name has no colon, comma, equals sign or space"
    if EntryPoint.pattern.fullmatch(point.value) is None or ":" not in point.value:
        return f"its entry point must be of the form module:Class, and is {point.value!r}"
    if other := found.get(point.name):
        return f"{other.package} has one of that name"
    return ""
