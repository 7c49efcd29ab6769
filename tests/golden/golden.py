"""What readers, scores and commands say, against what they said.

`python -m tests.golden [write] [quarter] [SECTION ...]`; exit code 1 where anything moved. Of texts
of `../shared` and of blind sets only digests are kept.
"""

import gzip
import json
import multiprocessing
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from tests.golden import readers, runs, sources
from tests.golden.sources import Case, digest
from tests.support.paths import SHARED

FOLDER = Path(__file__).parent / "data"
SETTINGS = {"OMP_NUM_THREADS": "1", "HISTOEVAL_ENGINE": "inline"}
Values = dict[str, Any]


class Section(NamedTuple):
    """A file of goldens: of which cases, what is asked of them, in how many parts."""

    cases: Callable[[], list[Case]]
    ask: Callable[[Sequence[Case]], Iterable[Values]]
    parts: int = 1
    by_model: bool = True
    """Whether a model has a say, whose digits are those of one kind of processor."""


SECTIONS: Mapping[str, Section] = {
    "commands": Section(sources.commands, runs.commands),
    "examples": Section(sources.examples, runs.examples),
    "scores": Section(sources.scored, runs.scores, 8),
    "trust": Section(sources.logic_reports, runs.trust),
    "extract": Section(sources.passages, runs.extract),
    "features": Section(sources.pairs, partial(readers.ask, readers.PAIR_READERS), 1, False),
    "readings": Section(sources.texts, partial(readers.ask, readers.READERS), 10, False),
}
NEAR = 1e-4
"""How far numbers of models are apart on two processors of one kind."""
_SHOWN_CHARS = 600


class Entry(NamedTuple):
    """All that is said of a case."""

    section: str
    case: Case
    values: Values

    @property
    def kept(self) -> Values:
        """What is said, without what is empty and in place of what must not be shown a digest."""
        values = {name: value for name, value in self.values.items() if not is_empty(value)}
        if self.case.shown:
            return values
        return {name: digest(coarse(value), 8) for name, value in values.items()}


def is_empty(value: Any) -> bool:
    """Whether nothing was read."""
    if isinstance(value, dict):
        return all(map(is_empty, value.values()))
    if isinstance(value, list):
        return all(map(is_empty, value))
    return value is None or value is False or value == ""


def coarse(value: Any) -> Any:
    """Numbers to four digits, for a digest."""
    if isinstance(value, dict):
        return {name: coarse(each) for name, each in value.items()}
    if isinstance(value, list):
        return [coarse(each) for each in value]
    return round(value, 4) if isinstance(value, float) else value


def are_same(old: Any, new: Any) -> bool:
    """Whether two values are, but for the last digits of numbers."""
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(are_same(old[name], new[name]) for name in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(are_same, old, new))
    if isinstance(old, float) and isinstance(new, float):
        return abs(old - new) <= NEAR
    return bool(old == new)


def work(section: str, part: int, quarter: bool) -> list[Entry]:
    """One part of a section, in a process of its own."""
    cases = _cases(section)[part :: SECTIONS[section].parts]
    if quarter:
        cases = [case for case in cases if case.key[0] in "0123"]
    answers = zip(cases, SECTIONS[section].ask(cases), strict=True)
    return [Entry(section, case, values) for case, values in answers]


@cache
def _cases(section: str) -> list[Case]:
    return SECTIONS[section].cases()


def entries(sections: Sequence[str], quarter: bool = False) -> Iterator[Entry]:
    """Everything of today, by two processes; what takes long comes first."""
    jobs = [(name, part, quarter) for name in sections for part in range(SECTIONS[name].parts)]
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="histoeval-golden-") as kept:
        os.environ.update(SETTINGS, HISTOEVAL_CACHE=kept)
        with ProcessPoolExecutor(2, mp_context=spawn) as pool:
            for found in pool.map(work, *zip(*jobs, strict=True)):
                yield from found


