"""Teachers label windows of unlabelled reports, in parts that are kept one by one."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from histoeval.errors import ModelError
from histoeval.progress import ignore
from histoeval_research.train.core.encoder import TorchEncoder, load_encoder, load_reader
from histoeval_research.train.core.loop import Watch
from histoeval_research.train.core.model_folder import TrainingStep
from histoeval_research.train.reader.model import JointReader
from histoeval_research.train.reader.plan import TrainingPlan, windows_to_label
from histoeval_research.train.reader.soft_labels import label, save_examples

PART = 4096
"""Windows that are labelled and kept at once."""

Part = tuple[int, list[str]]


@dataclass(frozen=True, slots=True)
class SharedWindows:
    """Windows that student and teacher see alike, and how many others there were."""

    texts: list[str]
    different: int
    too_long: int


def teachers_of(
    course: TrainingPlan, steps: Sequence[TrainingStep]
) -> tuple[TorchEncoder, list[JointReader]]:
    """The teachers of some steps, and the encoder of one of them for its tokenizer."""
    readers = []
    for step in steps:
        encoder = load_encoder(
            course.encoder("teacher"), course.settings.windows.tokens, course.device
        )
        readers.append(load_reader(encoder, course.settings.shape, step.folder))
    return encoder, readers


def label_windows(course: TrainingPlan, watch: Watch = ignore) -> dict[str, Any]:
    """Have the teachers label all windows; how many there are, and how many were skipped."""
    teach = course.settings.teach
    assert teach is not None, "windows are labelled by teachers"

    def act(step: TrainingStep) -> dict[str, Any]:
        """Label part by part; parts that are there from before are kept."""
        texts = windows_to_label(
            course.pool, (passage.text for passage in course.train), course.settings.windows
        )
        fitting = _fitting(texts, course)
        parts = [
            (first // PART, fitting.texts[first : first + PART])
            for first in range(0, len(fitting.texts), PART)
        ]
        missing = [part for part in parts if not _file(step, part[0]).exists()]
        if teach.at_once > 1 and len(missing) > 1:
            shares = [missing[first :: teach.at_once] for first in range(teach.at_once)]
            together(_label_parts, [(course, share) for share in shares if share], teach.at_once)
        else:
            _label_parts(course, missing, watch)
        return course.pool.facts | {
            "windows": len(fitting.texts),
            "different_tokens": fitting.different,
            "too_long": fitting.too_long,
        }

    return course.labelled.run(act)


def together(act: Callable[..., object], jobs: Iterable[Sequence[Any]], most: int) -> None:
    """Do several jobs at the same time, each in a process of its own."""
    with ProcessPoolExecutor(most, mp_context=get_context("spawn")) as processes:
        for done in as_completed([processes.submit(act, *job) for job in jobs]):
            done.result()


def _label_parts(course: TrainingPlan, parts: Sequence[Part], watch: Watch = ignore) -> None:
    """Label some parts; each is a file afterwards."""
    if not parts:
        return
    teacher, readers = teachers_of(course, course.teachers)
    student = _student(course)
    for done, (number, texts) in enumerate(parts, start=1):
        examples = label(
            readers, texts, teacher.fast.encode_batch(texts), teacher.padding, teacher.device
        )
        own = student.fast.encode_batch(texts)
        for example, encoding in zip(examples, own, strict=True):
            example.tokens = np.array(encoding.ids, dtype=np.int64)
        save_examples(_file(course.labelled, number), examples)
        watch(done, len(parts), float("nan"))


def _student(course: TrainingPlan) -> TorchEncoder:
    return load_encoder(course.settings.encoder, course.settings.windows.tokens, "cpu")


def _file(step: TrainingStep, number: int) -> Path:
    return step.folder / f"part-{number:04}.npz"


def _fitting(texts: Sequence[str], course: TrainingPlan) -> SharedWindows:
    """The windows that both tokenizers cut into the same pieces, few enough for both."""
    student = _student(course)
    teacher = load_encoder(course.encoder("teacher"), course.settings.windows.tokens, "cpu")
    most = min(student.most_tokens, teacher.most_tokens)
    found: list[str] = []
    different = too_long = 0
    for first in range(0, len(texts), PART):
        some = list(texts[first : first + PART])
        both = (student.fast.encode_batch(some), teacher.fast.encode_batch(some))
        for text, one, other in zip(some, *both, strict=True):
            if one.offsets != other.offsets:
                different += 1
            elif len(one.ids) > most:
                too_long += 1
            else:
                found.append(text)
    if different > len(texts) / 2 or not found:
        raise ModelError(
            f"{different:,} of {len(texts):,} windows are cut into other tokens by the student "
            f"than by the teacher, and {too_long:,} are too long: give encoders with the same "
            "kind of tokenizer, or shorter windows"
        )
    return SharedWindows(found, different, too_long)
