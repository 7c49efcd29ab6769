"""Which value goes with which: checked against looking at every pair."""

from hypothesis import given
from hypothesis import strategies as st

from histoeval.concordance.grade_stage_size import paired

VALUES = st.lists(st.integers(0, 6), max_size=9)
TABLE = st.lists(st.sampled_from([None, 0.0, 0.25, 0.5, 1.0]), min_size=49, max_size=49)


def by_looking_at_every_pair(
    ones: list[int], others: list[int], table: list[float | None]
) -> list[tuple[int, int, float]]:
    found: list[tuple[int, int, float]] = []
    while True:
        free = [
            (-value, i, j)
            for i, one in enumerate(ones)
            for j, other in enumerate(others)
            if (value := table[7 * one + other]) is not None
            and i not in {i for i, _, _ in found}
            and j not in {j for _, j, _ in found}
        ]
        if not free:
            return sorted(found)
        value, i, j = min(free)
        found.append((i, j, -value))


@given(VALUES, VALUES, TABLE)
def test_the_most_alike_go_together_and_each_is_used_once(
    ones: list[int], others: list[int], table: list[float | None]
) -> None:
    found = paired(ones, others, lambda one, other: table[7 * one + other])
    assert found == by_looking_at_every_pair(ones, others, table)


def test_a_hundred_thousand_equal_values_are_compared_once() -> None:
    asked = 0

    def alike(one: str, other: str) -> float:
        nonlocal asked
        asked += 1
        return float(one == other)

    many = ["2 cm", "3 cm"] * 50_000
    assert paired(many, many, alike) == [(i, i, 1.0) for i in range(len(many))]
    assert asked == 4