def write(found: Iterable[Entry], folder: Path) -> None:
    """Each section anew, the same bytes for the same values."""
    sections: dict[str, list[Entry]] = {}
    for entry in found:
        sections.setdefault(entry.section, []).append(entry)
    folder.mkdir(exist_ok=True)
    for section, each in sections.items():
        said = sorted({name for entry in each for name in entry.values})
        lines: list[Values] = [{"machine": platform.machine(), "readers": said}]
        for entry in each:
            told = entry.case._asdict() | {"key": entry.case.key, "values": entry.kept}
            lines.append({name: value for name, value in told.items() if name != "texts"})
        packed = "".join(
            json.dumps(line, ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n"
            for line in lines
        )
        content = gzip.compress(packed.encode("utf-8", "surrogatepass"), 9, mtime=0)
        (folder / f"{section}.jsonl.gz").write_bytes(content)


def read(path: Path) -> tuple[Values, dict[str, Values]]:
    """The head of a section, and what is kept of each case by its key."""
    text = gzip.decompress(path.read_bytes()).decode("utf-8", "surrogatepass")
    head, *rows = map(json.loads, text.split("\n")[:-1])
    return head, {row["key"]: row for row in rows}


def compare(
    found: Iterable[Entry], folder: Path, say: Callable[[str], object], quarter: bool = False
) -> bool:
    """Show what moved; whether nothing did."""
    old: dict[str, tuple[Values, dict[str, Values]]] = {}
    tally: dict[tuple[str, str], list[int]] = {}
    new = 0
    for entry in found:
        if entry.section not in old:
            old[entry.section] = read(folder / f"{entry.section}.jsonl.gz")
            tally |= {(entry.section, name): [0, 0] for name in old[entry.section][0]["readers"]}
        head, rows = old[entry.section]
        if SECTIONS[entry.section].by_model and head["machine"] != platform.machine():
            continue
        row, now = rows.pop(entry.case.key, None), entry.kept
        if row is None:
            new += 1
            continue
        for name in sorted({*row["values"], *entry.values}):
            moved = not are_same(row["values"].get(name), now.get(name))
            tally.setdefault((entry.section, name), [0, 0])[moved] += 1
            if moved and not entry.case.counted:
                say(shown(entry, name, row["values"].get(name)))
    say(table(tally))
    gone = 0 if quarter else sum(len(rows) for _, rows in old.values())
    if new or gone:
        say(f"{new} texts are new and {gone} not at hand: they are not compared")
    return not any(moved for _, moved in tally.values())


def shown(entry: Entry, name: str, old: Any) -> str:
    """A value that moved, with its text."""
    text = "\n".join(entry.case.texts)
    text = text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + " …"
    before, after = _items(old if entry.case.shown else "a digest"), _items(entry.values.get(name))
    return "\n".join(
        [
            f"\n{entry.section}, {name}: {entry.case.id}",
            *(f"  | {line}" for line in text.splitlines()),
            *(f"  - {each}" for each in before if each not in after),
            *(f"  + {each}" for each in after if each not in before),
        ]
    )


def _items(value: Any) -> list[str]:
    parts = list(value.items()) if isinstance(value, dict) else value
    parts = parts.splitlines() if isinstance(parts, str) else parts
    listed = parts if isinstance(parts, list) else [parts]
    return [json.dumps(each, ensure_ascii=False) for each in listed]


def table(tally: Mapping[tuple[str, str], Sequence[int]]) -> str:
    """Identical and moved, a row for each reader."""
    rows = [(*names, *counts) for names, counts in sorted(tally.items())]
    rows.append(("all", "", *(sum(counts[i] for counts in tally.values()) for i in (0, 1))))
    lines = [f"{section:9} {name:30} {same:9,} {moved:7,}" for section, name, same, moved in rows]
    return "\n".join([f"\n{'section':9} {'reader':30} identical   moved", *lines])


def main(
    arguments: Sequence[str], found: Iterable[Entry] | None = None, folder: Path = FOLDER
) -> int:
    """Write anew, or compare what is found today."""
    if "quarter" in arguments and "write" in arguments:
        raise SystemExit("a quarter is compared, never written")
    named = [argument for argument in arguments if argument not in ("write", "quarter")]
    quarter = "quarter" in arguments
    found = entries(named or list(SECTIONS), quarter) if found is None else found
    if not SHARED.is_dir():
        sys.stdout.write("../shared is not here: its texts are left out\n")
    if "write" in arguments:
        write(found, folder)
        return 0
    moved = not compare(found, folder, lambda line: sys.stdout.write(f"{line}\n"), quarter)
    return int(moved)
