"""Folders of trainings: one for each step, and that of the model, which is written at the end.

A step has a folder with `step.json`: its identity, whether it is done, and facts of its outcome. A
step that is done is not run again; one that was stopped resumes with the content of its folder; one
whose identity has changed restarts.

While a model is trained its folder holds `checkpoint.pt` and nothing else; the model itself is put
together in a draft folder beside it, `results.json` last, and takes its place at the end. A
training is known by its settings, hashes of its data, and the versions it ran with.
"""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from histoeval.errors import InputError, OutputError
from histoeval.io.writing import check_not_input, write_json, writing_to
from histoeval.version import __version__
from histoeval_research.train.core.loop import CHECKPOINT, Checkpoint

RECORD = "step.json"
RESULTS = "results.json"
CARD = "README.md"
_UNFINISHED = {CHECKPOINT, f"{CHECKPOINT}.part"}


def request_of(
    task: str,
    settings: Any,
    files: Mapping[str, Path],
    exclude: Mapping[str, Any] | None = None,
    **own: Any,
) -> dict[str, Any]:
    """What makes two trainings the same, without any path: equal requests give equal models."""
    # `exclude` are the settings that name files, models and folders, besides `encoder` and
    # `output`; `own` are further facts.
    hidden = {"encoder": True, "output": True, **(exclude or {})}
    return {
        "task": task,
        "encoder": encoder_name(settings.encoder),
        "settings": settings.model_dump(mode="json", exclude=hidden),
        "data": {label: file_of(path) for label, path in files.items()},
        **own,
    }


def by_name(files: Iterable[Path | None]) -> dict[str, Path]:
    """Files by their names, of which results must be able to tell them apart."""
    given = [file for file in files if file is not None]
    named = {file.name: file for file in given}
    if len(named) < len(given):
        raise InputError("two files have the same name: in results they could not be distinguished")
    return named


def file_of(path: Path) -> dict[str, str]:
    return {"name": path.name, "sha256": sha256_of(path)}


def encoder_name(encoder: str) -> dict[str, str]:
    """An encoder by name; a folder also by its content, since its name says little."""
    folder = Path(encoder)
    if not folder.is_dir():
        return {"name": encoder}
    weights = "*.safetensors" if any(folder.glob("*.safetensors")) else "*.bin"
    kinds = (weights, "config.json", "token*", "vocab*", "merges*")
    return {"name": folder.name, "sha256": sha256_of(folder, kinds)}


