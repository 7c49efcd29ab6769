"""`histoeval corpus`: inspect, compare, split and convert annotated corpora."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.output import print_tables
from histoeval.cli.verb import verb
from histoeval.console import Console
from histoeval.errors import InputError, OutputError, Problem, SettingError
from histoeval.io.writing import (
    check_not_input,
    make_folder,
    protect,
    remove,
    write_text,
    writing_to,
)
from histoeval.labels import read_labels
from histoeval.run.models import Models
from histoeval.run.settings import Overwrite
from histoeval.settings import Argument, Option
from histoeval_research.annotation.label_studio import label_studio_config
from histoeval_research.corpus import AnnotatedPassage, Format, Written, read_corpus, write_corpus
from histoeval_research.evaluate.corpus import (
    annotator_agreement,
    corpus_statistics,
    count_words,
    split_by_report,
    token_counter,
)
from histoeval_research.view.model_tables import (
    agreement_table,
    left_out,
    refusal_table,
    statistics_tables,
)

corpus_app = typer.Typer(
    no_args_is_help=True, help="Inspect, compare, split and convert annotated corpora."
)

CorpusFile = Annotated[
    Path,
    Argument(
        "Annotated passages: our JSON lines, HARE JSON, a Label Studio export, WebAnno TSV "
        "or XMI of INCEpTION (a file, folder or zip), or a brat folder."
    ),
]
FormatOption = Annotated[
    Format | None, Option("Format of the file; guessed when omitted.", name="--from")
]


@dataclass(frozen=True)
class CorpusFormat:
    from_format: FormatOption = None
    labels: Annotated[
        Mapping[str, str | None] | None,
        Option(
            'JSON file that maps labels to ours, as in {"Tumour": "diagnosis"}.',
            shell=Path | None,
            read=read_labels,
        ),
    ] = None
    problems: list[Problem] = field(default_factory=list)

    def read(self, file: Path) -> Iterator[AnnotatedPassage]:
        """The passages; there must be some."""
        passages = read_corpus(
            file, self.from_format, labels=self.labels, on_problem=self.problems.append
        )
        first = next(passages, None)
        if first is None:
            if self.problems:
                why = f"First error: {self.problems[0].message}"
                raise InputError(f"no passage of {file} can be read. {why}")
            raise InputError(f"{file} has no passages that can be used here")
        return chain([first], passages)

    def finish(self) -> None:
        """Print what was skipped; exit with 1 if anything was."""
        if self.problems:
            Console(stderr=True).print(refusal_table(self.problems))
            raise typer.Exit(1)


@corpus_app.command()
@verb
def stats(
    file: CorpusFile,
    source: CorpusFormat = CorpusFormat(),
    tokenizer: Annotated[
        str | None, Option("Count tokens of this model (hub name or folder) instead of words.")
    ] = None,
) -> None:
    """Count entities, assertions, relations, passages and tokens of each source.

    Examples:
      histoeval corpus stats corpus.jsonl
    """
    count = count_words if tokenizer is None else token_counter(tokenizer)
    counted = corpus_statistics(source.read(file), count)
    print_tables(statistics_tables(counted, "words" if tokenizer is None else "tokens"))
    source.finish()


@corpus_app.command()
@verb
def agreement(
    file_a: CorpusFile, file_b: CorpusFile, source: CorpusFormat = CorpusFormat()
) -> None:
    """Measure how far two annotators agree on the same passages.

    Examples:
      histoeval corpus agreement anna.jsonl ben.jsonl
    """
    agreed = annotator_agreement(source.read(file_a), source.read(file_b))
    if not agreed.passages:
        raise InputError(f"{file_a} has no passages that can be used here")
    names = (file_a.name, file_b.name)
    print_tables([agreement_table(agreed, names)])
    typer.echo(f"{agreed.passages:,} passages compared")
    for remark in left_out(agreed, names):
        typer.echo(remark, err=True)
    source.finish()


@corpus_app.command()
@verb
def split(
    file: CorpusFile,
    output: Annotated[Path, Option("Folder for train.jsonl, dev.jsonl, test.jsonl.")],
    train: Annotated[float, Option("Share for training.", min=0, max=1)] = 0.8,
    dev: Annotated[float, Option("Share for development.", min=0, max=1)] = 0.1,
    test: Annotated[float, Option("Share for testing.", min=0, max=1)] = 0.1,
    seed: Annotated[int, Option("Random seed of the split.")] = 0,
    source: CorpusFormat = CorpusFormat(),
    overwrite: Overwrite = False,
) -> None:
    """Split a corpus by report, so that no report is in two parts.

    Examples:
      histoeval corpus split corpus.jsonl --output parts
    """
    shares = {"train": train, "dev": dev, "test": test}
    files = {name: output / f"{name}.jsonl" for name in shares}
    _demand_new(files.values(), file, overwrite)
    parts = split_by_report(source.read(file), shares, seed)
    with writing_to(output):
        make_folder(output)
        for written in files.values():
            remove(written)
    for name, part in parts.items():
        if part:
            write_corpus(files[name], part)
        reports = len({passage.report_id for passage in part})
        typer.echo(f"{name}: {len(part):,} passages of {reports:,} reports")
    source.finish()


@corpus_app.command()
@verb
def convert(
    file: CorpusFile,
    out: Annotated[Path, Argument("File to write.")],
    to: Annotated[Written, Option("Format to write.")],
    source: CorpusFormat = CorpusFormat(),
    overwrite: Overwrite = False,
) -> None:
    """Write a corpus in another format.

    For Label Studio the passages become tasks with pre-annotations that people can correct; the
    labelling view that they need is written next to them.

    Examples:
      histoeval corpus convert project.zip corpus.jsonl --to ours
    """
    view = out.with_suffix(".config.xml")
    _demand_new([out, view] if to == "label_studio" else [out], file, overwrite)
    count = write_corpus(out, source.read(file), to)
    typer.echo(f"Written: {out}, {count:,} passages")
    if to == "label_studio":
        with writing_to(view):
            write_text(view, label_studio_config())
        typer.echo(f"Written: {view}, the labelling view for the project")
    source.finish()


@corpus_app.command()
@verb
def figures(
    corpus_a: Annotated[Path, Argument("Reports: a table, a text file or a folder.")],
    corpus_b: Annotated[Path, Argument("Other reports.")],
    output: Annotated[Path, Option("Folder for the figures, as SVG and PNG.")],
    names: Annotated[str | None, Option("Names of the two, separated by a comma.")] = None,
    text: Annotated[str | None, Option("Column with the text, for tables.")] = None,
    encoder: Annotated[
        str | None,
        Option(
            "Encoder for the word map (hub name or folder; extra hf). Without it, words are "
            "placed by their co-occurrence."
        ),
    ] = None,
    sample: Annotated[int, Option("Number of reports of each corpus to use.", min=1)] = 1000,
    shown: Annotated[int, Option("Number of reports of each corpus to show annotated.", min=0)] = 1,
    seed: Annotated[int, Option("Random seed of the sample of reports.", min=0)] = 0,
) -> None:
    """Draw word clouds, a word map with density, and annotated reports of two corpora.

    Examples:
      histoeval corpus figures radiology.csv pathology.csv --output figures
    """
    from histoeval.view.exports import write_picture
    from histoeval_research.view.corpus_figures import corpus_figures, encoder_embed, sample_texts

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
        make_folder(output)
        for figure, picture in list(corpus_figures(corpora, embed=embed, shown=shown)):
            for file in write_picture(output, figure, picture):
                typer.echo(f"Written: {file}")


def _demand_new(outputs: Iterable[Path], source: Path, overwrite: bool) -> None:
    """Refuse to replace a document of the corpus, and any other file unless that is wanted."""
    protect(source.rglob("*") if source.is_dir() else [source])
    written = list(outputs)
    check_not_input(written)
    if not overwrite and (there := [path for path in written if path.exists()]):
        raise OutputError(f"{there[0]} exists; give another name, or --overwrite to replace it")
