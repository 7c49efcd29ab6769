"""Gets reports from the model under test: on an image as it is, re-stained, and under each attack.

The tiles of a slide are described one by one, and the answers merged, by the model or by joining.
Every answer is cached as it comes, so that a run that was stopped does not ask twice. Prompts are
data: YAML files in `prompts/`, or the user's own. An attack wraps the neutral task, so that it is
all that differs.
"""

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args

from pydantic import Field, ValidationError

from histoeval.errors import InputError, Problem, SettingError, did_you_mean, explain_validation
from histoeval.io.settings_files import read_yaml
from histoeval.llm.chat import REPORTS, SITE, TASK, Instruction, Kind, disarmed
from histoeval.pathgls.results import Stability
from histoeval.pathgls.stability.distance import Distance
from histoeval.pathgls.stability.image_views import (
    Form,
    ImageViews,
    Look,
    encoded,
    restained,
    views_of,
)
from histoeval.pathgls.stability.score import NamedReport, stability_of
from histoeval.report import Noun
from histoeval.resources import resource_path
from histoeval.vlm.model import Ask, Vlm, VlmAnswer

NEUTRAL, MERGE = "neutral", "merge"  # the default prompts
_FOLDER = resource_path("pathgls/stability/prompts")


def task_of(neutral: Instruction, specimen: str = "") -> str:
    context = f"About the specimen:\n{specimen.strip()}\n\n" if specimen.strip() else ""
    return context + neutral.text.strip()


def attack_of(attack: Instruction, task: str, known: str, seed: int, key: str) -> str:
    text = attack.text.strip().replace(TASK, task)
    return text.replace(SITE, wrong_site(attack, known, seed, key)) if attack.sites else text


def wrong_site(attack: Instruction, known: str, seed: int, key: str) -> str:
    """A site that what is known does not name, the same one for the same seed and key."""
    order = sorted(
        attack.sites, key=lambda site: hashlib.sha256(f"{seed}\0{key}\0{site}".encode()).digest()
    )
    text = known.casefold()
    return next((site for site in order if site.casefold() not in text), order[0])


def merge_of(merge: Instruction, reports: Sequence[str]) -> str:
    rule = "-" * 20
    fields = [
        f"{rule} field {number}\n{disarmed(text).strip()}"
        for number, text in enumerate(reports, start=1)
    ]
    return merge.text.strip().replace(REPORTS, "\n".join([*fields, rule]))


def load_instruction(name: str, kind: Kind) -> Instruction:
    names = known_instructions(kind)
    path = _FOLDER / f"{name}.yaml" if name in names else Path(name)
    if path.suffix.lower() not in (".yaml", ".yml"):
        raise SettingError(
            f"there is no prompt {name!r} of kind {kind}{did_you_mean(name, names)}; known: "
            f"{', '.join(names)}; or name a .yaml file"
        )
    try:
        instruction = Instruction.model_validate(_content(path))
    except ValidationError as error:
        raise InputError(
            f"the prompt {path} cannot be used: {explain_validation(error)}"
        ) from error
    if instruction.kind != kind:
        raise SettingError(
            f"the prompt {path} is of kind {instruction.kind}, and one of kind {kind} is wanted "
            f"here (kinds: {', '.join(get_args(Kind))})"
        )
    return instruction


def load_attacks(names: Sequence[str] = ()) -> tuple[Instruction, ...]:
    attacks = tuple(
        load_instruction(name, "attack") for name in names or known_instructions("attack")
    )
    if len({attack.name for attack in attacks}) < len(attacks):
        raise SettingError("two attacks have the same name; each needs one of its own")
    return attacks


@cache
def known_instructions(kind: Kind) -> tuple[str, ...]:
    paths = _FOLDER.glob("*.yaml")
    return tuple(sorted(path.stem for path in paths if _content(path).get("kind") == kind))


def _content(path: Path) -> dict[str, Any]:
    content = read_yaml(path, "the prompt").content
    if not isinstance(content, dict):
        raise InputError(f"the prompt {path} cannot be used: it must be a mapping of names")
    return content