def identity_of(request: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()


def sha256_of(path: Path, patterns: Sequence[str] = ("**/*",)) -> str:
    """The hash of a file, or of the files of a folder that the patterns match, and their names."""
    if not path.exists():
        raise InputError(f"{path} does not exist")
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    files = sorted({f for pattern in patterns for f in path.glob(pattern) if f.is_file()})
    lines = [f"{file.relative_to(path).as_posix()} {sha256_of(file)}\n" for file in files]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def weights_of(folder: Path) -> dict[str, str]:
    files = [*folder.glob("*.onnx"), *folder.glob("*.safetensors")]
    return {file.name: sha256_of(file) for file in sorted(files)}


def lists_sha256(*contents: bytes) -> str:
    return hashlib.sha256(b"".join(contents)).hexdigest()


def versions() -> dict[str, str]:
    """What the results of a training depend on besides its request."""
    libraries = ("torch", "transformers", "tokenizers", "numpy")
    return {"histoeval": __version__, "python": platform.python_version()} | {
        library: version(library) for library in libraries
    }


class TrainingStep:
    """One step: where its files are, what makes it the same as another, and how it is done."""

    def __init__(
        self,
        folder: Path,
        request: Mapping[str, Any],
        act: Callable[[TrainingStep], Mapping[str, Any]],
    ) -> None:
        self.folder = folder
        self.act = act
        self.identity = identity_of({"step": folder.name, **request})

    @property
    def checkpoint(self) -> Checkpoint:
        return Checkpoint(self.folder / CHECKPOINT, self.identity)

    @property
    def is_done(self) -> bool:
        """True if this very step, and not another one of its name, is finished."""
        record = self._record()
        return record.get("identity") == self.identity and bool(record.get("done"))

    def run(self) -> dict[str, Any]:
        """Do the step unless it is done; the facts of its outcome."""
        record = self._record()
        if self.is_done:
            return dict(record["facts"])
        if record.get("identity") != self.identity:
            with writing_to(self.folder):
                if self.folder.exists():
                    shutil.rmtree(self.folder)
                self.folder.mkdir(parents=True)
            self._write({"done": False})
        facts = dict(self.act(self))
        self._write({"done": True, "facts": facts})
        (self.folder / CHECKPOINT).unlink(missing_ok=True)
        return facts

    def _write(self, state: Mapping[str, Any]) -> None:
        with writing_to(self.folder):
            record = {"identity": self.identity, **state}
            write_json(self.folder / RECORD, record, private=False)

    def _record(self) -> dict[str, Any]:
        """What `step.json` says; a folder that is not ours is left alone."""
        with writing_to(self.folder):
            if (self.folder / RECORD).exists():
                return _read(self.folder / RECORD, f"delete {self.folder}")
            if self.folder.exists() and any(self.folder.iterdir()):
                raise OutputError(
                    f"{self.folder} holds files that are not of a training; "
                    "give another `work` or --output"
                )
            return {}


class ModelFolder:
    """The folder of a trained model: written whole or not at all, and found again."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.draft = self.path.with_name(f"{self.path.name}.part")

    def fill(
        self,
        request: Mapping[str, Any],
        train: Callable[[Path, Checkpoint], Mapping[str, Any]],
        card: Callable[[Mapping[str, Any]], str],
        *,
        overwrite: bool = False,
    ) -> dict[str, Any]:
        """The results of a training; at once if it is finished, else of `train`."""
        # `train` writes the model to a draft folder and returns its results, which get the request.
        # A training that was stopped resumes from its checkpoint; `overwrite` restarts it. What
        # fails while the draft is filled leaves nothing behind.
        if not overwrite and (finished := self.finished(request)) is not None:
            return finished
        if overwrite:
            self.clear()
        checkpoint = Checkpoint(self.path / CHECKPOINT, identity_of(request))
        with writing_to(self.path):
            shutil.rmtree(self.draft, ignore_errors=True)
            self.draft.mkdir(parents=True)
            try:
                results = {"request": dict(request), **train(self.draft, checkpoint)}
                (self.draft / CARD).write_text(card(results), "utf-8")
                write_json(self.draft / RESULTS, results, private=False)
                self._take_place()
            finally:
                if not (self.draft / RESULTS).exists():
                    shutil.rmtree(self.draft, ignore_errors=True)
        return results

    def finished(self, request: Mapping[str, Any]) -> dict[str, Any] | None:
        with writing_to(self.path):
            if (self.draft / RESULTS).exists():
                self._take_place()
            if not (self.path / RESULTS).exists():
                self._refuse_what_is_not_ours()
                return None
            results = self._results()
        if different := _different(results["request"], json.loads(json.dumps(request))):
            raise OutputError(
                f"{self.path} holds another training (different: {', '.join(different)}); "
                "give another --output, or --overwrite to replace it"
            )
        return results

    def clear(self) -> None:
        """Remove what an earlier training left; a folder that holds something else is refused."""
        with writing_to(self.path):
            if (self.path / RESULTS).exists():
                self._results()
            else:
                self._refuse_what_is_not_ours()
            for folder in (self.path, self.draft):
                if folder.exists():
                    check_not_input(folder.rglob("*"))
                    shutil.rmtree(folder)

    def _take_place(self) -> None:
        """Rename the draft; a run that is killed in between does it when it starts again."""
        if self.path.exists():
            for name in _UNFINISHED:
                (self.path / name).unlink(missing_ok=True)
            self.path.rmdir()
        self.draft.rename(self.path)

    def _refuse_what_is_not_ours(self) -> None:
        if self.path.is_file():
            raise OutputError(f"{self.path} is a file; a model needs a folder")
        if self.path.exists() and {file.name for file in self.path.iterdir()} - _UNFINISHED:
            raise OutputError(
                f"{self.path} holds files that are not of a training; give another --output"
            )

    def _results(self) -> dict[str, Any]:
        results = _read(self.path / RESULTS, "give another --output")
        if not isinstance(results.get("request"), dict):
            raise OutputError(f"{self.path / RESULTS} does not say what was trained")
        return results


def is_finished(path: Path) -> bool:
    return (path / RESULTS).exists()


def _read(file: Path, advice: str) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise OutputError(f"{file} cannot be read: {error}; {advice}") from error
    return content if isinstance(content, dict) else {}


def _different(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    flat = [
        {**request, **request.get("settings", {}), **request.get("data", {}), "settings": 0}
        for request in (before, now)
    ]
    names = {name for request in flat for name in request} - {"settings", "data"}
    return sorted(name for name in names if flat[0].get(name) != flat[1].get(name))
