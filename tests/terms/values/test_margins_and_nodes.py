"""Margins and lymph nodes in words and in numbers."""

from __future__ import annotations

import pytest

from histoeval.terms.values.margins import margin_conflicts, read_margins
from histoeval.terms.values.nodes import node_conflicts, read_nodes


def margin_severity(reference: str, candidate: str) -> int:
    found = margin_conflicts(read_margins(reference), read_margins(candidate))
    return max((severity for _, _, severity in found), default=0)


def node_severity(reference: str, candidate: str) -> int:
    found = node_conflicts(read_nodes(reference), read_nodes(candidate))
    return max((severity for _, _, severity in found), default=0)


CLEAR = [
    "margins clear",
    "margins are free",
    "margins not involved",
    "deep margin negative",
    "completely excised",
    "R0",
    "no tumour at the margins",
    "6 mm from the nearest margin",
]
INVOLVED = [
    "margins involved",
    "deep margin positive",
    "incompletely excised",
    "R1 resection",
    "carcinoma extends to the deep margin",
    "margin not clear",
]


@pytest.mark.parametrize("text", CLEAR)
def test_a_margin_is_clear(text: str) -> None:
    assert ["clear" in each.options for each in read_margins(f"Skin: carcinoma, {text}.")] == [True]


@pytest.mark.parametrize("text", INVOLVED)
def test_a_margin_is_involved(text: str) -> None:
    assert ["involved" in each.options for each in read_margins(f"Skin: carcinoma; {text}.")] == [
        True
    ]


def test_a_margin_flip_could_harm_and_another_wording_does_not() -> None:
    assert margin_severity("Margins are clear.", "Margins are involved.") == 4
    assert margin_severity("Margins are clear.", "Fully excised.") == 0


@pytest.mark.parametrize(
    ("one", "other", "severity"),
    [
        ("The margin is close.", "The margin is close.", 0),
        ("The margin is clear.", "The margin is close.", 2),
        ("Close deep margin.", "Deep margin free of tumour.", 2),
        ("The margin is close.", "The margin is involved.", 3),
    ],
)
def test_a_close_margin_is_neither_clear_nor_involved(one: str, other: str, severity: int) -> None:
    assert margin_severity(one, other) == margin_severity(other, one) == severity


def test_margins_are_compared_by_their_names() -> None:
    reference = "Deep margin clear, peripheral margin involved."
    assert margin_severity(reference, "Peripheral margin involved, deep margin clear.") == 0
    assert margin_severity(reference, "Deep margin involved, peripheral margin clear.") == 4
    assert margin_severity(reference, "Deep and peripheral margins clear.") >= 3


def test_the_edge_of_a_tumour_is_no_margin() -> None:
    assert read_margins("Carcinoma with pushing margins.") == ()


@pytest.mark.parametrize(
    ("text", "part", "total"),
    [
        ("0/12 lymph nodes involved", 0, 12),
        ("Twelve nodes, all negative", 0, 12),
        ("Metastasis in three of 17 nodes", 3, 17),
        ("Of 24 lymph nodes, two contain carcinoma", 2, 24),
        ("Nodes: none of nine positive", 0, 9),
        ("Two sentinel nodes, one with metastasis", 1, 2),
        ("pT2 pN0 (0/21)", 0, 21),
    ],
)
def test_nodes_are_counted_in_figures_and_words(text: str, part: float, total: float) -> None:
    (found,) = read_nodes(text)
    assert (found.low, found.total) == (part, total)


@pytest.mark.parametrize(
    ("one", "other", "severity"),
    [
        ("Lymph nodes 0/12", "Lymph nodes 3/12", 4),
        ("All nodes free of tumour", "Nodal metastasis is present", 4),
        ("Nodes: 2 of 12 positive", "Nodes: 9 of 12 positive", 3),
        ("Nodes: 2 of 12 positive", "Nodes: 3 of 12 positive", 2),
        ("Twelve nodes, all negative", "0 of 12 nodes involved", 0),
        ("Right nodes 0/7; left nodes 1/9", "One of 16 nodes with metastasis", 0),
        ("Isolated tumour cells in one node of 3 nodes", "Three nodes, all negative", 0),
    ],
)
def test_a_node_flip_could_harm(one: str, other: str, severity: int) -> None:
    assert node_severity(one, other) == severity


