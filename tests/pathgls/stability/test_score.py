"""Equation (3), written anew from the paper, and what happens where a report is missing."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.errors import Problem
from histoeval.pathgls.results import Stability
from histoeval.pathgls.stability.score import equation_3, stability_of

share = st.floats(0, 1)


class Table:
    """Distances that a test has written down, for the second text."""

    identity = "table"

    def __init__(self, **far: float) -> None:
        self.far = far

    def between(self, first: str, second: str) -> float | Problem:
        if second == "mute" or first == "mute":
            return Problem("no_claims", "nothing is stated")
        return 0.0 if first == second else self.far[second]

    def changed(self, first: str, second: str) -> tuple[str, ...]:
        return () if first == second else (f"{first} became {second}",)


def stability(found: Stability | Problem) -> Stability:
    assert isinstance(found, Stability)
    return found


@given(share, share)
def test_equation_3_is_that_of_the_paper(visual: float, semantic: float) -> None:
    paper = 1 - 0.5 * (abs(visual) + abs(semantic))
    assert equation_3(visual, semantic) == pytest.approx(paper, abs=1e-6)
    assert 0 <= equation_3(visual, semantic) <= 1


@given(st.lists(share, min_size=1, max_size=4), st.lists(share, min_size=1, max_size=4))
def test_attacks_of_a_kind_count_by_their_mean(visual: list[float], semantic: list[float]) -> None:
    far = {f"v{n}": d for n, d in enumerate(visual)} | {f"s{n}": d for n, d in enumerate(semantic)}
    found = stability(
        stability_of(
            "report",
            [(f"stain_{n}", f"v{n}") for n in range(len(visual))],
            [(f"attack_{n}", f"s{n}") for n in range(len(semantic))],
            Table(**far),
        )
    )
    paper = 1 - 0.5 * (sum(visual) / len(visual) + sum(semantic) / len(semantic))
    assert found.value == pytest.approx(paper, abs=1e-6)
    assert len(found.shifts) == len(far)
    furthest = max(far.values())
    assert found.worst == "none" if furthest == 0 else found.worst != "none"


def test_the_attack_that_moved_the_report_most_is_named_with_what_moved() -> None:
    found = stability(
        stability_of(
            "report",
            [("stain", "a")],
            [("benign_history", "b"), ("wrong_site", "c")],
            Table(a=0.1, b=0.7, c=0.2),
        )
    )
    assert found.worst == "benign_history"
    assert [shift.kind for shift in found.shifts] == ["visual", "semantic", "semantic"]
    assert found.shifts[1].changed == ("report became b",)
    assert found.shifts[1].report == "b"


def test_a_mean_does_not_hide_what_the_worst_attack_alone_comes_to() -> None:
    attacks = [(f"attack_{n}", text) for n, text in enumerate("abbb")]
    table = Table(a=1.0, b=0.0)
    found = stability(stability_of("report", [("stain", "b")], attacks, table, notes=["first"]))
    assert found.value == pytest.approx(0.875)
    assert found.notes[0] == "first"
    assert "the worst attack of each kind alone, stability would be 0.500" in found.notes[1]


@pytest.mark.parametrize(
    ("original", "augmented", "attacked", "code"),
    [
        (" ", [("stain", "a")], [("wrong_site", "a")], "empty_report: the original"),
        ("report", [("stain", "\n")], [("wrong_site", "a")], "empty_report: .*'stain'"),
        ("report", [("stain", "a")], [("wrong_site", "")], "empty_report: .*'wrong_site'"),
        ("report", [], [("wrong_site", "a")], "no_augmented_report"),
        ("report", [("stain", "a")], [], "no_attacked_report"),
        ("mute", [("stain", "mute")], [("wrong_site", "mute")], "no_claims"),
        ("report", [("stain", "mute")], [("wrong_site", "a")], "no_claims"),
    ],
)
def test_what_is_missing_leaves_stability_missing(
    original: str, augmented: list[tuple[str, str]], attacked: list[tuple[str, str]], code: str
) -> None:
    found = stability_of(original, augmented, attacked, Table(a=0.5))
    assert isinstance(found, Problem)
    assert re.match(code, f"{found.code}: {found.message}")


def test_the_signature_names_the_distance_the_attacks_and_how_reports_were_made() -> None:
    found = stability(
        stability_of(
            "report",
            [("stain", "a")],
            [("wrong_site", "a")],
            Table(a=0.5),
            pins={"subject": "eye@here"},
        )
    )
    for part in ("stability|", "distance:table", "attacks:stain+wrong_site", "subject:eye@here"):
        assert part in found.signature