class TileReportDraft(NamedTuple):
    name: str
    asks: tuple[Ask, ...]


class TileReport(NamedTuple):
    text: str
    notes: tuple[str, ...] = ()


def write_all(
    drafts: Sequence[TileReportDraft], model: Vlm, merge: Instruction | None
) -> list[TileReport | Problem]:
    """The report of each draft, or why there is none; without `merge` texts are plainly joined.

    One picture of several without an answer leaves no report: it would be incomplete, unseen.
    """
    answers = iter(model.describe_all([ask for draft in drafts for ask in draft.asks]))
    gathered = [_gathered(draft, [next(answers) for _ in draft.asks]) for draft in drafts]
    waiting = [
        Ask(merge, merge_of(merge, parts[0]))
        for parts in gathered
        if merge is not None and not isinstance(parts, Problem) and len(parts[0]) > 1
    ]
    merged = iter(model.describe_all(waiting))
    reports: list[TileReport | Problem] = []
    for draft, parts in zip(drafts, gathered, strict=True):
        if isinstance(parts, Problem):
            reports.append(parts)
            continue
        texts, notes = parts
        if merge is None or len(texts) == 1:
            reports.append(TileReport("\n\n".join(texts), notes))
        elif isinstance(combined := next(merged), Problem):
            message = f"when reports on tiles were merged: {combined.message}"
            reports.append(Problem(combined.code, message))
        else:
            cut = (f"{draft.name}: the merged report hit the token limit",) if combined.cut else ()
            reports.append(TileReport(combined.text, (*notes, *cut)))
    return reports


def _gathered(
    draft: TileReportDraft, answers: Sequence[VlmAnswer | Problem]
) -> tuple[tuple[str, ...], tuple[str, ...]] | Problem:
    """The answers on the pictures of a draft, with notes."""
    written = [answer for answer in answers if isinstance(answer, VlmAnswer)]
    problems = [answer for answer in answers if isinstance(answer, Problem)]
    if failed := [problem for problem in problems if problem.code != "empty_report"]:
        return failed[0]
    if not written:
        return Problem("empty_report", "the model answered with nothing")
    notes = []
    if problems:
        notes.append(f"{draft.name}: empty answers on {len(problems)} of {len(answers)} tiles")
    if cut := sum(answer.cut for answer in written):
        notes.append(f"{draft.name}: {cut} of {len(answers)} answers hit the token limit")
    return tuple(answer.text for answer in written), tuple(notes)


JOIN = "join"  # in place of a merge prompt: the reports on tiles one after the other
STAIN = "stain"  # the visual attack; where there are several, the others are `stain_2` and so on


class Examination(Noun):
    neutral: Instruction
    attacks: Annotated[tuple[Instruction, ...], Field(min_length=1)]
    merge: Instruction | None  # none where the reports on tiles are plainly joined
    tiles: Annotated[int, Field(ge=1)] = 15
    seed: int = 0
    stains: Annotated[int, Field(ge=1)] = 1  # how many times the stain is perturbed
    mpp: float | None = None  # microns per pixel, where the file does not have them
    look: Look = "tiles"
    form: Form = "jpeg"

    def pins(self) -> dict[str, str]:
        return {
            "neutral": self.neutral.identity,
            "prompts": "+".join(attack.identity for attack in self.attacks),
            "stains": str(self.stains),
            **self.views_pins(),
        }

    def views_pins(self) -> dict[str, str]:
        return {
            "merge": JOIN if self.merge is None else self.merge.identity,
            "look": f"{self.look},tiles={self.tiles},form={self.form},mpp={self.mpp or 'file'}",
            "seed": str(self.seed),
        }


def make_examination(
    neutral: str = NEUTRAL, attacks: Sequence[str] = (), merge: str = MERGE, **rest: object
) -> Examination:
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
    neutral: str | Problem
    augmented: tuple[NamedReport, ...]
    attacked: tuple[NamedReport, ...]
    notes: tuple[str, ...]


