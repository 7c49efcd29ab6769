"""`histoeval corpus`: look at annotated corpora, compare, split and convert them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from histoeval.errors import InputError, OutputError, Problem, SettingError

if TYPE_CHECKING:
    from histoeval.io.corpus import AnnotatedPassage

corpus_app = typer.Typer(
    no_args_is_help=True, help="Look at annotated corpora, compare, split and convert them."
)

FormatName = Literal["ours", "hare", "label_studio", "webanno", "xmi", "brat"]
WrittenName = Literal["ours", "hare", "label_studio"]

FORMAT_HELP = "Format of the file; guessed when left out."
CorpusFile = Annotated[
    Path,
    typer.Argument(
        help="Annotated passages: our JSON lines, HARE JSON, a Label Studio export, WebAnno TSV "
        "or XMI of INCEpTION (a file, folder or zip), or a brat folder.",
        show_default=False,
    ),
]
FormatOption = Annotated[FormatName | None, typer.Option("--from", help=FORMAT_HELP)]
LabelsOption = Annotated[
    Path | None,
    typer.Option(help='JSON file that says what labels mean, as in {"Tumour": "diagnosis"}.'),
]


@corpus_app.command()
def stats(
    file: CorpusFile,
    from_format: FormatOption = None,
    labels: LabelsOption = None,
    tokenizer: Annotated[
        str | None,
        typer.Option(help="Count the tokens of this model (hub name or folder), not words."),
    ] = None,
) -> None:
    """Count entities, assertions, relations, passages and tokens, for each source."""
    from rich.console import Console

    from histoeval.evaluate.corpus import (
        corpus_statistics,
        count_words,
        token_counter,
    )
    from histoeval.view.terminal.corpus import statistics_tables

    problems: list[Problem] = []
    count = count_words if tokenizer is None else token_counter(tokenizer)
    counted = corpus_statistics(_read(file, from_format, labels, problems), count)
    _demand(counted.total.passages, problems, file)
    console = Console()
    for table in statistics_tables(counted, "words" if tokenizer is None else "tokens"):
        console.print(table)
    _finish(problems)


@corpus_app.command()
def agreement(
    file_a: CorpusFile,
    file_b: CorpusFile,
    from_format: FormatOption = None,
    labels: LabelsOption = None,
) -> None:
    """Say how far two annotators agree on the same passages."""
    from rich.console import Console

    from histoeval.evaluate.corpus import annotator_agreement
    from histoeval.view.terminal.corpus import agreement_table, left_out

    problems: list[Problem] = []
    agreed = annotator_agreement(
        _read(file_a, from_format, labels, problems), _read(file_b, from_format, labels, problems)
    )
    if not agreed.passages:
        _demand(0, problems, file_a)
    names = (file_a.name, file_b.name)
    Console().print(agreement_table(agreed, names))
    typer.echo(f"{agreed.passages:,} passages compared")
    for remark in left_out(agreed, names):
        typer.echo(remark, err=True)
    _finish(problems)


@corpus_app.command()
def split(
    file: CorpusFile,
    output: Annotated[Path, typer.Option(help="Folder for train.jsonl, dev.jsonl, test.jsonl.")],
    train: Annotated[float, typer.Option(min=0, max=1, help="Share for training.")] = 0.8,
    dev: Annotated[float, typer.Option(min=0, max=1, help="Share for development.")] = 0.1,
    test: Annotated[float, typer.Option(min=0, max=1, help="Share for testing.")] = 0.1,
    seed: Annotated[int, typer.Option(help="Another seed gives another split.")] = 0,
    from_format: FormatOption = None,
    labels: LabelsOption = None,
) -> None:
    """Split a corpus by report: no report stands in two parts."""
    from histoeval.evaluate.corpus import split_by_report
    from histoeval.io.corpus import write_corpus

    problems: list[Problem] = []
    passages = list(_read(file, from_format, labels, problems))
    _demand(len(passages), problems, file)
    parts = split_by_report(passages, {"train": train, "dev": dev, "test": test}, seed)
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{output} cannot be made: {error.strerror or error}") from error
    for name, part in parts.items():
        if part:
            write_corpus(output / f"{name}.jsonl", part)
        reports = len({passage.report_id for passage in part})
        typer.echo(f"{name}: {len(part):,} passages of {reports:,} reports")
    _finish(problems)


@corpus_app.command()
def convert(
    file: CorpusFile,
    out: Annotated[Path, typer.Argument(help="File to write.", show_default=False)],
    to: Annotated[WrittenName, typer.Option(help="Format to write.")],
    from_format: FormatOption = None,
    labels: LabelsOption = None,
) -> None:
    """Write a corpus in another format.

    For Label Studio the passages become tasks with pre-annotations that people can correct; the
    labelling view that they need is written beside them.
    """
    from histoeval.io.annotation.label_studio import label_studio_config
    from histoeval.io.corpus import write_corpus

    problems: list[Problem] = []
    passages = _read(file, from_format, labels, problems)
    first = next(passages, None)
    _demand(0 if first is None else 1, problems, file)
    count = write_corpus(out, chain([first], passages) if first else passages, to)
    typer.echo(f"Written: {out}, {count:,} passages")
    if to == "label_studio":
        view = out.with_suffix(".config.xml")
        view.write_text(label_studio_config(), "utf-8")
        typer.echo(f"Written: {view}, the labelling view for the project")
    _finish(problems)


@corpus_app.command()
def figures(
    corpus_a: Annotated[
        Path, typer.Argument(help="Reports: a table, a text file or a folder.", show_default=False)
    ],
    corpus_b: Annotated[Path, typer.Argument(help="Other reports.", show_default=False)],
    output: Annotated[Path, typer.Option(help="Folder for the figures, as SVG and PNG.")],
    names: Annotated[
        str | None,
        typer.Option(help="What to call the two, with a comma between.", show_default=False),
    ] = None,
    text: Annotated[str | None, typer.Option(help="Column of the text, in tables.")] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            help="Encoder for the map of words (hub name or folder; extra [hf]). Without it, words "
            "are placed by the words around them.",
            show_default=False,
        ),
    ] = None,
    sample: Annotated[int, typer.Option(min=1, help="Reports of each that are looked at.")] = 1000,
    shown: Annotated[
        int, typer.Option(min=0, help="Reports of each that are shown as they were read.")
    ] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Another seed draws other reports.")] = 0,
) -> None:
    """Draw word clouds, a map of words with density, and annotated reports of two corpora."""
    from histoeval.io.store import writing_to
    from histoeval.run.models import Models
    from histoeval.view.figures.corpus_pictures import (
        corpus_figures,
        encoder_embed,
        sample_texts,
    )
    from histoeval.view.html.agreement import write_figures

    called = [name.strip() for name in (names or "").split(",")] if names else []
    if called and (len(called) != 2 or len(set(called)) != 2):
        raise SettingError(f"--names {names!r} is not two names, as in radiology,pathology")
    called = called or [corpus_a.stem, corpus_b.stem]
    if called[0] == called[1]:
        called = [f"{called[0]} (1)", f"{called[1]} (2)"]
    corpora = [
        (name, sample_texts(file, sample, seed, text))
        for name, file in zip(called, (corpus_a, corpus_b), strict=True)
    ]
    embed = None if encoder is None else encoder_embed(Models(encoder=encoder))
    with writing_to(output):
        output.mkdir(parents=True, exist_ok=True)
        for file in write_figures(output, list(corpus_figures(corpora, embed=embed, shown=shown))):
            typer.echo(f"Written: {file}")


def _read(
    file: Path, kind: FormatName | None, labels: Path | None, problems: list[Problem]
) -> Iterator[AnnotatedPassage]:
    """The passages; of those that cannot be read the reasons are kept."""
    from histoeval.io.annotation.names import read_labels
    from histoeval.io.corpus import read_corpus

    names = None if labels is None else read_labels(labels)
    return read_corpus(file, kind, labels=names, on_problem=problems.append)


def _demand(passages: int, problems: Sequence[Problem], file: Path) -> None:
    """Stop where there is nothing to work on, and say why."""
    if passages:
        return
    if problems:
        raise InputError(f"no passage of {file} can be read. The first: {problems[0].message}")
    raise InputError(f"{file} has no passages that can be used here")


def _finish(problems: Sequence[Problem]) -> None:
    """Say what was left out; exit code 1 if anything was."""
    if not problems:
        return
    from rich.console import Console

    from histoeval.view.terminal.corpus import refusal_table

    Console(stderr=True).print(refusal_table(problems))
    raise typer.Exit(1)