@pytest.mark.parametrize(
    ("fewer", "severity"), [(0, 4), (1, 2), (2, 2), (3, 3), (4, 2), (8, 2), (9, 3), (10, 2)]
)
def test_a_node_more_is_major_where_a_class_begins(fewer: int, severity: int) -> None:
    """N1, N2 and N3 begin with 1, 4 and 10 nodes; a first node is a flip."""
    one, other = (f"Metastasis in {n} of 15 lymph nodes." for n in (fewer, fewer + 1))
    assert node_severity(one, other) == node_severity(other, one) == severity


def test_a_count_ends_with_its_word_and_none_of_the_nodes_is_no_count_of_what_follows() -> None:
    text = "None of eight lymph nodes is involved."
    (found,) = read_nodes(text)
    assert text[found.start : found.end] == "None of eight"
    (free,) = read_nodes("Of 22 nodes none has metastasis (mucin in two).")
    assert free.options == {"free"}


@pytest.mark.parametrize(
    ("reference", "candidate", "severity"),
    [
        ("Anterior margin is involved.", "Posterior margin is involved.", 3),
        ("Superior margin is involved.", "Inferior margin is involved.", 3),
        ("Anterior margin is involved.", "Medial margin is involved.", 0),
        ("Lateral margin is involved.", "Anterior margin is involved.", 0),
        ("Margins not assessed.", "Margins involved.", 3),
        ("Margins close.", "Margins clear.", 2),
    ],
)
def test_an_involved_margin_is_worst_for_a_clear_one(
    reference: str, candidate: str, severity: int
) -> None:
    assert margin_severity(reference, candidate) == severity
    assert margin_severity(candidate, reference) == severity


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Skin, the rest clear. Margins involved.", ["Margins involved"]),
        ("Deep margin involved, others clear.", ["Deep margin involved", "others clear"]),
        ("Margins were sent. The rest is negative.", []),
    ],
)
def test_the_rest_is_of_margins_only_behind_a_margin(text: str, said: list[str]) -> None:
    assert [text[each.start : each.end] for each in read_margins(text)] == said


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("Neither of 2 sentinel nodes is involved.", [(0, 2)]),
        ("None of 12 lymph nodes is involved.", [(0, 12)]),
        ("No of 3 nodes.", [(0, 3)]),
        ("A single of 4 nodes is involved.", [(1, 4)]),
        ("Lymph nodes: right; 2/7, left; 0/5", [(2, 7), (0, 5)]),
        ("Lymph nodes: right;2/7", [(2, 7)]),
        ("No tumour in 2 nodes; 3/9.", [(0, 2), (3, 9)]),
        ("Lymph nodes sampled. 2/7", []),
        ("Lymph nodes are free. Score 3/9.", [(0, None)]),
    ],
)
def test_so_many_nodes_of_all_are_involved(
    text: str, counted: list[tuple[float, float | None]]
) -> None:
    assert [(each.low, each.total) for each in read_nodes(text)] == counted


@pytest.mark.parametrize(
    ("reference", "candidate", "severity"),
    [
        ("1 of 12 lymph nodes involved.", "4 of 12 lymph nodes involved.", 3),
        ("1 of 12 lymph nodes involved.", "3 of 12 lymph nodes involved.", 2),
        ("3 of 12 lymph nodes involved.", "4 of 12 lymph nodes involved.", 3),
        ("4 of 12 lymph nodes involved.", "10 of 12 lymph nodes involved.", 3),
        ("4 of 12 lymph nodes involved.", "9 of 12 lymph nodes involved.", 2),
        ("1 of 12 nodes involved.", "1 of 14 nodes involved.", 1),
    ],
)
def test_another_number_of_nodes_matters_where_the_stage_changes(
    reference: str, candidate: str, severity: int
) -> None:
    assert node_severity(reference, candidate) == severity
    assert node_severity(candidate, reference) == severity
