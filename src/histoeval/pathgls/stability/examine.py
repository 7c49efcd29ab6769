"""Gets reports from the model under test: on an image as it is, re-stained, and under each attack.

A picture is described once for each; the tiles of a slide one by one, and the answers are merged,
by the model itself or by joining. Every answer is cached as it comes, so that a run that was
stopped resumes without asking twice.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field, ValidationError

from histoeval.errors import Problem, SettingError, explain_validation
from histoeval.llm.chat import Instruction
from histoeval.pathgls.results import Stability
from histoeval.pathgls.stability.attacks import (
    MERGE,
    NEUTRAL,
    attack_of,
    load_attacks,
    load_instruction,
    merge_of,
    task_of,
)
from histoeval.pathgls.stability.distance import Distance
from histoeval.pathgls.stability.image_views import (
    Form,
    ImageViews,
    Look,
    encoded,
    restained,
    views_of,
)
from histoeval.pathgls.stability.score import Named, stability_of
from histoeval.report import Noun
from histoeval.vlm.model import Ask, Vlm, VlmAnswer


class TileReportDraft(NamedTuple):
    """A report to be written: a question for each picture that it is about."""

    name: str
    asks: tuple[Ask, ...]


class TileReport(NamedTuple):
    """A report that was written, with notes for the reader."""

    text: str
    notes: tuple[str, ...] = ()


def write_all(
    drafts: Sequence[TileReportDraft], subject: Vlm, merge: Instruction | None
) -> list[TileReport | Problem]:
    """The report of each draft, or why there is none; without `merge` texts are plainly joined.

    Where one picture of several has no answer because a request failed, there is no report: it
    would be incomplete without showing it. Empty answers are counted in a note.
    """
    answers = iter(subject.describe_all([ask for draft in drafts for ask in draft.asks]))
    gathered = [_gathered(draft, [next(answers) for _ in draft.asks]) for draft in drafts]
    waiting = [
        Ask(merge, merge_of(merge, each.texts))
        for each in gathered
        if merge is not None and isinstance(each, _Parts) and len(each.texts) > 1
    ]
    merged = iter(subject.describe_all(waiting))
    return [
        each
        if isinstance(each, Problem)
        else _whole(each, next(merged) if merge is not None and len(each.texts) > 1 else None)
        for each in gathered
    ]


class _Parts(NamedTuple):
    """The answers on the pictures of one draft."""

    name: str
    texts: tuple[str, ...]
    notes: tuple[str, ...]


def _gathered(draft: TileReportDraft, answers: Sequence[VlmAnswer | Problem]) -> _Parts | Problem:
    empty = sum(isinstance(each, Problem) and each.code == "empty_report" for each in answers)
    failed = [e for e in answers if isinstance(e, Problem) and e.code != "empty_report"]
    if failed:
        return failed[0]
    if empty == len(answers):
        return Problem("empty_report", "the model answered with nothing")
    written = [each for each in answers if isinstance(each, VlmAnswer)]
    notes = [f"{draft.name}: empty answers on {empty} of {len(answers)} tiles"] if empty else []
    if cut := sum(each.cut for each in written):
        notes.append(f"{draft.name}: {cut} of {len(answers)} answers hit the token limit")
    return _Parts(draft.name, tuple(each.text for each in written), tuple(notes))


def _whole(parts: _Parts, merged: VlmAnswer | Problem | None) -> TileReport | Problem:
    """One report of the parts."""
    if merged is None:
        return TileReport("\n\n".join(parts.texts), parts.notes)
    if isinstance(merged, Problem):
        return Problem(merged.code, f"when reports on tiles were merged: {merged.message}")
    cut = (f"{parts.name}: the merged report hit the token limit",) if merged.cut else ()
    return TileReport(merged.text, (*parts.notes, *cut))


JOIN = "join"
"""In place of a merge prompt: the reports on tiles one after the other."""

STAIN = "stain"
"""The visual attack; where there are several, the others are `stain_2` and so on."""


class Examination(Noun):
    """What the model is shown and asked; its answers depend on all of it."""

    neutral: Instruction
    attacks: Annotated[tuple[Instruction, ...], Field(min_length=1)]
    merge: Instruction | None
    """None where the reports on tiles are plainly joined."""
    tiles: Annotated[int, Field(ge=1)] = 15
    seed: int = 0
    stains: Annotated[int, Field(ge=1)] = 1
    """How many times the stain is perturbed."""
    mpp: float | None = None
    """Microns per pixel, where the file does not have them."""
    look: Look = "tiles"
    form: Form = "jpeg"

    def pins(self) -> dict[str, str]:
        """What of it enters a signature."""
        return {
            "neutral": self.neutral.identity,
            "prompts": "+".join(attack.identity for attack in self.attacks),
            "stains": str(self.stains),
            **self.views_pins(),
        }

    def views_pins(self) -> dict[str, str]:
        """The same for what is shown, and for how tiles become a slide."""
        return {
            "merge": JOIN if self.merge is None else self.merge.identity,
            "look": f"{self.look},tiles={self.tiles},form={self.form},mpp={self.mpp or 'file'}",
            "seed": str(self.seed),
        }


def make_examination(
    neutral: str = NEUTRAL, attacks: Sequence[str] = (), merge: str = MERGE, **rest: object
) -> Examination:
    """An examination by the names of its prompts, or by their files; no attacks means all known."""
    prompts: dict[str, object] = {
        "neutral": load_instruction(neutral, "neutral"),
        "attacks": load_attacks(attacks),
        "merge": None if merge == JOIN else load_instruction(merge, "merge"),
    }
    try:
        return Examination.model_validate(prompts | rest)
    except ValidationError as error:
        raise SettingError(explain_validation(error, "")) from error


class Reports(NamedTuple):
    """The reports of a model on one image: as it is, re-stained, and under attacks."""

    neutral: str | Problem
    augmented: tuple[Named, ...]
    attacked: tuple[Named, ...]
    notes: tuple[str, ...]


def stability_for(
    image: Path | str,
    original: str | None,
    subject: Vlm,
    examination: Examination,
    distance: Distance,
    *,
    specimen: str = "",
) -> Stability | Problem:
    """The stability of a report on an image, measured on the model that wrote it.

    Where no original is given, the model writes it with the neutral prompt. Where one is, the model
    writes one all the same, and a note gives its distance from the original: far, where that was
    not written with this prompt.
    """
    found = reports_for(image, subject, examination, original=original, specimen=specimen)
    if isinstance(found, Problem):
        return found
    notes = found.notes
    if original is not None:
        notes = (_repeated(original, found.neutral, distance), *notes)
    elif isinstance(found.neutral, Problem):
        return found.neutral
    else:
        original = found.neutral
    pins = {"subject": subject.identity, **examination.pins()}
    return stability_of(original, found.augmented, found.attacked, distance, pins=pins, notes=notes)


def reports_for(
    image: Path | str,
    subject: Vlm,
    examination: Examination,
    *,
    original: str | None = None,
    specimen: str = "",
) -> Reports | Problem:
    """All reports of a model on an image, or why one under attack is missing."""
    views = _shown(image, examination)
    if isinstance(views, Problem):
        return views
    task = task_of(examination.neutral, specimen)
    plain = [draft(name, task, each, examination) for name, each in views.items()]
    unattacked = dict(zip(views, write_all(plain, subject, examination.merge), strict=True))
    neutral = unattacked.pop(NEUTRAL)
    report = original or (neutral.text if isinstance(neutral, TileReport) else "")
    known, key = f"{report}\n{specimen}", Path(image).name
    drafts = [
        draft(
            attack.name,
            attack_of(attack, task, known, examination.seed, key),
            views[NEUTRAL],
            examination,
            attack,
        )
        for attack in examination.attacks
    ]
    attacked = write_all(drafts, subject, examination.merge)
    under = {each.name: report for each, report in zip(drafts, attacked, strict=True)}
    notes = [note for each in views.values() for note in each.notes]
    notes += neutral.notes if isinstance(neutral, TileReport) else ()
    texts: dict[str, str] = {}
    for name, written in (unattacked | under).items():
        if isinstance(written, Problem):
            return Problem(written.code, f"under the attack '{name}': {written.message}")
        texts[name] = written.text
        notes += written.notes
    return Reports(
        neutral if isinstance(neutral, Problem) else neutral.text,
        tuple((name, texts[name]) for name in unattacked),
        tuple((name, texts[name]) for name in under),
        tuple(dict.fromkeys(notes)),
    )


def views_in(image: Path | str, examination: Examination) -> ImageViews | Problem:
    """What of an image is shown in an examination."""
    return views_of(
        image,
        tiles=examination.tiles,
        seed=examination.seed,
        look=examination.look,
        mpp=examination.mpp,
    )


def draft(
    name: str,
    text: str,
    views: ImageViews,
    examination: Examination,
    instruction: Instruction | None = None,
) -> TileReportDraft:
    """A report to be written on views, each shown with the same words."""
    instruction = instruction or examination.neutral
    return TileReportDraft(
        name,
        tuple(
            Ask(instruction, text, (encoded(view.pixels, examination.form),))
            for view in views.shown
        ),
    )


def _shown(image: Path | str, examination: Examination) -> dict[str, ImageViews] | Problem:
    """The image as it is and under each perturbation of the stain, by name."""
    views = views_in(image, examination)
    if isinstance(views, Problem):
        return views
    found = {NEUTRAL: views}
    for number in range(examination.stains):
        each = restained(views, examination.seed + number, Path(image).name)
        if isinstance(each, Problem):
            return each
        found[STAIN if not number else f"{STAIN}_{number + 1}"] = each
    return found


def _repeated(original: str, neutral: str | Problem, distance: Distance) -> str:
    """A note on the distance of what the model writes now from the report that was given."""
    if isinstance(neutral, Problem):
        return f"asked anew without an attack, the model gave no report: {neutral.message}"
    far = distance.between(original, neutral)
    if isinstance(far, Problem):
        return (
            f"asked anew without an attack, the model wrote what cannot be compared: {far.message}"
        )
    return (
        f"asked anew without an attack, the model's report lies {far:.2f} from the given one; "
        "where that is far, the given one was written with another prompt: name that prompt"
    )
