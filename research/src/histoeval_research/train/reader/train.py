"""`histoeval train reader`: our joint reader, in steps, from unlabelled and annotated reports.

The readers on the way are all scored on the dev passages: the table shows the contribution of each
step.
"""

from functools import partial
from pathlib import Path
from typing import Any

from histoeval.reader.builtin import BuiltinReader
from histoeval_research.evaluate.reader import evaluate_reader
from histoeval_research.train.cards import card, scores_of
from histoeval_research.train.core.loop import THIS_MACHINE, Checkpoint, TrainingSite
from histoeval_research.train.core.model_folder import ModelFolder, versions, weights_of
from histoeval_research.train.hare_bench.config import shared_reports
from histoeval_research.train.reader.config import ReaderSettings
from histoeval_research.train.reader.steps import ReaderTraining
from histoeval_research.train.reader.torch_reader import TorchReader

SHIPPED = "as written, int8"
"""The last row of the table: the folder that others load."""


def train_reader(
    settings: ReaderSettings, output: Path, site: TrainingSite = THIS_MACHINE
) -> dict[str, Any]:
    """Train a reader and write its folder; the results, at once if it is there already.

    Steps that are done are never run again: to restart, delete the work folder.
    """
    training = ReaderTraining(settings, work_folder(settings, output), site)

    def make(draft: Path, _: Checkpoint) -> dict[str, Any]:
        """The results of a reader that is written to a draft folder; each step has a checkpoint."""
        from histoeval_research.train.reader.export import calibrate, write_reader, write_tagger

        steps, facts = training.take_steps()
        site.tell("writing the model")
        encoder, (model,) = training.readers("student", [training.student])
        reader = TorchReader([model], encoder.fast, encoder.device)
        texts = [passage.text for passage in training.train]
        tokens = settings.windows.tokens
        made_with = versions()
        # Both write a `tokenizer.json`, the same but for its layout; the manifest knows the second.
        write_tagger(model, reader, texts, encoder.name, tokens, draft, site.device)
        details = {"request": training.request, "versions": made_with}
        write_reader(model, encoder.fast, draft, name=settings.name, details=details)
        gains = calibrate(draft, training.dev)
        evaluation = evaluate_reader(BuiltinReader(draft), training.dev)
        return {
            "parameters": sum(weights.numel() for weights in model.parameters()),
            "samples": {"train": len(training.train), "dev": len(training.dev)},
            "unlabelled": facts,
            "shared_reports": shared_reports(training.train, training.dev),
            "steps": steps | {SHIPPED: scores_of(evaluation)},
            "scores": evaluation.model_dump(mode="json", exclude={"calibration"}),
            "calibration": gains,
            "weights": weights_of(draft),
            "versions": made_with,
        }

    return ModelFolder(output).fill(
        training.request, make, partial(card, "reader"), overwrite=site.overwrite
    )


def work_folder(settings: ReaderSettings, output: Path) -> Path:
    """Where the outcome of each step is kept."""
    path = output.absolute()
    return settings.work or path.with_name(f"{path.name}.work")
