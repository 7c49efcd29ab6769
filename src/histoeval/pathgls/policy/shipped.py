"""The policies of this package: their names, and which one fits what there is to go by."""

from pathlib import Path

from histoeval.errors import SettingError, did_you_mean
from histoeval.resources import resource_path

WITH_ENDPOINT, WITHOUT_ENDPOINT, TEXT_ONLY = "with_endpoint", "without_endpoint", "text_only"

POLICIES = (WITH_ENDPOINT, WITHOUT_ENDPOINT, TEXT_ONLY)
"""From the one that needs most to the one that needs the report alone."""


def fitting_policy(*, has_images: bool, has_attacks: bool) -> str:
    """The policy for reports that have images or not, and reports under attack or not.

    Reports under attack are there where the input holds them, or where the model that wrote the
    reports can be asked for them.
    """
    if not has_images:
        return TEXT_ONLY
    return WITH_ENDPOINT if has_attacks else WITHOUT_ENDPOINT


def policy_file(named: Path | str) -> Path:
    """The file of a policy that is named: one of this package, or the user's own."""
    name = str(named)
    if name in POLICIES:
        return resource_path(f"pathgls/policy/{name}.yaml")
    path = Path(named)
    if path.suffix or path.exists():
        return path
    guess = did_you_mean(name, POLICIES)
    raise SettingError(
        f"there is no policy {name!r}{guess}; known: {', '.join(POLICIES)}; or name a .yaml file"
    )
