"""The findings of the paper's tables 1 to 3 and figure 3, each with the paper's number beside."""

from collections.abc import Iterator, Sequence

from histoeval.pathgls.policy.policy import DIMENSIONS, PAPER
from histoeval.report import Noun
from histoeval.statistics.resampling import RESAMPLES, Estimate
from histoeval_research.experiments.benchmark import (
    COLUMNS,
    BenchmarkRow,
    Gap,
    benchmark_row,
    model_gaps,
)
from histoeval_research.experiments.hierarchy import (
    TRUST,
    LevelledReport,
    ablation,
    dimensions_in,
    hierarchy,
    summed,
)
from histoeval_research.experiments.measures import STABILITY
from histoeval_research.experiments.pathgls.answers import (
    AnswerAssumption,
    PublishedDrop,
    assumptions,
    published_drops,
    published_gaps,
    published_means,
    published_ranks,
    stand_ins,
    verdicts_on,
)
from histoeval_research.experiments.pathgls.cases import MeasuredCases
from histoeval_research.experiments.sensitivity import Drop, sensitivity

OURS, THEIRS = "ours", "paper"
VISUAL, LOGIC_ERROR = "visual", "logic"
FEWEST_DIMENSIONS = 2


class DropBeside(Noun):
    """A row of table 1: one measure on one data set, and the paper's row."""

    data: str
    measure: str
    visual: Drop
    logic: Drop
    paper: PublishedDrop | None = None


class BenchmarkBeside(BenchmarkRow):
    """A row of table 2, and whose it is."""

    source: str
    scale: str = ""


class GapBeside(Gap):
    """A row of table 3, and whose it is."""

    source: str


class RankBeside(Noun):
    """How a measure follows the error hierarchy on one data set, and the paper's coefficient."""

    data: str
    measure: str
    reports: int
    cases: int
    spearman: Estimate
    within: Estimate
    paper: float | None = None


class AblationBeside(Noun):
    """A bar of figure 3b: trust without a dimension, by one assumption about answers."""

    data: str
    answers: str
    without: str
    """Empty for trust with all dimensions that there are."""
    trust: str
    """Those dimensions."""
    reports: int
    cases: int
    spearman: Estimate
    lost: Estimate = Estimate()
    lost_per_cent: float | None = None
    paper: float | None = None
    paper_lost_per_cent: float | None = None


def table_1(
    sets: Sequence[MeasuredCases], resamples: int = RESAMPLES, seed: int = 0
) -> list[DropBeside]:
    """How far every measure falls on hallucinations and on logic errors."""
    paper = {row.ours: row for row in published_drops()}
    found = []
    for each in sets:
        drops = {(d.measure, d.group): d for d in sensitivity(each.rows, resamples, seed)}
        for measure in dict.fromkeys(name for name, _ in drops):
            if not measure.startswith(STABILITY):
                visual, logic = (
                    drops.get((measure, group)) or _no_drop(measure, group)
                    for group in (VISUAL, LOGIC_ERROR)
                )
                row = DropBeside(
                    data=each.name,
                    measure=measure,
                    visual=visual,
                    logic=logic,
                    paper=paper.get(measure),
                )
                found.append(row)
    return found


def _no_drop(measure: str, group: str) -> Drop:
    reason = "no report could be edited so"
    return Drop(measure=measure, group=group, cases=0, drop=Estimate(reason=reason))


