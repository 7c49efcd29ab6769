"""Whether a pair of texts has a feature of the NLI re-ranker."""

from __future__ import annotations

from histoeval.nli.features.extract import extract_features

_RIVALS = ("same", "other", "open")
_IMPLIED = ("_worked_", "count_")


def is_seen(premise: str, hypothesis: str, name: str) -> bool:
    """Whether a pair has a feature; of those that are worked out, also none of its rivals."""
    seen = extract_features(premise, hypothesis) or {}
    stem, _, end = name.rpartition("_")
    rivals = [f"{stem}_{each}" for each in _RIVALS if end in _RIVALS and each != end]
    implied = any(part in name for part in _IMPLIED)
    return seen.get(name, 0.0) > 0 and not (implied and any(map(seen.get, rivals)))
