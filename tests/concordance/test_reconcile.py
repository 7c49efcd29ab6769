"""Two readings, each in the light of the other."""

from histoeval.concordance.reconcile import reconciled
from histoeval.report import Report
from tests.support.report_builder import report
from tests.support.tables import from_table


def read(report: Report) -> list[tuple[str, str, str]]:
    return [(e.text, str(e.type), str(e.assertion)) for e in report.entities]


def test_what_was_read_in_one_report_and_stands_in_the_other_is_read_there_too() -> None:
    true, said = reconciled(
        report("{diagnosis:Adenoma} with {finding:crypt distortion}."),
        report("There is crypt distortion. {diagnosis:Adenoma}."),
    )
    assert read(true) == [
        ("Adenoma", "diagnosis", "present"),
        ("crypt distortion", "finding", "present"),
    ]
    assert sorted(read(said)) == sorted(read(true))


def test_readings_that_agree_stay_the_very_same() -> None:
    one = report("{diagnosis:Adenoma}, no {finding:-necrosis}.")
    other = report("No {finding:-necrosis}. {diagnosis:Adenoma}.")
    assert reconciled(one, other) == (one, other)


def test_what_the_other_does_not_say_is_not_added() -> None:
    one, other = report("{finding:Necrosis} is seen."), report("{diagnosis:Adenoma}.")
    assert reconciled(one, other) == (one, other)


def test_the_same_words_are_the_same_thing_as_in_the_reference() -> None:
    _, said = reconciled(
        report("{diagnosis:Granulomatous lymphadenitis}."),
        report("{finding:Granulomatous lymphadenitis}."),
    )
    assert read(said) == [("Granulomatous lymphadenitis", "diagnosis", "present")]


@from_table
def test_the_words_around_say_whether_it_is_denied(true: str, said: str, assertion: str) -> None:
    _, other = reconciled(report(true), report(said))
    assert [str(each.assertion) for each in other.entities] == [assertion]


def test_the_same_sentence_is_read_alike_in_both_reports() -> None:
    true, said = reconciled(
        report("{finding:-Upper margin} shows colitis. Pale."),
        report("Pale. {finding:Upper margin} shows colitis."),
    )
    assert read(said) == read(true) == [("Upper margin", "finding", "absent")]
