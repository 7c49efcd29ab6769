"""One score explained in the terminal: with colours, and readable without."""

import re
from collections.abc import Sequence
from io import StringIO
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from rich.style import Style

from histoeval import Assertion, Entity, EntityType, HistoEvalError, Pair, Score, Signature
from histoeval.concordance.evidence import (
    ComparedPart,
    EntityMatch,
    ErrorKind,
    ReportError,
    Severity,
    evidence_of,
)
from histoeval.console import Console
from histoeval.metric import Explanation, PartCost
from histoeval.view.findings import MATCH, SEVERITIES
from histoeval.view.terminal.explanation import page, show_explanation

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")

REFERENCE = "Right breast: invasive ductal carcinoma, grade 2.\nNo vascular invasion. 14 mm."
CANDIDATE = "Left breast: infiltrating ductal carcinoma, grade 3. Vascular invasion. Necrosis."


def entity(text: str, phrase: str, kind: EntityType, **more: Any) -> Entity:
    start = text.index(phrase)
    return Entity(text=phrase, start=start, end=start + len(phrase), type=kind, **more)


SITE, FINDING = EntityType.SITE, EntityType.FINDING
DIAGNOSIS = EntityMatch(
    "diagnosis",
    entity(REFERENCE, "invasive ductal carcinoma", EntityType.DIAGNOSIS),
    entity(CANDIDATE, "infiltrating ductal carcinoma", EntityType.DIAGNOSIS),
    0.973,
)
BREAST = EntityMatch(
    "site", entity(REFERENCE, "breast", SITE), entity(CANDIDATE, "breast", SITE), 1.0
)
SIZE = entity(REFERENCE, "14 mm", EntityType.MEASUREMENT)
NECROSIS = entity(CANDIDATE, "Necrosis", FINDING)
DENIED = entity(REFERENCE, "vascular invasion", FINDING, assertion=Assertion.ABSENT)
SEEN = entity(CANDIDATE, "Vascular invasion", FINDING)
SIDES = entity(REFERENCE, "Right breast", SITE), entity(CANDIDATE, "Left breast", SITE)
ERRORS = (
    ReportError(ErrorKind.OMISSION, "measurements", Severity.MINOR, SIZE, None),
    ReportError(ErrorKind.INVENTION, "findings", Severity.MODERATE, None, NECROSIS),
    ReportError(ErrorKind.CONTRADICTION, "findings", Severity.MAJOR, DENIED, SEEN),
    ReportError(ErrorKind.WRONG_LATERALITY, "laterality", Severity.CRITICAL, *SIDES),
)
EVIDENCE = evidence_of([ComparedPart(0.5, (DIAGNOSIS, BREAST), ERRORS)])
PARTS = {"expert_scale": 3.104, "diagnosis": 1.0, "no_inventions": 0.5, "laterality": 0.0}


def score_of(evidence: dict[str, Any], parts: dict[str, float] | None = None) -> Score:
    return Score(
        value=0.6208,
        parts=PARTS if parts is None else parts,
        evidence=evidence,
        signature=Signature(metric="concordance"),
    )


def shown(score: Score, *, width: int = 100, colours: Any = None, **changes: str) -> str:
    out, pair = StringIO(), Pair(id="case 1", reference=REFERENCE, candidate=CANDIDATE)
    console = Console(
        file=out, force_terminal=colours is not None, color_system=colours, width=width
    )
    show_explanation(console, pair.model_copy(update=changes), score, (0.0, 1.0))
    return out.getvalue()


def flat(text: str) -> str:
    """The words on one line, since a table may have folded them."""
    return " ".join(text.split())


def test_the_first_line_has_the_value_and_the_expert_scale() -> None:
    first = shown(score_of(EVIDENCE), system="model b").splitlines()[0]
    assert first == (
        "case 1 (model b): concordance 0.621 (0 to 1), 3.1 on the expert scale (0 to 5)"
    )
    assert shown(score_of({}, {})).splitlines()[0] == "case 1: concordance 0.621 (0 to 1)"


