"""Files that a command writes beside what it tells: refused early, and whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import typer

from histoeval.errors import OutputError


def demand_folder(file: Path | None) -> None:
    """A file that cannot be written is better told before the work than after it."""
    if file is not None and (file.is_dir() or not file.parent.is_dir()):
        raise OutputError(f"{file} cannot be written: it is a folder, or its folder is not there")


def write_lines(file: Path, lines: Iterable[str]) -> None:
    """Write all lines, or nothing if that fails; tell where they are."""
    draft = file.with_name(f"{file.name}.part")
    try:
        with draft.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
            stream.writelines(f"{line}\n" for line in lines)
        draft.replace(file)
    except OSError as error:
        raise OutputError(f"{file} cannot be written: {error.strerror or error}") from error
    finally:
        draft.unlink(missing_ok=True)
    typer.echo(f"Written: {file}")
