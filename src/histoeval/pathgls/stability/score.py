"""Stability, equation (3): how far a report moves when stain or prompt are perturbed.

`stability_of` takes reports that exist; `examine` gets them from a model. Where a
report is missing or empty, so is stability: a model that writes nothing has not been shown to be
stable, and nothing is imputed for what an endpoint failed to answer.
"""

from collections.abc import Mapping, Sequence
from statistics import fmean

from histoeval.errors import Problem
from histoeval.metric import Signature
from histoeval.pathgls.results import Shift, Stability
from histoeval.pathgls.stability.distance import Distance

VISUAL, SEMANTIC = "visual", "semantic"
UNMOVED = "none"  # the worst attack where none of them moved the report
LEAST_NOTED = 0.005  # a mean over attacks that hides no more than this needs no note

NamedReport = tuple[str, str]  # the name of an attack, and the report that was written under it


def equation_3(visual: float, semantic: float) -> float:
    """1 minus the mean of both distances, each between 0 and 1."""
    return 1 - (abs(visual) + abs(semantic)) / 2


def stability_of(
    original: str,
    augmented: Sequence[NamedReport],
    attacked: Sequence[NamedReport],
    distance: Distance,
    *,
    pins: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
) -> Stability | Problem:
    """Equation (3), with the mean over attacks of a kind; `pins` say how the reports were made."""
    if gap := _gap(original, augmented, attacked):
        return gap
    if isinstance(own_distance := distance.between(original, original), Problem):
        # A report that states nothing, such as a refusal, would be as stable as can be.
        return Problem(own_distance.code, "the original report states nothing that can be compared")
    attacks = [(VISUAL, *entry) for entry in augmented] + [(SEMANTIC, *entry) for entry in attacked]
    shifts: list[Shift] = []
    for kind, name, report in attacks:
        moved = distance.between(original, report)
        if isinstance(moved, Problem):
            return Problem(moved.code, f"under the attack '{name}': {moved.message}")
        changed = distance.changed(original, report)
        shifts.append(Shift(attack=name, kind=kind, distance=moved, report=report, changed=changed))
    by_kind = [[s.distance for s in shifts if s.kind == kind] for kind in (VISUAL, SEMANTIC)]
    value, lowest = equation_3(*map(fmean, by_kind)), equation_3(*map(max, by_kind))
    furthest = max(shifts, key=lambda shift: shift.distance)
    note = f"with the worst attack of each kind alone, stability would be {lowest:.3f}"
    names = "+".join(shift.attack for shift in shifts)
    settings = {"distance": distance.identity, "attacks": names, **(pins or {})}
    return Stability(
        value=min(1.0, max(0.0, value)),
        shifts=tuple(shifts),
        worst=furthest.attack if furthest.distance > 0 else UNMOVED,
        notes=(*notes, note) if value - lowest > LEAST_NOTED else tuple(notes),
        signature=str(Signature(metric="stability", settings=settings)),
    )


def _gap(
    original: str, augmented: Sequence[NamedReport], attacked: Sequence[NamedReport]
) -> Problem | None:
    if not original.strip():
        return Problem("empty_report", "the original report is empty")
    if not augmented:
        return Problem("no_augmented_report", "there is no report on a stain-perturbed image")
    if not attacked:
        return Problem("no_attacked_report", "there is no report under an adversarial prompt")
    for name, report in (*augmented, *attacked):
        if not report.strip():
            return Problem("empty_report", f"the report under the attack '{name}' is empty")
    return None
