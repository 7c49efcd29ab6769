"""Where a model is to be had: in a folder, in the hub library's cache, or on the hub.

That library asks again and again before it gives up. Somebody who has misspelt a name, or sits
behind a firewall, is noticed after one request.
"""

import os
from pathlib import Path

from histoeval.runtime.audit import note_sent

WAIT_S = 10.0
"""So long the hub may take to say whether it has a model."""


def note_download(name: str) -> None:
    """Note that a model is asked for on the hub, unless it is a file or folder here."""
    if not Path(name).exists():
        hub = os.environ.get("HF_ENDPOINT", "https://huggingface.co")
        note_sent(hub, name, "model from the hub", name.encode())


def only_here(name: str) -> bool:
    """Whether a model is to be read from this machine, and the hub not asked for it again.

    Where it is neither here nor on the hub, `FileNotFoundError` says so.
    """
    if Path(name).is_dir():
        return True
    why_not = _why_not_on_hub(name)
    if why_not is None:
        return False
    if _is_kept(name):
        return True
    raise FileNotFoundError(f"there is no folder of this name, and {why_not}.")


def _why_not_on_hub(name: str) -> str | None:
    """Why the hub does not give a model; nothing where it does."""
    from huggingface_hub import HfApi
    from huggingface_hub.utils import (
        HFValidationError,
        RepositoryNotFoundError,
    )

    note_download(name)
    try:
        HfApi().model_info(name, timeout=WAIT_S)
    except HFValidationError:
        return "no model on the hub can have it"
    except RepositoryNotFoundError:
        return "the hub has no model of this name, or none that you may read"
    except Exception as error:  # noqa: BLE001 - its errors are those of whatever carries them
        reason = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
        return f"the hub cannot be reached ({reason})"
    return None


def _is_kept(name: str) -> bool:
    """Whether the hub library has a model in its cache."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.utils import HFValidationError

    try:
        return isinstance(try_to_load_from_cache(name, "config.json"), str)
    except HFValidationError:
        return False
