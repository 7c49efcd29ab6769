"""One score explained: its parts, both texts with matches and errors highlighted, and lists."""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from histoeval.console import Console
from histoeval.metric import Explanation, PartCost, Score
from histoeval.report import Pair
from histoeval.view.findings import (
    MATCH,
    SEVERITIES,
    Findings,
    ShownError,
    ShownMatch,
    findings_of,
    spans_of,
)
from histoeval.view.highlight import coloured, has_colours, in_brackets, one_line
from histoeval.view.terminal.extraction import MARKS, marked_entity
from histoeval.view.terminal.scores import range_text

PLAIN_WIDTH = 100
"""The width of the output if it is no terminal."""

SIDE_BY_SIDE_WIDTH = 110
"""From this width on both texts are shown side by side."""

EXPERT_SCALE = "expert_scale"
"""Not a part, but the value again, from 0 to 5 as experts give it."""


def page() -> Console:
    """The terminal with its own width; without one, plain text of a fixed width."""
    console = Console()
    return console if console.is_terminal else Console(width=PLAIN_WIDTH)


def show_explanation(
    console: Console, pair: Pair, score: Score, scale: tuple[float, float]
) -> None:
    """Print a score of this scale with its parts and its evidence."""
    findings = findings_of(score)
    console.print(_header(pair, score, scale))
    parts = {name: value for name, value in score.parts.items() if name != EXPERT_SCALE}
    costs = score.breakdown if isinstance(score, Explanation) else ()
    if parts:
        console.print(_part_table(parts, costs))
    if costs:
        total = sum(each.cost for each in costs)
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
    """A bar for each part that is between 0 and 1, and what it costs where that is known."""
    columns = ("weight", "cost") if costs else ()
    table = _table("part", "", "", *columns)
    cost_of = {each.part: each for each in costs}
    for name, value in parts.items():
        bar = ProgressBar(
            total=1.0, completed=value, width=20, complete_style="cyan", finished_style="cyan"
        )
        cost = cost_of.get(name)
        table.add_row(
            one_line(name.replace("_", " ")),
            f"{value:.2f}",
            bar if 0 <= value <= 1 else "",
            *((f"{cost.weight:.2f}", f"{cost.cost:.3f}") if cost else ()),
        )
    return table


def _lists(findings: Findings, score: Score) -> Iterable[RenderableType]:
    """A legend, the errors and the matches; or that the metric has none."""
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
    else:
        yield _match_table(findings.facts) if findings.facts else Text("Nothing matches.")


def _specimen_table(findings: Findings) -> Table:
    """Part beside part, each with the numbers of its errors."""
    table = _table("reference", "candidate", "errors")
    table.title = Text("Specimens", "bold")
    listed = [*enumerate(findings.errors or (), start=1)]
    for pair in findings.specimens:
        numbers = [f"{error.marks}{n}" for n, error in listed if pair.specimen in error.specimen]
        table.add_row(
            Text(one_line(pair.reference.text)),
            Text(one_line(pair.candidate.text)),
            Text(" ".join(numbers)),
        )
    for n, error in listed:
        if error.kind in ("missing_specimen", "invented_specimen"):
            names = (error.specimen, "-") if error.candidate is None else ("-", error.specimen)
            table.add_row(*(Text(one_line(name)) for name in names), Text(f"{error.marks}{n}"))
    return table


def _error_table(errors: Sequence[ShownError], value: float) -> Table:
    table = _table("", "severity", "kind", "what and where")
    table.title = Text("Errors, most severe first", "bold")
    for number, error in enumerate(errors, start=1):
        sides = {"reference": error.reference, "candidate": error.candidate}
        places = ", ".join(f"{side} {e.start}:{e.end}" for side, e in sides.items() if e)
        specimen = f", specimen {one_line(error.specimen)}" if error.specimen else ""
        gain = ""
        if error.without is not None:
            difference = error.without - value
            gain = f"\nwithout this error: {error.without:.3f} ({difference:+.3f})"
        table.add_row(
            str(number),
            Text(f"{error.marks} {error.severity.name.lower()}", SEVERITIES[error.severity]),
            Text(one_line(error.kind.replace("_", " "))),
            Text(f"{one_line(error.words)}\n{places}{specimen}{gain}"),
        )
    return table


def _match_table(matches: Sequence[ShownMatch]) -> Table:
    table = _table("", "part", "reference", "candidate", "similarity")
    table.title = Text(f"Matches ({MARKS})", "bold")
    for number, match in enumerate(matches, start=1):
        table.add_row(
            str(number),
            Text(one_line(match.part.replace("_", " "))),
            Text(marked_entity(match.reference)),
            Text(marked_entity(match.candidate)),
            f"{match.similarity:.2f}",
        )
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column == "severity")
    return table
