"""`python -m benchmarks [NAME ...] [OPTIONS]`: measures, and prints tables in Markdown.

Names are startup, api, memory, hare, reader, concordance, agreement, judge, report, distances,
slide, viewer, grounding, reader-memory, and beside these, which are measured without a name:

- reward (an hour; `reward --calls 0` a minute), long-reports, faults, scaling, same-bytes and
  capacity: minutes;
- challenge: a ranking of many teams (`challenge --systems DIR`), a minute;
- meaning: texts that strangers wrote (`meaning --sets b01,b02`), half an hour for all;
- sensitivity: an hour, with data that are not in the repository;
- fuzz: damaged files (`fuzz --files 7000`);
- digest: the scores of two machines (`digest --output FILE`, `digest --against FILE`);
- million: memory, speed and disk of a run as long as one likes;
- gpu: CUDA (`gpu --device cpu --layers 2 --hidden 64 --pairs 8` tries it without);
- ray: the extra ray;
- mutants: changes to central clinical rules that a test must notice (`make mutants`);
- mutation: changes made up by rule (`make mutation`; `mutation --sample 200 --seed 1`);
- dist: the files of a release (`make dist`), and first-minute: a wheel, installed and tried out.

Options belong to those from slide on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile

from histoeval.errors import SettingError
from histoeval.table import markdown_table

Options = Sequence[str]


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    print(f"\n### {title}\n\n{markdown_table(columns, rows)}", flush=True)


def startup(_: Options) -> None:
    from benchmarks import startup

    table("Start-up", ["what", "ms"], startup.measure())


def api(_: Options) -> None:
    from benchmarks import api_speed

    table("The Python API", ["what", "ms"], api_speed.measure())


def memory(_: Options) -> None:
    from benchmarks import memory

    table("Lexical metrics", ["rows", "peak MB", "s", "pairs/s"], memory.measure())


def hare(_: Options) -> None:
    from benchmarks import hare_speed

    columns = ["step", "relation passes", "s", "times faster"]
    table("HARE, paper mode against the published loop", columns, hare_speed.measure())


def gpu(options: Options) -> None:
    from benchmarks import gpu_speed

    table("A GPU kept busy", gpu_speed.COLUMNS, gpu_speed.measure(options))


def reader(_: Options) -> None:
    from benchmarks import reader_speed

    columns = ["texts", "tokens", "entities", "s", "reports/s", "tokens/s"]
    table("The builtin reader", ["what", *columns], reader_speed.measure())
    columns = ["scheme", "passes", "s", "reports/s", "times faster"]
    table("The builtin reader against two models", columns, reader_speed.compare())


def concordance(_: Options) -> None:
    from benchmarks import concordance_speed

    columns = ["what", "reading, s", "hare, s", "concordance, s", "all, s"]
    table("Concordance and HARE", columns, concordance_speed.measure())


def judge(_: Options) -> None:
    from benchmarks import judge

    table("The judge", judge.COLUMNS, judge.measure())


def agreement(_: Options) -> None:
    from benchmarks import agreement_speed

    columns = ["what", "cases", "s", "processor s", "peak MB"]
    title = "Agreement: 10 metrics, 600 pairs, 10,000 resamples"
    table(title, columns, agreement_speed.measure())


def distances(options: Options) -> None:
    from benchmarks import distances

    table("Distances", distances.COLUMNS, distances.measure(options))


def slide(options: Options) -> None:
    from benchmarks import slide_speed

    columns = ["slide, px", "tiles with tissue", "tiles read", "tissue, s", "tiles, s", "peak MB"]
    table("Tissue and tiles", columns, slide_speed.measure(options))
    columns = ["reader", "microns per pixel", "tiles/s", "ratio", "ratio of CPU time"]
    table("Tiles against plain openslide", columns, slide_speed.compare())


def viewer(options: Options) -> None:
    from benchmarks import viewer_speed

    table("Slides in the browser", viewer_speed.COLUMNS, viewer_speed.measure(options))


def grounding(options: Options) -> None:
    from benchmarks import grounding_speed

    table("Grounding", grounding_speed.COLUMNS, grounding_speed.measure(options))


def reader_memory(options: Options) -> None:
    from benchmarks import reader_memory

    columns = ["reports", "peak MB", "s", "reports/s"]
    table("Extracting a long file", columns, reader_memory.measure(options))


def reward(options: Options) -> None:
    from benchmarks import reward_speed

    speed, memory = reward_speed.measure(options)
    table("A reward", reward_speed.COLUMNS, speed)
    table("Memory of a reward, call by call", reward_speed.MEMORY, memory)


def long_reports(options: Options) -> None:
    from benchmarks import long_reports

    table("Very long reports", long_reports.COLUMNS, long_reports.measure(options))


def report(_: Options) -> None:
    from benchmarks import report_page

    table("The page of a large run", ["what", "measured"], report_page.measure())


def sensitivity(options: Options) -> None:
    from benchmarks import sensitivity

    for found in sensitivity.measure(options):
        print(f"\n### {found.title}\n\n{markdown_table(found.columns, found.rows)}", flush=True)


def meaning(options: Options) -> None:
    from benchmarks import meaning

    for found in meaning.measure(options):
        print(f"\n### {found.title}\n\n{markdown_table(found.columns, found.rows)}", flush=True)


def ray(options: Options) -> None:
    from benchmarks import ray_overhead

    table("Ray on one machine", ray_overhead.COLUMNS, ray_overhead.measure(options))


def digest(options: Options) -> None:
    from benchmarks import digest as scores

    table("Scores of the shipped probes", scores.COLUMNS, scores.measure(options))


def million(options: Options) -> None:
    from benchmarks import million

    table("Many pairs", million.COLUMNS, million.measure(options))


def fuzz(options: Options) -> None:
    from benchmarks import fuzz_files

    table("Damaged files", fuzz_files.COLUMNS, fuzz_files.measure(options))


def faults(options: Options) -> None:
    from benchmarks import faults

    table("A run that is killed again and again", ["what", "found"], faults.measure(options))


def scaling(options: Options) -> None:
    from benchmarks import scaling

    table("More workers", scaling.COLUMNS, scaling.measure(options))


def same_bytes(options: Options) -> None:
    from benchmarks import same_bytes

    table("The same bytes on every engine", same_bytes.COLUMNS, same_bytes.measure(options))


def capacity(options: Options) -> None:
    from benchmarks import capacity

    costs, plans = capacity.measure(options)
    table("One core", capacity.COLUMNS, costs)
    table("Machines of 16 cores", capacity.PLAN_COLUMNS, plans)


def challenge(options: Options) -> None:
    from benchmarks import challenge

    ranked, broken = challenge.measure(options)
    table("A ranking of many teams", challenge.COLUMNS, ranked)
    table("One file, broken in many ways", challenge.BROKEN_COLUMNS, broken)


def dist(options: Options) -> None:
    from benchmarks import dist

    table("The files of a release", dist.COLUMNS, dist.measure(options))


def first_minute(options: Options) -> None:
    from benchmarks import first_minute

    table("The first minute", first_minute.COLUMNS, first_minute.measure(options))


def mutants(_: Options) -> None:
    from benchmarks import mutation

    rows, survived = mutation.listed()
    table("Changes to clinical rules", mutation.COLUMNS, rows)
    if survived:
        raise SystemExit(f"{survived} of {len(rows)} changes were noticed by no test")


def mutation(options: Options) -> None:
    from benchmarks import mutation

    rows, survived, tried = mutation.generated(options)
    table("Changes that no test noticed", mutation.SURVIVORS, rows)
    score = 1 - survived / tried
    print(f"\n{tried - survived} of {tried} changes were noticed: {score:.1%}", flush=True)
    if score < mutation.LEAST_SCORE:
        raise SystemExit(1)


USUAL: dict[str, Callable[[Options], None]] = {
    "startup": startup,
    "api": api,
    "memory": memory,
    "hare": hare,
    "reader": reader,
    "concordance": concordance,
    "judge": judge,
    "agreement": agreement,
    "report": report,
    "distances": distances,
    "slide": slide,
    "viewer": viewer,
    "grounding": grounding,
    "reader-memory": reader_memory,
}
SPECIAL: dict[str, Callable[[Options], None]] = {
    "reward": reward,
    "long-reports": long_reports,
    "meaning": meaning,
    "sensitivity": sensitivity,
    "fuzz": fuzz,
    "digest": digest,
    "million": million,
    "gpu": gpu,
    "ray": ray,
    "faults": faults,
    "capacity": capacity,
    "scaling": scaling,
    "same-bytes": same_bytes,
    "challenge": challenge,
    "dist": dist,
    "first-minute": first_minute,
    "mutants": mutants,
    "mutation": mutation,
}
KNOWN = USUAL | SPECIAL


def main(arguments: Sequence[str]) -> None:
    named = list(takewhile(lambda argument: not argument.startswith("-"), arguments))
    if unknown := [name for name in named if name not in KNOWN]:
        raise SettingError(f"there is no benchmark {unknown[0]!r}; there are {', '.join(KNOWN)}")
    options = arguments[len(named) :] if len(named) == 1 else ()
    for name in named or USUAL:
        KNOWN[name](options)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except SettingError as error:
        raise SystemExit(str(error)) from error
