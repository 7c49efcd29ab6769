"""Runs in Weights & Biases: settings, means and a table of rows.

>>> from histoeval.adapters.wandb import log_run
>>> log_run("results", project="reports")
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from histoeval.adapters import imported
from histoeval.adapters.runs import TrackedRun, read_run

wandb = imported("wandb", "wandb")


def log_run(
    folder: str | Path,
    *,
    rows: bool = True,
    texts: bool = False,
    project: str = "histoeval",
    **settings: Any,
) -> str:
    """Log a finished run of `score`, `judge` or `trust` to Weights & Biases.

    Args:
        folder: the folder of the run.
        rows: also a table with the scores of each row, by id.
        texts: also report texts, evidence and messages, and the files of the run as an artifact.
            Reports are health data: is the server a place for them?
        project: of a new run.
        **settings: of `wandb.init`, such as `mode="offline"` and `dir`.

    Returns:
        The id of the W&B run: the active one, or a new one, which is called like the folder and
        sends neither what the terminal shows nor code.
    """
    tracked = read_run(folder, rows=rows, texts=texts)
    if wandb.run is not None:
        _log(wandb.run, tracked)
        return str(wandb.run.id)
    quiet = wandb.Settings(console="off", disable_git=True, disable_code=True)
    defaults = {"name": tracked.name, "settings": quiet}
    with wandb.init(project=project, **defaults | settings) as run:
        _log(run, tracked)
        return str(run.id)


def _log(run: Any, tracked: TrackedRun) -> None:
    run.config.update(tracked.settings, allow_val_change=True)
    run.summary.update(tracked.numbers)
    if tracked.rows:
        columns = tracked.columns
        cells = [list(row) for row in zip(*columns.values(), strict=True)]
        run.log({"rows": wandb.Table(columns=list(columns), data=cells, allow_mixed_types=True)})
    if tracked.files:
        artifact = wandb.Artifact(f"histoeval-{run.id}", type="evaluation")
        for file in tracked.files:
            artifact.add_file(str(file))
        run.log_artifact(artifact)
