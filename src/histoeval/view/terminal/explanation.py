"""One score explained: its parts, both texts with matches and errors highlighted, and lists."""

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from histoeval.console import Console
from histoeval.metric import Explanation, PartCost, Score
from histoeval.report import Pair
from histoeval.view.findings import MATCH, SEVERITIES, Findings, ShownError, findings_of, spans_of
from histoeval.view.highlight import coloured, has_colours, in_brackets, one_line
from histoeval.view.terminal.extraction import MARKS, marked_entity
from histoeval.view.terminal.scores import range_text

PLAIN_WIDTH = 100  # the width of the output if it is no terminal
SIDE_BY_SIDE_WIDTH = 110  # from this width on both texts are shown side by side
EXPERT_SCALE = "expert_scale"  # not a part, but the value again, from 0 to 5 as experts give it


def page() -> Console:
    """Return a console for the terminal; without one, plain text of a fixed width."""
    console = Console()
    return console if console.is_terminal else Console(width=PLAIN_WIDTH)


def show_explanation(
    console: Console, pair: Pair, score: Score, scale: tuple[float, float]
) -> None:
    findings = findings_of(score)
    console.print(_header(pair, score, scale))
    parts = {name: value for name, value in score.parts.items() if name != EXPERT_SCALE}
    costs = score.breakdown if isinstance(score, Explanation) else ()
    if parts:
        console.print(_part_table(parts, costs))
    if costs:
        total = sum(part.cost for part in costs)
        console.print(f"The costs add up: {scale[1]:.3f} - {total:.3f} = {score.value:.3f}")
    draw = coloured if has_colours(console) else in_brackets
    texts = {
        "Reference": draw(pair.reference, spans_of(findings, "reference", pair.reference)),
        "Candidate": draw(pair.candidate, spans_of(findings, "candidate", pair.candidate)),
    }
    console.print()
    if console.width >= SIDE_BY_SIDE_WIDTH:
        table = Table(box=None, expand=True, padding=(0, 2, 0, 0), pad_edge=False)
        for name in texts:
            table.add_column(name, ratio=1, overflow="fold")
        table.add_row(*texts.values())
        console.print(table)
    else:
        blocks = [Group(Text(name, "bold"), text) for name, text in texts.items()]
        console.print(Group(blocks[0], Text(), blocks[1]))
    for block in _lists(findings, score):
        console.print()
        console.print(block)


def _header(pair: Pair, score: Score, scale: tuple[float, float]) -> Text:
    system = "" if pair.system == "candidate" else f" ({one_line(pair.system)})"
    header = Text(f"{one_line(pair.id)}{system}: ")
    header.append(f"{score.signature.metric} {score.value:.3f}", "bold")
    header.append(f" ({range_text(*scale)})")
    if (expert := score.parts.get(EXPERT_SCALE)) is not None:
        header.append(", ").append(f"{expert:.1f}", "bold").append(" on the expert scale (0 to 5)")
    return header


def _part_table(parts: dict[str, float], costs: Sequence[PartCost]) -> Table:
    """Show a bar for each part between 0 and 1, and its cost if known."""
    cost_of = {part.part: part for part in costs}
    rows: list[Sequence[RenderableType]] = []
    for name, value in parts.items():
        bar = ProgressBar(
            total=1.0, completed=value, width=20, complete_style="cyan", finished_style="cyan"
        )
        row = [one_line(name.replace("_", " ")), f"{value:.2f}", bar if 0 <= value <= 1 else ""]
        if cost := cost_of.get(name):
            row += [f"{cost.weight:.2f}", f"{cost.cost:.3f}"]
        rows.append(row)
    return _table(None, ["part", "", "", *(("weight", "cost") if costs else ())], rows)


def _lists(findings: Findings, score: Score) -> Iterator[RenderableType]:
    metric = score.signature.metric
    if findings.errors is None and findings.matches is None:
        yield Text(
            f"{metric} gives no matches or errors to highlight; --json prints all of its evidence."
        )
        return
    if findings.reasoning:
        yield Text(findings.reasoning)
    if findings.errors or findings.matches:
        marks = [Text(f"({'!' * severity}n)", style) for severity, style in SEVERITIES.items()]
        names = ", ".join(severity.name.lower() for severity in SEVERITIES)
        yield Text.assemble(
            "Marks: ",
            ("(=n)", MATCH),
            " is match n below; ",
            Text(", ").join(marks),
            f" is error n below: {names}.",
        )
    if findings.specimens:
        yield _specimen_table(findings)
    if findings.errors is None:
        yield Text(f"{metric} does not look for errors.")
    else:
        yield _error_table(findings.errors, score.value) if findings.errors else Text("No errors.")
    if findings.matches is None:
        yield Text(f"{metric} does not list matches.")
    elif not findings.facts:
        yield Text("Nothing matches.")
    else:
        matches = [
            [
                str(number),
                one_line(match.part.replace("_", " ")),
                marked_entity(match.reference),
                marked_entity(match.candidate),
                f"{match.similarity:.2f}",
            ]
            for number, match in enumerate(findings.facts, start=1)
        ]
        columns = ["", "part", "reference", "candidate", "similarity"]
        yield _table(f"Matches ({MARKS})", columns, matches)


def _specimen_table(findings: Findings) -> Table:
    errors = [*enumerate(findings.errors or (), start=1)]
    rows = []
    for pair in findings.specimens:
        numbers = [f"{error.marks}{n}" for n, error in errors if pair.specimen in error.specimen]
        names = (one_line(pair.reference.text), one_line(pair.candidate.text))
        rows.append([*names, " ".join(numbers)])
    for n, error in errors:
        if error.kind in ("missing_specimen", "invented_specimen"):
            name = one_line(error.specimen)
            names = (name, "-") if error.candidate is None else ("-", name)
            rows.append([*names, f"{error.marks}{n}"])
    return _table("Specimens", ["reference", "candidate", "errors"], rows)


def _error_table(errors: Sequence[ShownError], value: float) -> Table:
    rows: list[Sequence[RenderableType]] = []
    for number, error in enumerate(errors, start=1):
        sides = {"reference": error.reference, "candidate": error.candidate}
        places = ", ".join(f"{side} {e.start}:{e.end}" for side, e in sides.items() if e)
        specimen = f", specimen {one_line(error.specimen)}" if error.specimen else ""
        gain = ""
        if error.without is not None:
            difference = error.without - value
            gain = f"\nwithout this error: {error.without:.3f} ({difference:+.3f})"
        severity = f"{error.marks} {error.severity.name.lower()}"
        rows.append(
            [
                str(number),
                Text(severity, SEVERITIES[error.severity]),
                one_line(error.kind.replace("_", " ")),
                f"{one_line(error.words)}\n{places}{specimen}{gain}",
            ]
        )
    return _table("Errors, most severe first", ["", "severity", "kind", "what and where"], rows)


def _table(
    title: str | None, columns: Sequence[str], rows: Iterable[Sequence[RenderableType]]
) -> Table:
    """A table without lines; no text in it is markup."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), title_justify="left")
    table.title = None if title is None else Text(title, "bold")
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column == "severity")
    for row in rows:
        table.add_row(*[Text(cell) if isinstance(cell, str) else cell for cell in row])
    return table