def test_each_part_has_a_number_and_a_bar_as_long_as_it() -> None:
    lines = shown(score_of(EVIDENCE)).splitlines()
    bars = {
        name: line.count("━")
        for line in lines
        for name in ("diagnosis", "no inventions", "laterality")
        if re.match(rf"{name}\s+\d\.\d\d", line)
    }
    assert bars["laterality"] == 0
    assert bars["diagnosis"] == 2 * bars["no inventions"] > 0
    assert not any(line.startswith("expert") for line in lines[1:])


def test_what_parts_and_errors_cost_is_shown_with_the_sum() -> None:
    parts = {"diagnosis": 1.0, "laterality": 0.0, "no_inventions": 0.5}
    errors = [{**error, "without": 0.75} for error in EVIDENCE["errors"]]
    costs = (
        PartCost(part="laterality", value=0.0, weight=0.125, cost=0.3),
        PartCost(part="no_inventions", value=0.5, weight=0.09, cost=0.0792),
    )
    plain = score_of({**EVIDENCE, "errors": errors}, parts)
    score = Explanation(**dict(plain), breakdown=costs)
    for width in (80, 100):
        seen = shown(score, width=width)
        assert max(map(len, seen.splitlines())) <= width
        seen = flat(seen)
        assert "laterality 0.00 0.12 0.300" in seen
        assert "The costs add up: 1.000 - 0.379 = 0.621" in seen
        assert seen.count("without this error: 0.750 (+0.129)") == len(errors)


IN_BRACKETS = (
    "[Right [breast](=2)](!!!!1): [invasive ductal carcinoma](=1), grade 2. "
    "No [vascular invasion](!!!2). [14 mm](!4)."
)
IN_COLOUR = "Right breast(=2)(!!!!1): invasive ductal carcinoma(=1), grade 2."
MEANING = "(=n) is match n below; (!n), (!!n), (!!!n), (!!!!n) is error n below: minor,"


@pytest.mark.parametrize(
    ("evidence", "parts", "colours", "said"),
    [
        (EVIDENCE, PARTS, None, [IN_BRACKETS, "[Necrosis](!!3)", MEANING]),
        (EVIDENCE, PARTS, "truecolor", [IN_COLOUR]),
        (EVIDENCE, PARTS, "standard", [IN_BRACKETS]),
        ({}, {"precision_1": 42.86, "shift": -0.5}, None, ["precision 1 42.86", "shift -0.50"]),
        ({}, PARTS, None, ["concordance gives no matches or errors to highlight"]),
        ({"relations": {"shared": []}}, PARTS, None, ["--json prints all of its evidence"]),
        ({"matches": []}, PARTS, None, ["concordance does not look for errors."]),
        ({"errors": []}, PARTS, None, ["concordance does not list matches."]),
        ({"matches": [], "errors": []}, PARTS, None, ["No errors.", "Nothing matches."]),
    ],
)
def test_what_is_found_is_marked_and_what_a_metric_does_not_tell_is_said(
    evidence: dict[str, Any], parts: dict[str, float], colours: str | None, said: list[str]
) -> None:
    seen = shown(score_of(evidence, parts), colours=colours)
    plain = flat(ESCAPES.sub("", seen))
    assert all(words in plain for words in said), plain
    assert ("\x1b" in seen) == (colours is not None)
    assert flat(REFERENCE) in plain or evidence is EVIDENCE
    assert ("━" in seen) == (parts is PARTS)


def test_a_stretch_with_a_match_and_an_error_has_both_numbers_and_the_worse_style() -> None:
    grade = ReportError(
        ErrorKind.WRONG_GRADE, "grade", Severity.MAJOR, DIAGNOSIS.reference, DIAGNOSIS.candidate
    )
    score = score_of(evidence_of([ComparedPart(1.0, (DIAGNOSIS,), (grade,))]))
    assert "[invasive ductal carcinoma](=1 !!!1)" in shown(score)
    ground = SEVERITIES[Severity.MAJOR].render("invasive ductal carcinoma(=1 !!!1)")
    assert ground.split("invasive")[0] + "invasive" in shown(score, colours="truecolor")


def test_texts_stand_side_by_side_where_there_is_room() -> None:
    def abreast(width: int) -> bool:
        lines = shown(score_of(EVIDENCE), width=width).splitlines()
        return any("[Right" in line and "[Left" in line for line in lines)

    assert abreast(160)
    assert not abreast(100)
    assert not abreast(60)


