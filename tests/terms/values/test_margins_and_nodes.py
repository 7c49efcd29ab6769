"""Margins and lymph nodes in words and in numbers."""

from histoeval.terms.values.margins import margin_conflicts, read_margins
from histoeval.terms.values.nodes import node_conflicts, read_nodes
from tests.support.tables import from_table


def margin_severity(reference: str, candidate: str) -> int:
    found = margin_conflicts(read_margins(reference), read_margins(candidate))
    return max((severity for _, _, severity in found), default=0)


def node_severity(reference: str, candidate: str) -> int:
    found = node_conflicts(read_nodes(reference), read_nodes(candidate))
    return max((severity for _, _, severity in found), default=0)


@from_table
def test_a_margin_is_clear_or_involved(text: str, option: str) -> None:
    assert [option in each.options for each in read_margins(text)] == [True]


def test_a_margin_flip_could_harm_and_another_wording_does_not() -> None:
    assert margin_severity("Margins are clear.", "Margins are involved.") == 4
    assert margin_severity("Margins are clear.", "Fully excised.") == 0


@from_table
def test_a_close_margin_is_neither_clear_nor_involved(one: str, other: str, severity: int) -> None:
    assert margin_severity(one, other) == margin_severity(other, one) == severity


def test_margins_are_compared_by_their_names() -> None:
    reference = "Deep margin clear, peripheral margin involved."
    assert margin_severity(reference, "Peripheral margin involved, deep margin clear.") == 0
    assert margin_severity(reference, "Deep margin involved, peripheral margin clear.") == 4
    assert margin_severity(reference, "Deep and peripheral margins clear.") >= 3


def test_the_edge_of_a_tumour_is_no_margin() -> None:
    assert read_margins("Carcinoma with pushing margins.") == ()


@from_table
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


@from_table
def test_the_rest_is_of_margins_only_behind_a_margin(text: str, said: list[str]) -> None:
    assert [text[each.start : each.end] for each in read_margins(text)] == said


@from_table
def test_so_many_nodes_of_all_are_involved(
    text: str, counted: list[tuple[float, float | None]]
) -> None:
    assert [(each.low, each.total) for each in read_nodes(text)] == counted


@from_table
def test_another_number_of_nodes_matters_where_the_stage_changes(
    reference: str, candidate: str, severity: int
) -> None:
    assert node_severity(reference, candidate) == severity
    assert node_severity(candidate, reference) == severity
