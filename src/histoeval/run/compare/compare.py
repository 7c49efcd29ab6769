"""Comparing systems by their results: ``histoeval.compare(["a.jsonl", "b.jsonl"])``."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from histoeval.agreement.systems import Contest, SystemScore
from histoeval.argument_names import argument, documented, front_door
from histoeval.errors import InputError, SettingError, did_you_mean
from histoeval.io.files import open_table
from histoeval.io.results import read_rows
from histoeval.io.tables.columns import Columns, columns_by_name, columns_found
from histoeval.io.tables.records import Fault, name_of
from histoeval.io.writing import make_folder, write_json, writing_to
from histoeval.run.compare.conditions import read_conditions
from histoeval.run.compare.gate import USUAL_METRIC, Gate, PairedTest, gate_of
from histoeval.run.compare.systems import (
    Missing,
    ScoredFiles,
    System,
    matched,
    shared_description,
    systems_in,
)
from histoeval.run.results import Frames
from histoeval.run.settings import PathLike, Permutations, Resamples, Seed, metric_option
from histoeval.settings import Argument, Keyword, Option
from histoeval.statistics.resampling import PERMUTATIONS, RESAMPLES
from histoeval.version import __version__

MOST_DIFFERENT = 5
GATE = "Gate"


@dataclass(frozen=True, repr=False)
class Comparison(Frames):
    """Systems ranked by one metric, and the pairs on which they differ most.

    It has a row for each system, from the best: iterate over them, or take one by its name.
    """

    metric: str
    signature: str
    contest: Contest
    apart: tuple[dict[str, Any], ...]
    left_out: Mapping[str, int]
    settings: Mapping[str, Any]
    # What to know before reading on: ids that are missing, other versions, the chosen metric.
    notes: tuple[str, ...] = ()
    # Where there is a baseline: the conditions, and the cases that got worse.
    gate: Gate | None = None

    @property
    def summary(self) -> dict[str, Any]:
        """The content of `comparison.json`."""
        return self.to_dict()

    def __iter__(self) -> Iterator[SystemScore]:
        return iter(self.contest.systems)

    def __len__(self) -> int:
        return len(self.contest.systems)

    def __getitem__(self, system: str) -> SystemScore:
        return {row.system: row for row in self}[system]

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield flat records: a system with its rank, its mean and the interval of the mean."""
        for row in self:
            mean = row.mean
            flat = {"mean": mean.value, "mean.low": mean.low, "mean.high": mean.high}
            skipped = self.left_out.get(row.system, 0)
            yield {"system": row.system, "rank": row.rank, **flat, "left_out": skipped}

    def __repr__(self) -> str:
        ranks = ", ".join(f"{row.rank}. {row.system}" for row in self)
        return f"<Comparison by {self.metric} on {self.contest.pairs} pairs: {ranks}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the content of `comparison.json`."""
        return {
            "histoeval": __version__,
            "metric": self.metric,
            "signature": self.signature,
            "settings": dict(self.settings),
            **self.contest.model_dump(mode="json"),
            "left_out": dict(self.left_out),
            "notes": list(self.notes),
            "most_different": list(self.apart),
            **({} if self.gate is None else {"gate": self.gate.content()}),
        }

    def write(self, folder: Path, command: str | None = None) -> Path:
        content = self.to_dict() | ({} if command is None else {"command": command})
        with writing_to(folder):
            make_folder(folder)
            write_json(folder / "comparison.json", content)
        return folder / "comparison.json"


