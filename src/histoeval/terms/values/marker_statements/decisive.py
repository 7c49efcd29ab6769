"""Markers that decide on a therapy or on the diagnosis, and how severe a wrong result is."""

import re
from functools import cache, lru_cache
from typing import Any

from histoeval.resources import load_toml
from histoeval.terms.lexicon import any_of
from histoeval.terms.values.stated import CRITICAL, MAJOR, MINOR, MODERATE, StatedValue

MISMATCH, LIGHT_CHAIN, VARIANT = "mismatch repair status", "light chain", " variant"
MISMATCH_LOST = "lost mismatch repair proteins"
MISMATCH_PAIRS = (("MLH1", "PMS2"), ("MSH2", "MSH6"))  # proteins that are lost together
LIGHT_CHAINS = ("kappa light chain", "lambda light chain")
# Where another therapy begins, in per cent of tumour cells and in points
_SHARES = {"PD-L1": (1.0, 50.0), "PD-L1 CPS": (1.0, 5.0, 10.0, 20.0)}
REARRANGED = {
    "c-MYC": "MYC rearrangement",
    "BCL2": "BCL2 rearrangement",
    "BCL6": "BCL6 rearrangement",
}


@cache
def decisive_markers() -> dict[str, Any]:
    """The lists of `decisive.toml`: what is critical, which genes, proteins and organisms."""
    table = load_toml("terms/data/decisive.toml")
    organisms = {row["name"] for row in table["other"] if row.get("organism")}
    return {key: frozenset(table[key]) for key in ("critical", "variants", "genes")} | {
        "organisms": frozenset(table["organisms"]) | organisms,
        "proteins": frozenset(table["mismatch"]["proteins"]),
    }


def decides(marker: str) -> bool:
    return marker in decisive_markers()["critical"]


@lru_cache(maxsize=1 << 12)  # a marker may have any name
def _also(marker: str) -> re.Pattern[str] | None:
    words = load_toml("terms/data/decisive.toml")["also"].get(marker)
    return any_of(words) if words else None


def speaks_of(marker: str, text: str) -> bool:
    """True if a text has other words for what a decisive marker shows."""
    return bool((words := _also(marker)) and words.search(text))


def covered_markers(axes: frozenset[str]) -> frozenset[str]:
    """The markers of the catalogue whose results are among these axes."""
    covered = {name for name, axis in REARRANGED.items() if axis in axes}
    for axis, names in (
        (LIGHT_CHAIN, LIGHT_CHAINS),
        (
            MISMATCH,
            ("mismatch repair", "microsatellite instability", *decisive_markers()["proteins"]),
        ),
        ("MDM2", ("MDM2 amplification",)),
        ("KIT mutation", ("CD117",)),
        ("IDH", ("IDH1", "IDH2", "IDH1 R132H")),
        ("PD-L1 CPS", ("PD-L1",)),
        ("CDKN2A deletion", ("p16",)),
        ("HPV", ("HPV 16", "HPV 18")),
    ):
        covered |= set(names) if axis in axes else set()
    return axes | covered


def marker_severity(one: StatedValue, other: StatedValue) -> int:
    """Severity of stating one result for another; 0 where they agree.

    HER2 that is negative with a score of 0 is not the same as low: of the latter some are treated.
    """
    if one.options & other.options:
        if one.axis == "HER2" and "negative" in one.options:
            scored = one.low >= 0 and other.low >= 0
            return MODERATE if scored and (one.low == 0) != (other.low == 0) else 0
        return _by_share(one, other) if one.axis in _SHARES else 0
    if one.axis.endswith(VARIANT):
        return _between_variants(one, other)
    if one.axis == LIGHT_CHAIN:
        return CRITICAL if "polytypic" in one.options | other.options else MAJOR
    critical = one.axis == MISMATCH or one.axis in decisive_markers()["critical"]
    if "equivocal" in one.options | other.options:
        return MAJOR if critical else MODERATE
    return CRITICAL if critical else MAJOR


def _between_variants(first: StatedValue, second: StatedValue) -> int:
    (first_option,), (second_option,) = first.options, second.options
    if (
        first_option.startswith("exon") != second_option.startswith("exon")
        or first_option.startswith(second_option)
        or second_option.startswith(first_option)
    ):
        return 0
    return CRITICAL if first.axis.removesuffix(VARIANT) in decisive_markers()["variants"] else MAJOR


def _by_share(first: StatedValue, second: StatedValue) -> int:
    if first.low < 0 or second.low < 0 or (first.low <= second.high and second.low <= first.high):
        return 0
    first_rank, second_rank = (
        sum(value.low >= limit for limit in _SHARES[first.axis]) for value in (first, second)
    )
    if first_rank == second_rank:
        return MINOR
    return CRITICAL if first.axis == "PD-L1" or abs(first_rank - second_rank) > 1 else MAJOR
