"""Access to a study: a link for each rater and one for the coordinator.

Tokens are derived from a secret in the folder of the study, so links stay the same when the server
starts again. Remove the secret, and all links are void.
"""

import hmac
import os
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from histoeval.errors import OutputError
from histoeval.io.writing import make_folder, writing_to
from histoeval.web.security import Visitor
from histoeval.web.study.plan import COORDINATOR, ExpertStudy

SECRET = "secret.key"
_BYTES = 32


def tokens_of(study: ExpertStudy) -> Mapping[str, str]:
    secret = _secret(study.folder)
    digests = {
        holder: hmac.digest(secret, f"histoeval study: {holder}".encode(), "sha256")
        for holder in (COORDINATOR, *study.file.raters)
    }
    return {
        holder: urlsafe_b64encode(digest[:24]).decode("ascii") for holder, digest in digests.items()
    }


def links_of(study: ExpertStudy, base: str) -> dict[str, str]:
    """Return the links of coordinator and raters; `base` is the address of the server."""
    return {
        holder: f"{base}/study/{holder}/?token={token}"
        for holder, token in tokens_of(study).items()
    }


def visitor_named(who: str) -> Visitor:
    """Return the holder of a link, who may open nothing but pages of their own."""
    return Visitor(who, f"/study/{who}")


def _secret(folder: Path) -> bytes:
    """Read the secret of a study, or make it; only its owner can read it."""
    path = folder / SECRET
    with writing_to(folder):
        make_folder(folder)
        with suppress(FileExistsError):
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            os.write(file, secrets.token_hex(_BYTES).encode("ascii"))
            os.fsync(file)
            os.close(file)
        path.chmod(0o600)
        content = path.read_bytes()
    if len(content) != 2 * _BYTES:
        raise OutputError(
            f"{path} is damaged: put back a copy of it, or remove it; then all raters need new "
            "links"
        )
    return content
