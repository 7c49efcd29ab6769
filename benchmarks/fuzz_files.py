"""Damaged files for every reader of tables, corpora, ontologies, settings and results.

Each file is a valid one with a few changes that follow from a seed, read in a worker process
with limits. The outcome must be that it is read, or refused by an error of HistoEval with a
message; a crash, a hang, much memory or any other exception is a defect. Images and slides are
not among them.
"""

from __future__ import annotations

import gzip
import io
import json
import multiprocessing
import random
import re
import resource
import shutil
import sqlite3
import tempfile
import zipfile
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from traceback import format_exc
from typing import Any, NamedTuple

from histoeval.errors import HistoEvalError, Problem

SECONDS = 20
MEGABYTES = 1024
ADDRESS_SPACE = 16 * 2**30
"""Far above what any reader needs: libraries reserve much that they never use."""

COLUMNS = ["reader", "files", "read", "refused", "defects"]
ROOT = Path(__file__).parents[1]

Files = dict[str, bytes]


class FileReader(NamedTuple):
    """Valid files by their names, how they are read from a folder, and how they are packed."""

    files: Callable[[], Files]
    read: Callable[[Path], object]
    pack: Callable[[Files], Files] = lambda files: files


class Defect(NamedTuple):
    """What went wrong with which file; the same numbers make the same file again."""

    reader: str
    number: int
    reason: str


# --- valid files ----------------------------------------------------------------------------------

TEXTS = (
    "Left breast: invasive carcinoma, grade 2. ER positive (90%).",
    'Colon: tubular adenoma; "no" high-grade dysplasia, 3 mm.',
    "Skin, naïve: basal cell carcinoma 😀\nmargins free.",
)
PAIRS: list[dict[str, Any]] = [
    {"id": f"case {n}", "system": "model", "reference": text, "candidate": text[::2], "rater": n}
    for n, text in enumerate(TEXTS)
]
CASES = [
    {"id": str(n), "image": f"{n}.png", "report": text, "report_attacked": text}
    for n, text in enumerate(TEXTS)
]
LABELLED = [
    {"id": str(n), "grounding": 0.1 * n, "logic": 0.5, "stability": 0.9, "score": n, "case": n % 5}
    for n in range(20)
]


