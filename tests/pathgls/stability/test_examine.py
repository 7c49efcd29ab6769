"""Reports under attack, asked of a model: pictures, slides, and everything that can be missing."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openslide")

from histoeval.errors import Problem, SettingError
from histoeval.pathgls.results import Stability
from histoeval.pathgls.stability.examine import (
    Examination,
    Reports,
    TileReport,
    TileReportDraft,
    make_examination,
    reports_for,
    stability_for,
    write_all,
)
from histoeval.vlm.model import Ask, Vlm, VlmAnswer
from tests.support.fake_server import Call, Wrong
from tests.support.fake_vlm import (
    BENIGN,
    MALIGNANT,
    alone,  # noqa: F401
    gullible,
    picture_of,
    steadfast,
    subject_at,
    vision,
    words_of,
    write_picture,
)
from tests.support.painted_slides import glass, put, stained, write_pyramid

pytestmark = pytest.mark.usefixtures("alone")

ATTACKS = ("malignant_history", "wrong_site")


class Words:
    """The share of words that two reports do not have in common."""

    identity = "words"

    def between(self, first: str, second: str) -> float | Problem:
        if "Diagnosis" not in first + second:
            return Problem("no_claims", "nothing is stated")
        one, other = set(first.split()), set(second.split())
        return len(one ^ other) / len(one | other)

    def changed(self, first: str, second: str) -> tuple[str, ...]:
        return tuple(sorted({*second.split()} - {*first.split()}))


@pytest.fixture
def facts() -> Words:
    return Words()


@pytest.fixture(scope="module")
def picture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_picture(tmp_path_factory.mktemp("picture") / "field.png", stained(256, 256))


@pytest.fixture(scope="module")
def slide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = glass(512, 2100)
    put(page, stained(512, 1536), 0, 0)
    return write_pyramid(tmp_path_factory.mktemp("slide") / "case.tif", page, 0.5, levels=3)


def examination(**rest: object) -> Examination:
    return make_examination(attacks=ATTACKS, **rest)  # type: ignore[arg-type]


def stability(found: Stability | Problem) -> Stability:
    assert isinstance(found, Stability), found
    return found


def problem(found: object) -> Problem:
    assert isinstance(found, Problem), found
    return found


def test_a_model_that_believes_a_false_history(picture: Path, facts: Words) -> None:
    with vision(steadfast) as firm, vision(gullible) as weak:
        stable = stability_for(picture, BENIGN, subject_at(firm), examination(), facts)
        moved = stability_for(picture, BENIGN, subject_at(weak), examination(), facts)
    assert stability(stable).value == 1
    assert stability(moved).value < 0.9
    assert stability(moved).worst == "malignant_history"
    shift = stability(moved).shifts[1]
    assert shift.report == MALIGNANT
    assert any("adenocarcinoma" in line for line in shift.changed)


def test_either_the_stain_or_the_words_are_perturbed(picture: Path) -> None:
    with vision() as server:
        reports_for(picture, subject_at(server), examination())
    plain, restained, *attacked = sorted(
        server.calls, key=lambda call: ("history" in words_of(call)) + ("Request" in words_of(call))
    )
    assert words_of(plain) == words_of(restained)
    first, second = picture_of(plain), picture_of(restained)
    assert first is not None
    assert second is not None
    assert (first != second).any()
    assert len(attacked) == len(ATTACKS)
    for call in attacked:
        assert words_of(plain) in words_of(call)
        shown = picture_of(call)
        assert shown is not None
        assert (shown == first).all() or (shown == second).all()


def test_without_an_original_the_model_is_asked_for_it(picture: Path, facts: Words) -> None:
    with vision() as server:
        found = stability_for(picture, None, subject_at(server), examination(), facts)
        told = reports_for(picture, subject_at(server), examination())
    assert stability(found).value == 1
    assert isinstance(told, Reports)
    assert told.neutral == BENIGN


def test_a_note_says_how_far_the_given_report_lies(picture: Path, facts: Words) -> None:
    with vision() as server:
        found = stability_for(picture, MALIGNANT, subject_at(server), examination(), facts)
    note = stability(found).notes[0]
    assert "asked anew" in note
    assert float(note.split("lies ")[1].split()[0]) > 0.3


def test_the_site_that_is_given_falsely_is_not_the_true_one(picture: Path) -> None:
    known = "skin prostate kidney liver lung breast ovary testis urinary bladder parathyroid gland"
    with vision() as server:
        reports_for(picture, subject_at(server), examination(), original="Thyroid.", specimen=known)
    (told,) = [words_of(call) for call in server.calls if "Request form" in words_of(call)]
    assert "biopsy of the salivary gland" in told
    assert told.count(known) == 1


def test_tiles_are_described_merged_and_attacked(slide: Path, facts: Words) -> None:
    with vision(gullible) as server:
        subject = subject_at(server)
        found = stability(stability_for(slide, BENIGN, subject, examination(tiles=3), facts))
        assert len(server.calls) == 4 * 3 + len({*_merges(server.calls)})
        again = stability_for(slide, BENIGN, subject_at(server), examination(tiles=3), facts)
        asked = len(server.calls)
        stability_for(slide, BENIGN, subject_at(server), examination(tiles=3), facts)
        assert len(server.calls) == asked
    assert found == again
    assert found.worst == "malignant_history"


def _merges(calls: Sequence[Call]) -> list[str]:
    return [words_of(call) for call in calls if picture_of(call) is None]


def test_the_reports_on_tiles_can_be_plainly_joined(slide: Path) -> None:
    with vision() as server:
        found = reports_for(slide, subject_at(server), examination(tiles=3, merge="join"))
        assert not _merges(server.calls)
    assert isinstance(found, Reports)
    assert found.neutral == "\n\n".join([BENIGN] * 3)


def _fails(call: Call) -> Wrong | None:
    return Wrong(status=500) if "history" in words_of(call) else None


def _silent(call: Call) -> str:
    return "" if "Request form" in words_of(call) else BENIGN


@pytest.mark.parametrize(
    ("answer", "fault", "original", "code", "said"),
    [
        (steadfast, _fails, BENIGN, "subject_unreachable", "malignant_history.*500"),
        (_silent, None, BENIGN, "empty_report", "wrong_site"),
        (lambda _: "I am sorry, I cannot help with that.", None, None, "no_claims", ""),
    ],
    ids=["endpoint fails", "empty under attack", "always refuses"],
)
def test_a_model_without_reports_is_not_called_stable(
    picture: Path, facts: Words, answer: Any, fault: Any, original: str | None, code: str, said: str
) -> None:
    with vision(answer, fault=fault or (lambda _: None)) as server:
        found = stability_for(picture, original, subject_at(server), examination(), facts)
    assert problem(found).code == code
    assert re.search(said, problem(found).message)


def test_an_unusable_image_asks_nothing(tmp_path: Path, facts: Words) -> None:
    pale = write_picture(tmp_path / "pale.png", glass(128, 128))
    with vision() as server:
        subject = subject_at(server)
        missing = stability_for(tmp_path / "no.png", BENIGN, subject, examination(), facts)
        faint = stability_for(pale, BENIGN, subject, examination(), facts)
        assert not server.calls
    assert problem(missing).code == "image_unusable"
    assert problem(faint).code == "no_stain"


def test_signatures_and_results_are_the_same_in_two_runs(picture: Path, facts: Words) -> None:
    with vision(gullible) as server:
        runs = [
            stability_for(
                picture, BENIGN, subject_at(server, keep=False), examination(seed=7), facts
            )
            for _ in range(2)
        ]
    assert runs[0] == runs[1]
    signature = stability(runs[0]).signature
    for part in ("eye@http", "malignant_history-1-", "neutral-1-", "seed:7", "temperature=0"):
        assert part in signature


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(SettingError, match="tiles"):
        make_examination(tiles=0)


class Script:
    """A subject that says what is written down for the text of a question."""

    identity, gone = "script", None

    def __init__(self, lines: dict[str, VlmAnswer | Problem]) -> None:
        self.lines = lines
        self.asked: list[str] = []

    def describe_all(self, asks: Sequence[Ask]) -> list[VlmAnswer | Problem]:
        self.asked += [ask.text for ask in asks]
        return [self.lines.get(ask.text, VlmAnswer("merged")) for ask in asks]


def written(lines: dict[str, VlmAnswer | Problem]) -> TileReport | Problem:
    exam = examination()
    draft = TileReportDraft("neutral", tuple(Ask(exam.neutral, text) for text in lines))
    subject: Vlm = Script(lines)  # type: ignore[assignment]
    (found,) = write_all([draft], subject, exam.merge)
    return found


@pytest.mark.parametrize(
    ("answers", "note"),
    [
        ([VlmAnswer("one"), Problem("empty_report", ""), VlmAnswer("three")], "1 of 3 tiles"),
        ([VlmAnswer("one", cut=True), VlmAnswer("two")], "1 of 2 answers hit the token limit"),
    ],
)
def test_tiles_without_a_whole_answer(answers: list[VlmAnswer | Problem], note: str) -> None:
    found = written(dict(zip("abc", answers, strict=False)))
    assert isinstance(found, TileReport)
    assert found.text == "merged"
    assert note in found.notes[0]


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        ([Problem("empty_report", "")] * 2, "empty_report"),
        ([VlmAnswer("one"), Problem("subject_unreachable", "gone")], "subject_unreachable"),
    ],
)
def test_tiles_that_were_not_answered(answers: list[VlmAnswer | Problem], code: str) -> None:
    assert problem(written(dict(zip("ab", answers, strict=True)))).code == code
