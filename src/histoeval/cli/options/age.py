"""How old something must be, as in 30d."""

import re
from datetime import timedelta
from typing import Annotated

from histoeval.cli.options.bundle import option
from histoeval.errors import SettingError

UNITS = {"h": "hours", "d": "days", "w": "weeks"}

AgeOption = Annotated[
    str | None,
    option("Only what is older than this, as in 12h, 30d or 8w.", name="--older-than"),
]


def age_of(text: str | None) -> timedelta:
    """A number of hours, days or weeks; none where nothing was given."""
    if text is None:
        return timedelta(0)
    found = re.fullmatch(r"(\d{1,5})\s*([hdw])", text.strip().lower(), re.ASCII)
    if found is None:
        raise SettingError(f"--older-than {text!r} is no age: write 12h, 30d or 8w")
    return timedelta(**{UNITS[found[2]]: int(found[1])})