def table_2(
    sets: Sequence[MeasuredCases],
    real: Sequence[BenchmarkRow] = (),
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[BenchmarkBeside]:
    """The means of every dimension for stand-ins, for real models, and in the paper."""
    found = [
        _ours(
            benchmark_row(
                each.name,
                stand_in.name,
                verdicts_on(stand_in, each.rows, seed),
                resamples,
                seed,
                each.patients,
            ),
            each.scale,
        )
        for each in sets
        for stand_in in stand_ins()
    ]
    return [*found, *(_ours(row, "") for row in real), *_published_benchmark()]


def _ours(row: BenchmarkRow, scale: str) -> BenchmarkBeside:
    return BenchmarkBeside(source=OURS, scale=scale, **dict(row))


def _published_benchmark() -> Iterator[BenchmarkBeside]:
    for row in published_means():
        yield BenchmarkBeside(
            source=THEIRS,
            scale=row.scale,
            dataset=row.dataset,
            model=row.model,
            reports=0,
            means={name: Estimate(value=row.means[name]) for name in COLUMNS},
            missing={},
            routes={},
        )


def table_3(
    public: MeasuredCases | None,
    private: MeasuredCases | None,
    real: Sequence[Gap] = (),
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[GapBeside]:
    """How much trust is lost on unseen data: stand-ins, real models, and the paper's models."""
    own: list[Gap] = []
    if public is not None and private is not None:
        patients = public.patients | private.patients
        for stand_in in stand_ins():
            here, there = (verdicts_on(stand_in, each.rows, seed) for each in (public, private))
            own += model_gaps(stand_in.name, here, there, resamples, seed, patients)
    theirs = [
        GapBeside(
            source=THEIRS,
            model=row.model,
            measure=TRUST,
            inside=row.inside,
            outside=row.outside,
            drop=Estimate(value=row.drop),
        )
        for row in published_gaps()
    ]
    return [*(GapBeside(source=OURS, **dict(gap)) for gap in (*own, *real)), *theirs]


def _levelled(each: MeasuredCases, assumption: AnswerAssumption) -> list[LevelledReport]:
    """The dimensions of trust, with stability by one assumption."""
    return [
        LevelledReport(
            row.patient or row.case,
            row.level,
            {
                **{name: row.scores.get(name) for name in DIMENSIONS},
                STABILITY: row.scores.get(assumption.column),
            },
        )
        for row in each.rows
    ]


def ranks(
    sets: Sequence[MeasuredCases], resamples: int = RESAMPLES, seed: int = 0
) -> list[RankBeside]:
    """How every measure, and trust by every assumption, follows the error hierarchy."""
    wholes = {f"{TRUST}_{assumption.name}" for assumption in assumptions()}
    found = []
    for each in sets:
        columns: list[dict[str, float | None]] = [dict(row.scores) for row in each.rows]
        for assumption in assumptions():
            graded = _levelled(each, assumption)
            used = dimensions_in(graded)
            if len(used) >= FEWEST_DIMENSIONS:
                missing = [name for name in DIMENSIONS if name not in used]
                name = f"{TRUST}_{assumption.name}"
                name += f" without {' and '.join(missing)}" if missing else ""
                for scores, row in zip(columns, graded, strict=True):
                    scores[name] = summed(row.scores, used, PAPER)
        rows = [
            LevelledReport(row.patient or row.case, row.level, scores)
            for row, scores in zip(each.rows, columns, strict=True)
        ]
        for follows in hierarchy(rows, resamples, seed):
            is_trust = follows.measure in wholes
            found.append(
                RankBeside(
                    data=each.name,
                    measure=follows.measure,
                    reports=follows.rows,
                    cases=follows.cases,
                    spearman=follows.spearman,
                    within=follows.within,
                    paper=published_ranks().trust if is_trust else None,
                )
            )
    return found


def figure_3b(
    sets: Sequence[MeasuredCases], resamples: int = RESAMPLES, seed: int = 0
) -> list[AblationBeside]:
    """What trust loses without each dimension, for every assumption about answers."""
    return [
        bar
        for each in sets
        for assumption in assumptions()
        for bar in _bars(each, assumption, resamples, seed)
    ]


def _nothing_summed(rows: Sequence[LevelledReport], used: Sequence[str]) -> bool:
    return all(summed(row.scores, used, PAPER) is None for row in rows)


def _bars(
    each: MeasuredCases, assumption: AnswerAssumption, resamples: int, seed: int
) -> Iterator[AblationBeside]:
    graded = _levelled(each, assumption)
    used = dimensions_in(graded)
    if len(used) < FEWEST_DIMENSIONS or _nothing_summed(graded, used):
        return
    found = ablation(graded, PAPER, resamples, seed)
    paper = published_ranks()
    is_whole = len(used) == len(DIMENSIONS)
    common = {
        "data": each.name,
        "answers": assumption.name,
        "trust": " + ".join(used),
        "reports": found.rows,
        "cases": found.cases,
    }
    yield AblationBeside(
        without="", spearman=found.spearman, paper=paper.trust if is_whole else None, **common
    )
    for part in found.without:
        lost = paper.lost[part.dimension]
        yield AblationBeside(
            without=part.dimension,
            spearman=part.spearman,
            lost=part.lost,
            lost_per_cent=part.lost_per_cent,
            paper=paper.trust * (1 - lost / 100) if is_whole else None,
            paper_lost_per_cent=lost if is_whole else None,
            **common,
        )
