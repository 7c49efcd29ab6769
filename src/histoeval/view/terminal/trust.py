"""Tables on trust: the means and verdicts of all reports, the worst reports, a tuned policy."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from histoeval.pathgls.fusion import ROUTES
from histoeval.pathgls.policy.policy import DIMENSIONS, PAPER, Policy
from histoeval.run.trust.rows import TrustRow
from histoeval.run.trust.tune import FIGURES, TuningResult, share_text
from histoeval.table import ResultTable, number
from histoeval.view.highlight import one_line
from histoeval.view.image_evidence import claims_seen, grounding_of, organ_words, verdict_words

MAX_CLAIMS = 20  # claims of the least trusted reports that are shown; all are on the page


def trust_tables(summary: Mapping[str, Any], worst: Sequence[TrustRow]) -> Iterator[ResultTable]:
    weights, means = summary["policy"]["weights"], summary["means"]
    rows = [
        (
            name,
            f"{weights[name]:g}" if name in weights else "",
            number(means[name]["mean"]),
            f"{means[name]['known']:,}",
            f"{means[name]['missing']:,}",
        )
        for name in (*DIMENSIONS, "trust")
    ]
    title = f"{summary['input']['name']}: {summary['rows']:,} reports"
    yield ResultTable(title, ("dimension", "weight", "mean", "known", "missing"), rows)
    counts = [(route, f"{count:,}") for route, count in summary["routes"].items()]
    yield ResultTable("Verdicts", ("verdict", "reports"), counts)
    if worst:
        columns = ("id", *DIMENSIONS, "trust", "cancer", "verdict")
        yield ResultTable(
            "The least trusted reports",
            columns,
            [
                (
                    one_line(row.id),
                    *(number(getattr(row, name)) for name in DIMENSIONS),
                    trust_text(row),
                    row.cancer_check.replace("_", " "),
                    row.route,
                )
                for row in worst
            ],
        )
        yield from _image_tables(worst)


def _image_tables(rows: Sequence[TrustRow]) -> Iterator[ResultTable]:
    groundings = [(one_line(row.id), grounding_of(row.evidence)) for row in rows]
    seen = [(name, grounding) for name, grounding in groundings if grounding is not None]
    if not seen:
        return
    yield ResultTable(
        "What their images say",
        ("id", "image", "organ seen", "why"),
        [(name, verdict_words(g), organ_words(g.organ), one_line(g.why)) for name, g in seen],
    )
    claims = [
        (
            name,
            one_line(claim.support.claim.phrase),
            claim.verdict,
            claim.agreeing,
            one_line(claim.decoy),
            one_line(claim.why),
        )
        for name, grounding in seen
        for claim in claims_seen(grounding)
    ]
    more = f", the first {MAX_CLAIMS} of {len(claims):,}" if len(claims) > MAX_CLAIMS else ""
    columns = ("id", "claim", "image", "patches that agree", "nearest decoy", "why")
    yield ResultTable(f"Their claims{more}", columns, claims[:MAX_CLAIMS])


def trust_text(row: TrustRow) -> str:
    if row.trust is not None:
        return number(row.trust)
    bounds = row.evidence["trust"]
    return f"{bounds['low']:.3f} to {bounds['high']:.3f}"


def policy_line(policy: Mapping[str, Any]) -> str:
    top = policy["deploy_from"]
    deploy = "nothing is deployed" if top is None else f"deploy from {top:g}"
    floors = [f"{name} {at:g}" for name, at in policy["floors"].items() if at is not None]
    limits = f", floors: {', '.join(floors)}" if floors else ""
    limits += f", claims known from {policy['claims_known']:g}" if policy["claims_known"] else ""
    when = policy["reject_if"]
    at_once = ""  # what else rejects a report
    if (logic := when["logic_below"]) is not None:
        at_once += f" or by a certain contradiction with logic below {logic:g}"
    if when["image_contradicts"]:
        at_once += " or by an image that contradicts it"
    named = f"policy {policy['name']}@{policy['hash']}"
    return f"{deploy}, reject below {policy['reject_below']:g}{at_once}{limits}; {named}"


def policy_lines(policy: Mapping[str, Any], *more: str) -> list[str]:
    """Return the numbers of a policy, what its verdicts mean, and `more` of its meaning."""
    meaning = policy["meaning"] or {}
    meanings = [f"  {key}: {meaning[key]}" for key in (*ROUTES, *more) if key in meaning]
    return [f"Policy: {policy_line(policy)}", *meanings]


def policy_table(policies: Iterable[Policy]) -> ResultTable:
    rows = [
        (
            policy.name,
            policy.meaning.fits if policy.meaning is not None else "",
            "no" if policy.deploy_from is None else f"from {policy.deploy_from:g}",
            "" if policy.deploy_from is None else ", ".join(policy.required),
        )
        for policy in policies
    ]
    return ResultTable("Policies", ("policy", "fits", "deploys", "must be known"), rows)


def tuning_tables(tuning: TuningResult) -> Iterator[ResultTable]:
    figure = FIGURES[tuning.tuned.objective]
    rows = [
        (name, *[f"{weight:g}" for weight in weights.numbers], f"{mean:.3f}", f"{spread:.3f}")
        for name, weights, (mean, spread) in (
            ("tuned", tuning.tuned.policy.weights, tuning.outside("tuned")),
            ("paper", PAPER, tuning.outside("paper")),
        )
    ]
    columns = ("weights", "grounding", "logic", "stability", "mean", "sd")
    yield ResultTable(f"{figure} on {len(tuning.tuned.folds)} held-out folds", columns, rows)
    tuned, base = tuning.routes("tuned"), tuning.routes("base")
    if np.any(tuned):
        yield ResultTable(
            f"Verdicts on held-out reports ({tuning.held_out})",
            ("verdict", "tuned", "wrong", "before", "wrong "),
            [
                (
                    route,
                    f"{new.sum():,} of {tuned.sum():,}",
                    share_text(new[1], new.sum()),
                    f"{old.sum():,} of {base.sum():,}",
                    share_text(old[1], old.sum()),
                )
                for route, new, old in zip(ROUTES, tuned, base, strict=True)
            ],
        )
