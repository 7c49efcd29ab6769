"""A folder of small runs to be served, with texts that would do harm if they could."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from histoeval.api import extract, score
from histoeval.io.results import MetricResult, ResultRow
from histoeval.pathgls.fusion import ROUTES, fuse
from histoeval.pathgls.policy.policy import DIMENSIONS, Policy, read_policy
from histoeval.pathgls.results import CancerCheck, CancerVerdict
from histoeval.run.agree import agree
from histoeval.run.compare.compare import compare
from histoeval.run.trust.rows import MissingReason, TrustRow
from tests.support.rating_sheets import rows, write

EVIL = "a\u202eb \x1b[2J</script><script>alert(1)</script><img src=x onerror=alert(2)>"
REFERENCE = "Left breast: invasive carcinoma, grade 2. ER positive."
GOOD = "Left breast: invasive carcinoma, grade 2. ER is positive."
BAD = "Right breast: benign tissue."

REASON = "The candidate names another disease."
RUBRIC_REASON = "The leading diagnosis contradicts the reference."
CRITERIA = {"critical_finding_concordance": 1.0, "overall_equivalence": 2.0}


def write_runs(folder: Path) -> Path:
    scored(folder / "first", [GOOD] * 8, [BAD] * 8)
    scored(folder / "nested" / "second", [BAD] * 8, [GOOD] * 8)
    write_judged(folder / "judged")
    write_trust(folder / "trust")
    return folder


def write_studies(folder: Path) -> Path:
    """A run of `agree`, one of `compare` and one of `extract`."""
    sheet = write(folder / "sheet.csv", rows())
    few: dict[str, Any] = {"resamples": 100, "permutations": 20}
    agree(sheet, metrics="bleu,chrf", output=folder / "agreement", **few)
    scored(folder / "first", [GOOD] * 8, [BAD] * 8)
    compare(folder / "first", metric="bleu", **few).write(folder / "compared")
    extract([REFERENCE, EVIL], output=folder / "read.jsonl")
    return folder


def scored(folder: Path, alpha: list[str], beta: list[str]) -> None:
    records = [
        {
            "id": f"case {n} {EVIL if n == 0 else ''}",
            "reference": f"{REFERENCE} {EVIL}",
            "alpha": f"{one} {n}",
            "beta": f"{other} {n}",
        }
        for n, (one, other) in enumerate(zip(alpha, beta, strict=True))
    ]
    score(records, candidate=["alpha", "beta"], metrics="bleu,chrf", output=folder)


def write_judged(folder: Path) -> None:
    folder.mkdir(parents=True)
    judged = [
        ResultRow(
            id=f"pair {n}",
            system="alpha",
            row=n,
            scores={
                "judge_rubric4": MetricResult(
                    value=0.1 * n, parts=CRITERIA, evidence={"reasoning": f"{REASON} {EVIL}"}
                ),
                "rubric_offline": MetricResult(
                    value=0.5, parts=CRITERIA, evidence={"reasoning": RUBRIC_REASON}
                ),
            },
        )
        for n in range(1, 13)
    ]
    write_lines(folder / "scores.jsonl", (json.loads(row.line()) for row in judged))
    about = {"signature": "s|histoeval:0", "range": [0, 1], "higher_is_better": True}
    system = {"mean": 0.5, "scored": 12, "pairs": 12}
    metrics = {name: about | {"systems": {"alpha": system}} for name in judged[0].scores}
    write_json(folder / "summary.json", {"rows": 12, "metrics": metrics, "judge": {}})
    write_json(folder / "usage.json", {})


def write_trust(folder: Path) -> None:
    """One report to deploy, two to review, one of them without an image, and one to reject."""
    folder.mkdir(parents=True)
    policy = read_policy("without_endpoint")
    values = [(0.95, 0.95), (0.6, 0.8), (0.1, 0.3), (None, 0.1)]
    trusted = [
        _trusted(n, grounding, logic, policy) for n, (grounding, logic) in enumerate(values, 1)
    ]
    write_lines(folder / "trust.jsonl", (json.loads(row.line()) for row in trusted))
    write_lines(
        folder / "texts.jsonl", ({"id": row.id, "report": f"Text of {row.id}."} for row in trusted)
    )
    write_json(folder / "trust.jsonl.meta.json", {})
    routes = Counter(row.route for row in trusted)
    made_with = ("reader", "encoder", "nli", "distance", "subject", "top", "tiles")
    mean = {"mean": 0.5, "known": 3, "missing": 1}
    summary = {
        "input": {"name": "reports.csv"},
        "rows": 4,
        "routes": {name: routes[name] for name in ROUTES},
        "means": dict.fromkeys((*DIMENSIONS, "trust"), mean),
        "policy": policy.content(),
        **dict.fromkeys(made_with),
    }
    write_json(folder / "summary.json", summary)


def _trusted(number: int, grounding: float | None, logic: float, policy: Policy) -> TrustRow:
    verdict: CancerVerdict = "not_checked" if grounding is None else "agrees"
    cancer = CancerCheck(stated="malignant", verdict=verdict, why="")
    trust = fuse(grounding, logic, None, policy.weights, policy, cancer=cancer)
    found = trust.model_dump(mode="json", include={"low", "high", "reason", "missing"})
    unseen = MissingReason(dimension="grounding", code="no_image", message="the row names no image")
    return TrustRow(
        id=f"report {number} {EVIL if number == 3 else ''}",
        row=number,
        grounding=grounding,
        logic=logic,
        trust=trust.value,
        route=trust.route,
        cancer_check=verdict,
        evidence={"trust": found},
        errors=(unseen,) if grounding is None else (),
    )


def write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content), "utf-8")


def write_lines(path: Path, rows: Iterable[Any]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