def test_errors_come_worst_first_with_severity_kind_words_and_places() -> None:
    shuffled = {**EVIDENCE, "errors": EVIDENCE["errors"][::-1]}
    seen = shown(score_of(shuffled))
    listed = flat(seen[seen.index("Errors, most severe first") : seen.index("Matches (")])
    expected = [
        "1 !!!! critical wrong laterality 'Left breast' for 'Right breast' "
        "reference 0:12, candidate 0:11",
        "2 !!! major contradiction 'Vascular invasion' for 'vascular invasion' (absent) "
        "reference 53:70, candidate 53:70",
        "3 !! moderate invention 'Necrosis' is not in the reference candidate 72:80",
        "4 ! minor omission '14 mm' is not in the candidate reference 72:77",
    ]
    assert listed.endswith(" ".join(expected))


def test_matches_are_listed_with_part_similarity_and_assertion() -> None:
    denied = EntityMatch("findings", ERRORS[2].reference or BREAST.reference, BREAST.candidate, 0.5)
    seen = flat(shown(score_of(evidence_of([ComparedPart(1.0, (DIAGNOSIS, denied))]))))
    assert "1 diagnosis invasive ductal carcinoma infiltrating ductal carcinoma 0.97" in seen
    assert "2 findings ¬vascular invasion breast 0.50" in seen


def test_evidence_of_another_form_is_refused_in_plain_words() -> None:
    with pytest.raises(HistoEvalError, match="form of its own"):
        shown(score_of({"matches": 3}))


def test_an_entity_that_does_not_stand_in_the_text_is_listed_and_not_marked() -> None:
    seen = shown(
        score_of(evidence_of([ComparedPart(1.0, (BREAST,))])), reference="Other words, longer"
    )
    assert "Other words, longer" in seen
    assert "1  site  breast" in seen


def test_nothing_in_a_report_can_command_the_terminal() -> None:
    text = "carci\x1b[2Jnoma\x9b31m \x07\r\nend"
    bad = Entity(text=text[:17], start=0, end=17, type=EntityType.DIAGNOSIS)
    found = ComparedPart(
        0.0,
        (EntityMatch("a\x1bb", bad, bad, 1.0),),
        (ReportError(ErrorKind.OMISSION, "p", Severity.MINOR, bad, None),),
    )
    for colours in (None, "truecolor"):
        seen = shown(
            score_of(evidence_of([found]), {"p\x1b": 1.0}),
            colours=colours,
            reference=text,
            candidate=text,
            id="\x1b]0;id",
            system="s\x07",
        )
        assert set(ESCAPES.sub("", seen)) & {"\x1b", "\x9b", "\x07", "\r"} == set()
        assert "␛[2J" in seen


def test_text_that_looks_like_markup_stays_as_it_is() -> None:
    seen = shown(score_of(EVIDENCE), reference="[red]x[/red] :smiley: [/]", id="[b]i[/b]")
    assert "[red]x[/red] :smiley: [/]" in seen
    assert "[b]i[/b]" in seen


def test_without_a_terminal_the_page_is_100_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("sys.stdout", StringIO())
    assert (page().width, page().color_system) == (100, None)


NORMAL = np.eye(3)
DEUTERANOPIA = np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]])
PROTANOPIA = np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]])
TRITANOPIA = np.array([[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]])
"""How those see who lack one kind of cone (Machado, Oliveira and Fernandes 2009, severity 1)."""


def linear(style: Style) -> np.ndarray[Any, np.dtype[np.float64]]:
    assert style.bgcolor is not None
    values = np.array(style.bgcolor.get_truecolor()) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def light(style: Style) -> float:
    return float(linear(style) @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("eyes", [NORMAL, DEUTERANOPIA, PROTANOPIA, TRITANOPIA])
def test_no_two_colours_look_alike_to_any_eyes(eyes: np.ndarray[Any, Any]) -> None:
    styles: Sequence[Style] = [MATCH, *SEVERITIES.values()]
    seen = [np.clip(eyes @ linear(style), 0, 1) ** (1 / 2.2) for style in styles]
    assert min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2)) > 0.15


def test_the_worse_an_error_the_darker_it_is() -> None:
    lights = [light(SEVERITIES[severity]) for severity in sorted(Severity)]
    assert lights == sorted(lights, reverse=True)
