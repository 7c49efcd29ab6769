"""What a text denies, doubts, tells of the past or only advises."""

from histoeval.terms.assertion import (
    affirmed_text,
    asserts_now,
    denies,
    has_cue,
    is_denied,
    stance_at,
)
from tests.support.tables import from_table


@from_table
def test_a_verdict_is_on_its_own_subject(text: str, thing: str, stance: bool | None) -> None:
    start = text.index(thing)
    assert stance_at(text, start, start + len(thing)) is stance
    assert is_denied(text, start, start + len(thing)) == (stance is False)


def test_a_sentence_may_deny_doubt_or_remember_something() -> None:
    assert denies("The capsule is uninvolved.")
    assert not denies("The capsule is breached by nodules.")
    assert has_cue("doubt", "Suspicious for lymphoma.")
    assert has_cue("past", "Known carcinoma of the breast.")
    assert not has_cue("past", "Carcinoma of the breast.")


def test_what_is_denied_is_left_out_of_what_is_affirmed() -> None:
    assert affirmed_text("Atypia without mitoses, and necrosis.").split() == [
        "Atypia", ",", "and", "necrosis.",
    ]  # fmt: skip
    assert "metastasis" not in affirmed_text("A cyst. No carcinoma or metastasis. Fat.")


@from_table
def test_the_past_and_advice_are_no_findings(sentence: str, now: bool) -> None:
    assert asserts_now(sentence) is now