def csv_of(rows: Sequence[Mapping[str, Any]], delimiter: str = ",") -> bytes:
    import csv

    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def lines_of(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


@cache
def parquet() -> bytes:
    import polars

    content = io.BytesIO()
    polars.DataFrame(PAIRS * 20).write_parquet(content)
    return content.getvalue()


def zipped(files: Files) -> Files:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return {"project.zip": content.getvalue()}


def gzipped(files: Files) -> Files:
    return {f"{name}.gz": gzip.compress(text, mtime=0) for name, text in files.items()}


OURS = [
    {
        "id": f"p{n}",
        "report_id": "r",
        "source": "s",
        "text": "No carcinoma. ER weak.",
        "entities": [
            {"start": 3, "end": 12, "text": "carcinoma", "type": "diagnosis", "assertion": "absent"}
        ],
        "relations": [],
    }
    for n in range(3)
]
HARE = [
    {
        "tokens": ["Strong", "staining", "for", "Ki", "-", "67", ";", "no", "carcinoma"],
        "entities": [
            {"start": 0, "end": 1, "type": "IHC Modifier"},
            {"start": 3, "end": 6, "type": "IHC Markers"},
            {"start": 8, "end": 9, "type": "Pathological Diagnosis"},
        ],
        "relations": [{"head": 1, "tail": 0, "type": "IHC"}],
    }
] * 3
TASKS = [
    {
        "id": n,
        "data": {"text": "No carcinoma. ER weak."},
        "annotations": [
            {
                "id": 1,
                "result": [
                    {
                        "id": label,
                        "from_name": "ent",
                        "to_name": "t",
                        "type": "labels",
                        "value": {"start": start, "end": end, "labels": [label]},
                    }
                    for label, start, end in (
                        ("diagnosis", 3, 12),
                        ("marker", 14, 16),
                        ("result", 17, 21),
                    )
                ]
                + [
                    {
                        "type": "relation",
                        "from_id": "marker",
                        "to_id": "result",
                        "direction": "right",
                    }
                ],
            }
        ],
    }
    for n in range(3)
]
WEBANNO = b"""#FORMAT=WebAnno TSV 3.3
#T_SP=webanno.custom.Entity|assertion|value
#T_RL=webanno.custom.Related|kind|BT_webanno.custom.Entity


#Text=No carcinoma. ER weak.
1-1\t0-2\tNo\t_\t_\t_\t_\t
1-2\t3-12\tcarcinoma\tabsent[1]\tdiagnosis[1]\t_\t_\t
1-3\t12-13\t.\t_\t_\t_\t_\t
1-4\t14-16\tER\t*\tmarker\t_\t_\t
1-5\t17-21\tweak\t*\tresult\tof\t1-4\t
1-6\t21-22\t.\t_\t_\t_\t_\t
"""
BRAT = b"""T1\tdiagnosis 3 12\tcarcinoma
T2\tmarker 14 16\tER
T3\tresult 17 21\tweak
A1\tNegated T1
R1\tRelated Arg1:T2 Arg2:T3
"""


def feature(name: str, kind: str = "uima.cas.String") -> str:
    return (
        f"<featureDescription><name>{name}</name><description/>"
        f"<rangeTypeName>{kind}</rangeTypeName></featureDescription>"
    )


TYPES = (
    '<?xml version="1.0" encoding="UTF-8"?>'
    '<typeSystemDescription xmlns="http://uima.apache.org/resourceSpecifier"><types>'
    "<typeDescription><name>webanno.custom.Entity</name><description/>"
    "<supertypeName>uima.tcas.Annotation</supertypeName>"
    f"<features>{feature('value')}{feature('assertion')}</features></typeDescription>"
    "</types></typeSystemDescription>"
).encode()
XMI = b"""<?xml version="1.0" encoding="UTF-8"?>
<xmi:XMI xmlns:xmi="http://www.omg.org/XMI" xmlns:cas="http:///uima/cas.ecore"
 xmlns:custom="http:///webanno/custom.ecore" xmi:version="2.0">
<cas:NULL xmi:id="0"/>
<custom:Entity xmi:id="3" sofa="1" begin="3" end="12" value="diagnosis" assertion="absent"/>
<custom:Entity xmi:id="4" sofa="1" begin="14" end="16" value="marker"/>
<cas:Sofa xmi:id="1" sofaNum="1" sofaID="_InitialView" mimeType="text"
 sofaString="No carcinoma. ER weak."/>
<cas:View sofa="1" members="3 4"/>
</xmi:XMI>
"""
MRCONSO = b"".join(
    b"C%d|ENG|P|L1|PF|S1|Y|A1||||MSH|PT|D1|name %d|0|N|256|\n" % (n, n) for n in range(5)
)
ONCOTREE = json.dumps(
    {"TISSUE": {"code": "T", "name": "Tissue", "parent": None, "children": {}}}
).encode()
NCIT = lines_of([{"id": "C1", "name": "Carcinoma", "synonyms": ["Ca"], "parents": []}] * 3)
SHEET = csv_of(
    [
        {"ground_truth": text, "0": text[::2], "1": text[::3], "Scoring 0": 1, "Scoring 1": "2.5"}
        for text in TEXTS
    ],
    "\t",
)
PERTURBED = lines_of(
    [
        {
            "id": f"a{n}",
            "case": "a",
            "group": "same",
            "edit": "none",
            "level": 0,
            "report": TEXTS[0],
            "reference": TEXTS[0],
        }
        for n in range(2)
    ]
)


@cache
def scored_folder() -> Files:
    """What `score` has written, stopped before its last row."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "pairs.csv").write_bytes(csv_of(PAIRS))
        resume(folder)
        files = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    kept = files["scores.jsonl"].splitlines(keepends=True)[:-1]
    return files | {"scores.jsonl": b"".join(kept)}


@cache
def cache_file() -> Files:
    from histoeval.llm.cache import Cache

    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "replies.sqlite"
        with Cache(path) as store:
            store.stats()
        with closing(sqlite3.connect(path)) as file:
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return {"replies.sqlite": path.read_bytes()}


# --- reading --------------------------------------------------------------------------------------


def pairs(name: str) -> Callable[[Path], object]:
    def read(folder: Path) -> object:
        from histoeval.io.pairs import open_source

        return sum(1 for _ in open_source([folder / name]).rows())

    return read


def reports(name: str) -> Callable[[Path], object]:
    def read(folder: Path) -> object:
        from histoeval.io.reports import open_reports

        return sum(1 for _ in open_reports(folder / name if name else folder).rows())

    return read


def cases(folder: Path) -> object:
    from histoeval.io.reports import open_cases

    return sum(1 for _ in open_cases(folder / "cases.csv").rows())


def corpus(name: str, kind: Any = None) -> Callable[[Path], object]:
    def read(folder: Path) -> object:
        from histoeval_research.corpus import read_corpus

        problems: list[Problem] = []
        path = folder / name if name else folder
        return sum(1 for _ in read_corpus(path, kind, on_problem=problems.append))

    return read


def ontology(name: str, kind: Any) -> Callable[[Path], object]:
    def read(folder: Path) -> object:
        from histoeval_research.ontology.obo import read_ontology

        return sum(1 for _ in read_ontology(folder / name, kind))

    return read


def sheet(name: str) -> Callable[[Path], object]:
    def read(folder: Path) -> object:
        from histoeval.io.sheets import read_sheet

        return read_sheet(folder / name)

    return read


def labelled(folder: Path) -> object:
    from histoeval.run.trust.tune import LabelRequest, read_labelled

    return read_labelled(folder / "cases.csv", None, LabelRequest())


def policy(folder: Path) -> object:
    from histoeval.pathgls.policy.policy import read_policy

    return read_policy(folder / "policy.yaml")


def prompt(folder: Path) -> object:
    from histoeval.judges.prompt import load_prompt

    return load_prompt(str(folder / "prompt.yaml"))


def settings(folder: Path) -> object:
    from histoeval.io.settings_files import read_settings
    from histoeval_research.train.concordance.train import ConcordanceSettings

    return read_settings(folder / "concordance.yaml", ConcordanceSettings)


def prices(folder: Path) -> object:
    from histoeval.llm.usage import read_prices

    return read_prices(folder / "prices.toml")


def labels(folder: Path) -> object:
    from histoeval.labels import read_labels
    from histoeval_research.annotation.passage import Vocabulary

    return Vocabulary(read_labels(folder / "labels.json"))


def perturbed(folder: Path) -> object:
    from histoeval_research.experiments.perturb import read_perturbed

    return read_perturbed(folder / "perturbed.jsonl")


def resume(folder: Path) -> object:
    """Resume a run in a folder; its input is written beside it."""
    from histoeval.io.pairs import open_source
    from histoeval.io.results import ResultFolder
    from histoeval.run.models import load_metrics
    from histoeval.run.score import score_source

    metrics = load_metrics(["rouge_l"])
    return score_source(open_source([folder / "pairs.csv"]), metrics, ResultFolder(folder / "out"))


def resumed(folder: Path) -> object:
    """The folder holds the files of a run: they are moved to where it wrote them."""
    (folder / "out").mkdir()
    for path in list(folder.iterdir()):
        if path.is_file():
            path.rename(folder / "out" / path.name)
    (folder / "pairs.csv").write_bytes(csv_of(PAIRS))
    return resume(folder)


def scores(folder: Path) -> object:
    from histoeval.io.results import read_scored

    return read_scored(folder)


def replies(folder: Path) -> object:
    from histoeval.llm.cache import Cache

    with Cache(folder / "replies.sqlite") as store:
        store.find("00" * 32)
        return store.stats()


def given(**files: bytes) -> Callable[[], Files]:
    """Files by name; a double underscore stands for a dot."""
    return lambda: {name.replace("__", "."): content for name, content in files.items()}


def from_disk(name: str, path: str) -> Callable[[], Files]:
    return lambda: {name: (ROOT / path).read_bytes()}


DOCUMENT = json.dumps(PAIRS).encode()
STANDOFF = {"a__ann": BRAT, "a__txt": b"No carcinoma. ER weak."}
TREE = {"a__xmi": XMI, "TypeSystem__xml": TYPES}

READERS: dict[str, FileReader] = {
    "csv": FileReader(given(pairs__csv=csv_of(PAIRS)), pairs("pairs.csv")),
    "tsv": FileReader(given(pairs__tsv=csv_of(PAIRS, "\t")), pairs("pairs.tsv")),
    "json": FileReader(given(pairs__json=DOCUMENT), pairs("pairs.json")),
    "jsonl": FileReader(given(pairs__jsonl=lines_of(PAIRS)), pairs("pairs.jsonl")),
    "parquet": FileReader(lambda: {"pairs.parquet": parquet()}, pairs("pairs.parquet")),
    "csv.gz": FileReader(given(pairs__csv=csv_of(PAIRS)), pairs("pairs.csv.gz"), gzipped),
    "jsonl.gz": FileReader(given(pairs__jsonl=lines_of(PAIRS)), pairs("pairs.jsonl.gz"), gzipped),
    "txt": FileReader(given(texts__txt="\n".join(TEXTS).encode()), reports("texts.txt")),
    "text folder": FileReader(given(a__txt=b"Benign.", b__md=TEXTS[0].encode()), reports("")),
    "trust table": FileReader(given(cases__csv=csv_of(CASES)), cases),
    "labelled table": FileReader(given(cases__csv=csv_of(LABELLED)), labelled),
    "expert sheet": FileReader(given(sheet__tsv=SHEET), sheet("sheet.tsv")),
    "long sheet": FileReader(given(sheet__csv=csv_of(PAIRS)), sheet("sheet.csv")),
    "our corpus": FileReader(given(c__jsonl=lines_of(OURS)), corpus("c.jsonl")),
    "HARE json": FileReader(given(c__json=json.dumps(HARE).encode()), corpus("c.json", "hare")),
    "Label Studio": FileReader(
        given(c__json=json.dumps(TASKS).encode()), corpus("c.json", "label_studio")
    ),
    "WebAnno": FileReader(given(a__tsv=WEBANNO), corpus("a.tsv")),
    "WebAnno zip": FileReader(given(a__tsv=WEBANNO), corpus("project.zip"), zipped),
    "brat": FileReader(given(**STANDOFF), corpus("", "brat")),
    "brat zip": FileReader(given(**STANDOFF), corpus("project.zip", "brat"), zipped),
    "XMI": FileReader(given(**TREE), corpus("a.xmi")),
    "XMI zip": FileReader(given(**TREE), corpus("project.zip", "xmi"), zipped),
    "ncit": FileReader(given(n__jsonl=NCIT), ontology("n.jsonl", "ncit")),
    "ncit.gz": FileReader(given(n__jsonl=NCIT), ontology("n.jsonl.gz", "ncit"), gzipped),
    "OncoTree": FileReader(given(o__json=ONCOTREE), ontology("o.json", "oncotree")),
    "MRCONSO": FileReader(given(MRCONSO__RRF=MRCONSO), ontology("MRCONSO.RRF", "mrconso")),
    "policy": FileReader(
        from_disk("policy.yaml", "src/histoeval/pathgls/policy/with_endpoint.yaml"), policy
    ),
    "judge prompt": FileReader(from_disk("prompt.yaml", "examples/judge/synoptic.yaml"), prompt),
    "training settings": FileReader(
        from_disk("concordance.yaml", "examples/train/concordance.yaml"), settings
    ),
    "prices": FileReader(from_disk("prices.toml", "src/histoeval/llm/data/prices.toml"), prices),
    "labels": FileReader(given(labels__json=b'{"Tumour": "diagnosis", "X": null}'), labels),
    "perturbed set": FileReader(given(perturbed__jsonl=PERTURBED), perturbed),
    "resumed run": FileReader(scored_folder, resumed),
    "read scores": FileReader(scored_folder, scores),
    "reply cache": FileReader(cache_file, replies),
}


# --- damage ---------------------------------------------------------------------------------------

TOKENS = (
    *(
        b'"',
        b"'",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\n",
        b"\r",
        b"\t",
        b"|",
        b";",
        b"#",
        b"&a ",
    ),
    *(
        b"\0",
        b"\xff",
        b"\xc3",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\\ud800",
        b"\\u0000",
    ),
    *(
        b"-1",
        b"0",
        b"1e999",
        b"NaN",
        b"null",
        b"true",
        b"9" * 30,
        b"9" * 5000,
        b"-9223372036854775809",
    ),
    *(b"[" * 5000, b'{"a":' * 2000, b"(" * 3000, b"- " * 2000, b"x" * 70_000, b" " * 20_000),
    *(b"<!ENTITY x 'y'>", b"<![CDATA[", b"!!python/object:os.system", b"*a", b"<<: *a", b"../../x"),
    *("腺癌".encode(), "\u202e".encode(), "😀".encode(), b"PK\x03\x04", b"PAR1", b"\x1f\x8b"),
)


def damaged(content: bytes, chance: random.Random) -> bytes:
    """The content after one to four changes."""
    changed = bytearray(content)
    for _ in range(chance.randint(1, 4)):
        at, length = chance.randint(0, len(changed)), chance.choice((1, 1, 2, 8, 64))
        end = min(len(changed), at + length)
        kind = chance.randrange(8)
        if kind == 0 and end > at:
            changed[at] = chance.randrange(256)
        elif kind == 1:
            del changed[at:end]
        elif kind == 2:
            changed[at:at] = chance.choice(TOKENS)
        elif kind == 3:
            changed[at:end] = chance.randbytes(length)
        elif kind == 4:
            del changed[at:]
        elif kind == 5:
            changed[at:at] = bytes(changed[at:end]) * chance.choice((1, 10, 500))
        elif kind == 6:
            start = chance.randint(0, len(changed))
            changed[at:end] = changed[start : start + length]
        elif numbers := list(re.finditer(rb"-?\d+", changed)):
            found = chance.choice(numbers)
            changed[found.start() : found.end()] = chance.choice(
                (b"-1", b"0", b"2147483648", b"1e308", b"9" * 30, b"0.5", b'"7"')
            )
    return bytes(changed)


def write_damaged(reader: FileReader, folder: Path, chance: random.Random) -> None:
    """The files of a reader, one of them damaged: before it is packed, or after that."""
    files = dict(reader.files())
    if chance.random() < 0.5:
        name = chance.choice(sorted(files))
        files = reader.pack(files | {name: damaged(files[name], chance)})
    else:
        files = reader.pack(files)
        name = chance.choice(sorted(files))
        files[name] = damaged(files[name], chance)
    for name, content in files.items():
        (folder / name).write_bytes(content)


# --- processes ------------------------------------------------------------------------------------


def outcome_of(name: str, number: int, seed: int) -> str:
    """Read one damaged file in this process: `read`, `refused`, or what is wrong."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz"))
    try:
        write_damaged(READERS[name], folder, random.Random(f"{seed}/{name}/{number}"))
        try:
            READERS[name].read(folder)
        except HistoEvalError as error:
            return "refused" if str(error).strip() else "an error without words"
        except BaseException:  # noqa: BLE001 - a panic of polars is no Exception
            return format_exc(limit=-4)
        return "read"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def serve(tasks: Connection, seed: int) -> None:
    """Read files as they are asked for, and say how much memory that took at most."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    tasks.send("ready")
    while (task := tasks.recv()) is not None:
        name, number = task
        outcome = outcome_of(name, number, seed)
        tasks.send((outcome, peak_megabytes()))


def peak_megabytes() -> int:
    """Of this process alone: getrusage would count what the process that started it had."""
    status = Path("/proc/self/status").read_text("ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


class Worker:
    """A process that reads files; where one kills it or hangs, the next is read in a new one."""

    def __init__(self, seed: int, serve: Callable[[Connection, int], None] = serve) -> None:
        self._seed, self._serve = seed, serve
        self._context = multiprocessing.get_context("spawn")
        self._start()

    def _start(self) -> None:
        self._ours, theirs = self._context.Pipe()
        self._process = self._context.Process(
            target=self._serve, args=(theirs, self._seed), daemon=True
        )
        self._process.start()
        theirs.close()
        self._ours.recv()  # it is ready

    def read(self, *task: Any) -> str:
        """The outcome of one file."""
        self._ours.send(task)
        try:
            if not self._ours.poll(SECONDS):
                self._restart()
                return f"still running after {SECONDS} s"
            outcome, megabytes = self._ours.recv()
        except (EOFError, ConnectionResetError):
            self._process.join()
            code = self._process.exitcode
            self._restart()
            return f"the process ended with {code}"
        if megabytes > MEGABYTES:
            self._restart()
            return f"{megabytes} MB of memory"
        return str(outcome)

    def _restart(self) -> None:
        self.close()
        self._start()

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self._ours.close()


def fuzz(
    files: int, seed: int = 0, readers: Sequence[str] = tuple(READERS)
) -> tuple[dict[str, Counter[str]], list[Defect]]:
    """Read so many damaged files, as many by each reader; counts of outcomes, and the defects."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in readers}
    defects: list[Defect] = []
    worker = Worker(seed)
    try:
        worker.read(readers[0], 0)  # the imports of the first file are not timed
        for place in range(files):
            number, which = divmod(place, len(readers))
            name = readers[which]
            outcome = worker.read(name, number)
            is_fine = outcome in ("read", "refused")
            counts[name][outcome if is_fine else "defect"] += 1
            if not is_fine:
                defects.append(Defect(name, number, outcome))
    finally:
        worker.close()
    return counts, defects


def measure(options: Sequence[str]) -> Iterator[Sequence[str]]:
    """The outcomes by reader; defects are printed as they are."""
    parser = ArgumentParser("fuzz")
    parser.add_argument("--files", type=int, default=7_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--reader", action="append", choices=list(READERS))
    given = parser.parse_args(options)
    counts, defects = fuzz(given.files, given.seed, given.reader or tuple(READERS))
    for defect in defects:
        print(f"\n{defect.reader} {defect.number}: {defect.reason}", flush=True)
    for name, found in counts.items():
        cells = [found.total(), found["read"], found["refused"], found["defect"]]
        yield name, *map(str, cells)
    total = sum(counts.values(), Counter[str]())
    cells = [total.total(), total["read"], total["refused"], total["defect"]]
    yield "all", *map(str, cells)