def stability_for(
    image: Path | str,
    original: str | None,
    model: Vlm,
    examination: Examination,
    distance: Distance,
    *,
    specimen: str = "",
) -> Stability | Problem:
    """The stability of a report on an image, measured on the model that wrote it."""
    reports = reports_for(image, model, examination, original=original, specimen=specimen)
    if isinstance(reports, Problem):
        return reports
    notes = reports.notes
    if original is not None:
        notes = (_repeated(original, reports.neutral, distance), *notes)
    elif isinstance(reports.neutral, Problem):
        return reports.neutral
    else:
        original = reports.neutral
    pins = {"subject": model.identity, **examination.pins()}
    return stability_of(
        original, reports.augmented, reports.attacked, distance, pins=pins, notes=notes
    )


def reports_for(
    image: Path | str,
    model: Vlm,
    examination: Examination,
    *,
    original: str | None = None,
    specimen: str = "",
) -> Reports | Problem:
    views = _shown(image, examination)
    if isinstance(views, Problem):
        return views
    task = task_of(examination.neutral, specimen)
    plain = [draft(name, task, view, examination) for name, view in views.items()]
    unattacked = dict(zip(views, write_all(plain, model, examination.merge), strict=True))
    neutral = unattacked.pop(NEUTRAL)
    report = original or (neutral.text if isinstance(neutral, TileReport) else "")
    context, key = f"{report}\n{specimen}", Path(image).name
    drafts = []
    for attack in examination.attacks:
        text = attack_of(attack, task, context, examination.seed, key)
        drafts.append(draft(attack.name, text, views[NEUTRAL], examination, attack))
    attacked = write_all(drafts, model, examination.merge)
    under_attack = {view.name: report for view, report in zip(drafts, attacked, strict=True)}
    notes = [note for view in views.values() for note in view.notes]
    notes += neutral.notes if isinstance(neutral, TileReport) else ()
    texts: dict[str, str] = {}
    for name, written in (unattacked | under_attack).items():
        if isinstance(written, Problem):
            return Problem(written.code, f"under the attack '{name}': {written.message}")
        texts[name] = written.text
        notes += written.notes
    return Reports(
        neutral if isinstance(neutral, Problem) else neutral.text,
        tuple((name, texts[name]) for name in unattacked),
        tuple((name, texts[name]) for name in under_attack),
        tuple(dict.fromkeys(notes)),
    )


def views_in(image: Path | str, examination: Examination) -> ImageViews | Problem:
    chosen = examination.model_dump(include={"tiles", "seed", "look", "mpp"})
    return views_of(image, **chosen)


def draft(
    name: str,
    text: str,
    views: ImageViews,
    examination: Examination,
    instruction: Instruction | None = None,
) -> TileReportDraft:
    pictures = [encoded(view.pixels, examination.form) for view in views.shown]
    instruction = instruction or examination.neutral
    return TileReportDraft(name, tuple(Ask(instruction, text, (picture,)) for picture in pictures))


def _shown(image: Path | str, examination: Examination) -> dict[str, ImageViews] | Problem:
    views = views_in(image, examination)
    if isinstance(views, Problem):
        return views
    views_by_name = {NEUTRAL: views}
    for number in range(examination.stains):
        stained = restained(views, examination.seed + number, Path(image).name)
        if isinstance(stained, Problem):
            return stained
        views_by_name[STAIN if not number else f"{STAIN}_{number + 1}"] = stained
    return views_by_name


def _repeated(original: str, neutral: str | Problem, distance: Distance) -> str:
    if isinstance(neutral, Problem):
        return f"asked anew without an attack, the model gave no report: {neutral.message}"
    moved = distance.between(original, neutral)
    if isinstance(moved, Problem):
        reason = f"what cannot be compared: {moved.message}"
        return f"asked anew without an attack, the model wrote {reason}"
    return (
        f"asked anew without an attack, the model's report lies {moved:.2f} from the given one; "
        "where that is far, the given one was written with another prompt: name that prompt"
    )