@front_door
@documented
def compare(
    files: Annotated[
        PathLike | Sequence[PathLike],
        Argument(
            "scores.jsonl files written by `histoeval score`, or their folders. One file may "
            "hold several systems.",
            shell=list[Path],
            metavar="SCORES",
        ),
    ],
    *more: Annotated[PathLike, Keyword("further ones, where they are not in a list.")],
    baseline: Annotated[
        PathLike | None,
        Option(
            "Scores that the others must not be worse than: lists the cases that got worse.",
            GATE,
            metavar="SCORES",
        ),
    ] = None,
    fail_if: Annotated[
        str | Iterable[str],
        Option(
            "Condition under which the comparison fails, as in 'concordance drop > 0.01 with "
            "p < 0.05' or 'new critical errors > 0'; repeat it for several. docs/gates.md has all.",
            GATE,
            shell=list[str] | None,
            metavar="CONDITION",
        ),
    ] = (),
    metric: Annotated[
        str | None,
        metric_option(
            "Metric to compare by. When omitted: concordance, or the only one in the files."
        ),
    ] = None,
    cases: Annotated[
        PathLike | None, Option("Table of id and case; without it each id is its own case.")
    ] = None,
    tie: Annotated[
        float, Option("Largest difference of scores that counts as a tie.", min=0)
    ] = 0.0,
    missing: Annotated[
        Missing | None,
        Option(
            "What to do with ids that not every system has: give a system without a score the "
            "metric's worst value, or skip the id. When omitted: skip, unless that leaves less "
            "than half of the ids."
        ),
    ] = None,
    most_different: Annotated[
        int, Keyword("how many pairs to show on which systems differ most.")
    ] = MOST_DIFFERENT,
    resamples: Resamples = RESAMPLES,
    permutations: Permutations = PERMUTATIONS,
    seed: Seed = 0,
) -> Comparison:
    """Compare systems by the results of `histoeval score`.

    Examples:
        >>> histoeval.compare("results/one", "results/other").to_polars()
        >>> histoeval.compare("new", baseline="old", fail_if="bleu drop > 1").gate.passed
    """
    conditions = read_conditions(fail_if)
    if conditions and baseline is None:
        raise SettingError(
            f"conditions compare with a baseline: give it as {argument('baseline', 'RUN')}"
        )
    new_files = [files] if isinstance(files, str | Path) else files
    paths = [Path(path) for path in (*([] if baseline is None else [baseline]), *new_files, *more)]
    runs = [(path, list(read_rows(path))) for path in paths]
    metric, metric_notes = _metric(metric, runs, [condition.metric for condition in conditions])
    description, versions = shared_description(paths, metric)
    paired_test = PairedTest(
        None if cases is None else read_case_table(Path(cases)), tie, resamples, permutations, seed
    )
    gate = None if baseline is None else gate_of(runs, conditions, metric, missing, paired_test)
    all_systems = systems_in(runs, metric)
    systems, shared, missing_notes = matched(all_systems, metric, missing, description)
    compared = set(shared)
    sign = 1.0 if description.get("higher_is_better", True) else -1.0
    scores = {
        system.name: sign * np.array([system.rows[id_].value for id_ in shared])
        for system in systems
    }
    return Comparison(
        metric=metric,
        signature=str(description.get("signature", "")),
        contest=paired_test.contest(scores, shared),
        apart=tuple(_most_different(systems, shared, most_different)),
        left_out={
            system.name: sum(id_ not in compared for id_ in (*system.rows, *system.errors))
            for system in all_systems
        },
        notes=(*missing_notes, *metric_notes, *versions),
        settings={
            "files": [str(path) for path in paths],
            "cases": None if cases is None else str(cases),
            "tie": tie,
            "missing": missing,
            "resamples": resamples,
            "permutations": permutations,
            "seed": seed,
        },
        gate=gate,
    )


def _metric(
    requested: str | None, runs: ScoredFiles, conditions: Sequence[str] = ()
) -> tuple[str, tuple[str, ...]]:
    by_file = [{name for row in rows for name in row.scores} for _, rows in runs]
    shared = sorted(set.intersection(*by_file)) if by_file else []
    if not shared:
        file_descriptions = [
            f"{runs[index][0]} has {', '.join(sorted(file_metrics)) or 'none'}"
            for index, file_metrics in enumerate(by_file)
        ]
        raise InputError(f"no metric has scores in every file: {'; '.join(file_descriptions)}")
    available = ", ".join(shared)
    if requested is not None:
        if requested in shared:
            return requested, ()
        hint = did_you_mean(requested, shared)
        raise SettingError(
            f"not every file has scores of {requested!r}{hint}; all files have: {available}"
        )
    if len(shared) == 1:
        return shared[0], ()
    if condition_metrics := [name for name in conditions if name in shared]:
        return condition_metrics[0], ()
    if USUAL_METRIC in shared:
        other_names = ", ".join(name for name in shared if name != USUAL_METRIC)
        return USUAL_METRIC, (
            f"Compared by {USUAL_METRIC}, as no metric was named; the files also have "
            f"{other_names}.",
        )
    raise SettingError(
        f"name the metric to compare by: {argument('metric', 'NAME')}; all files have: {available}"
    )


def _most_different(
    systems: Sequence[System], shared: Sequence[str], limit: int
) -> list[dict[str, Any]]:
    gaps = {id_: np.ptp([system.rows[id_].value for system in systems]) for id_ in shared}
    pairs = []
    for id_ in sorted((id_ for id_ in shared if gaps[id_] > 0), key=lambda id_: -gaps[id_])[:limit]:
        ordered = sorted(systems, key=lambda system: -system.rows[id_].value)
        pairs.append(
            {
                "id": id_,
                "gap": float(gaps[id_]),
                "systems": {
                    system.name: {
                        "value": system.rows[id_].value,
                        "parts": dict(system.rows[id_].parts),
                        "evidence": dict(system.rows[id_].evidence),
                    }
                    for system in (ordered[0], ordered[-1])
                },
            }
        )
    return pairs


def read_case_table(path: Path, what: str = "case") -> dict[str, str]:
    """Map each id to its case, or to the column `what`; the only other column will do as well."""
    table = open_table(path, Columns(id="id")).table
    names = columns_by_name(table.columns)
    other_columns = [name for name in table.columns if name != names.get("id")]
    label_column = names.get(what, other_columns[0] if len(other_columns) == 1 else None)
    if "id" not in names or label_column is None:
        raise InputError(f"{path} needs the columns id and {what}{columns_found(table.columns)}")
    used_columns = (names["id"], label_column)
    no_value = Fault("missing_value")
    labels: dict[str, str] = {}
    for record in table.read(used_columns):
        id_, label = (name_of((record.values or {}).get(name), no_value) for name in used_columns)
        if not isinstance(id_, str) or not isinstance(label, str):
            raise InputError(f"{path} has no id or no {what} ({record.place})")
        if labels.setdefault(id_, label) != label:
            raise InputError(
                f"{path} has {id_!r} as {labels[id_]!r} and as {label!r} ({record.place}): keep "
                "one of them"
            )
    return labels
