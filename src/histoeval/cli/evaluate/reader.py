"""`histoeval evaluate reader`: what a reader finds against what people annotated."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from histoeval.cli.corpus import FormatName, FormatOption
from histoeval.cli.options.bundle import bundle, spread
from histoeval.cli.options.files import demand_folder, write_lines
from histoeval.cli.options.models import DeviceOption, DtypeOption, ReaderOption, RelationsOption
from histoeval.cli.options.output import FiguresOption, show, write_figures
from histoeval.errors import InputError, Problem

if TYPE_CHECKING:
    from histoeval.evaluate.reader import Evaluation, PredictedPassage
    from histoeval.extract.reader import Reader
    from histoeval.io.corpus import AnnotatedPassage

Labels = dict[str, str | None]


@bundle
class ReaderModels:
    """Which reader is measured, and how it runs."""

    reader: ReaderOption = None
    relations: RelationsOption = None
    device: DeviceOption = None
    dtype: DtypeOption = None

    def loaded(self, labels: Labels | None) -> Reader:
        """The reader; labels are for those that do not have our own."""
        from histoeval.run.models import Models, is_joint, load_reader

        return load_reader(
            Models(
                reader=self.reader,
                relations=self.relations,
                labels=None if is_joint(self.reader) else labels,
                device=self.device,
                dtype=self.dtype,
            )
        )


@bundle
class ResamplingOptions:
    """What figures are given beside the plain ones."""

    by: Annotated[Literal["source"] | None, typer.Option(help="Also tell each source apart.")] = (
        None
    )
    resamples: Annotated[
        int, typer.Option(min=0, help="Resamples of reports for the intervals; 0 for none.")
    ] = 1000
    seed: Annotated[int, typer.Option(min=0, help="Another seed draws other resamples.")] = 0


@spread
def reader(
    corpus: Annotated[
        Path,
        typer.Option(
            help="Annotated passages, in any format that `histoeval corpus` reads.",
            show_default=False,
        ),
    ],
    from_format: FormatOption = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            help="JSON file that says what labels of the corpus or of the reader mean, as in "
            '{"Tumour": "diagnosis"}.'
        ),
    ] = None,
    models: ReaderModels = ReaderModels(),
    output: FiguresOption = None,
    errors: Annotated[
        Path | None,
        typer.Option(
            help="JSON lines file for the passages that were read wrongly, with what is missing, "
            "invented, mistyped or misplaced.",
            show_default=False,
        ),
    ] = None,
    resampling: ResamplingOptions = ResamplingOptions(),
) -> None:
    """Compare what a reader finds with what people annotated.

    Exit code 0: every passage was compared; 1: some could not be read, and are named; 2: nothing
    could be done.
    """
    from histoeval.evaluate.mistakes import mistakes
    from histoeval.evaluate.reader import read_passages
    from histoeval.progress import step_progress

    for file in (output, errors):
        demand_folder(file)
    names = _names(labels)
    passages, problems = _passages(corpus, from_format, names)
    loaded = models.loaded(names)
    with step_progress(f"reading {corpus.name}", len(passages)) as tell:
        readings = read_passages(loaded, passages, tell)
    whole, sources = _evaluated(loaded, readings, resampling)
    header = {"corpus": corpus.name, "reader": loaded.identity}
    write_figures(output, header, {"unread": len(problems)} | _told(whole, sources))
    if errors is not None:
        write_lines(errors, (found.model_dump_json() for found in mistakes(readings)))
    _show(whole, sources)
    _finish(problems, len(passages))


def _evaluated(
    loaded: Reader, readings: Sequence[PredictedPassage], how: ResamplingOptions
) -> tuple[Evaluation, dict[str, Evaluation]]:
    """The figures of all passages, and, where asked for, of each source."""
    from histoeval.evaluate.reader import (
        evaluate,
        evaluate_by_source,
        out_of_reach,
    )

    missing = out_of_reach(loaded)
    drawn = {"resamples": how.resamples, "seed": how.seed}
    whole = evaluate(readings, missing, **drawn)
    return whole, evaluate_by_source(readings, missing, **drawn) if how.by == "source" else {}


def _names(labels: Path | None) -> Labels | None:
    from histoeval.io.annotation.names import read_labels

    return None if labels is None else read_labels(labels)


def _passages(
    corpus: Path, kind: FormatName | None, names: Labels | None
) -> tuple[list[AnnotatedPassage], list[Problem]]:
    """The passages that can be read, and why the others cannot."""
    from histoeval.io.corpus import read_corpus

    problems: list[Problem] = []
    passages = list(read_corpus(corpus, kind, labels=names, on_problem=problems.append))
    if not passages:
        why = f". The first: {problems[0].message}" if problems else ""
        raise InputError(f"no passage of {corpus} can be read{why}")
    return passages, problems


def _show(whole: Evaluation, sources: dict[str, Evaluation]) -> None:
    from histoeval.view.terminal.reader_evaluation import evaluation_tables, source_table

    show(evaluation_tables(whole))
    if sources:
        show([source_table(sources)])


def _told(whole: Evaluation, sources: dict[str, Evaluation]) -> dict[str, Any]:
    told = whole.model_dump(mode="json")
    if sources:
        told["sources"] = {name: each.model_dump(mode="json") for name, each in sources.items()}
    return told


def _finish(problems: Sequence[Problem], passages: int) -> None:
    """Say what was left out; exit code 1 if anything was."""
    if not problems:
        return
    from rich.console import Console

    from histoeval.view.terminal.corpus import refusal_table

    typer.echo(f"{len(problems):,} of {len(problems) + passages:,} passages left out", err=True)
    Console(stderr=True).print(refusal_table(problems))
    raise typer.Exit(1)
