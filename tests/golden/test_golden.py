"""The guard itself: it sees what moves, and keeps no text that is not ours."""

import re
from pathlib import Path

import pytest

from histoeval.terms.values.tumour_grades import read_tumour_grades
from tests.golden import golden, readers, sources
from tests.golden.golden import FOLDER, Entry

Capture = pytest.CaptureFixture[str]
CASE = sources.Case("reports:7", ("Carcinoma of the colon, grade 2.",))


def entry(case: sources.Case = CASE, instead: str = "") -> Entry:
    """What the reader of grades says of a case, or of another text in its place."""
    read_case = case._replace(texts=(instead,)) if instead else case
    (values,) = readers.ask({"grades": read_tumour_grades}, [read_case])
    return Entry("readings", case, values)


@pytest.mark.parametrize(("instead", "code"), [("", 0), ("Carcinoma of the colon, grade 3.", 1)])
def test_what_moved_is_shown_with_its_text_and_both_values(
    instead: str, code: int, tmp_path: Path, capsys: Capture
) -> None:
    golden.write([entry()], tmp_path)
    assert golden.main([], [entry(instead=instead)], tmp_path) == code
    printed = capsys.readouterr().out
    assert re.search(rf"readings +grades +{1 - code} +{code}", printed)
    assert (CASE.texts[0] in printed) == bool(code)
    assert ('  - ["tumour grade"' in printed) == bool(code)


def test_a_text_of_others_moves_too_and_is_kept_as_a_digest(
    tmp_path: Path, capsys: Capture
) -> None:
    theirs = CASE._replace(shown=False)
    golden.write([entry(theirs)], tmp_path)
    head, rows = golden.read(tmp_path / "readings.jsonl.gz")
    assert head["readers"] == ["grades"]
    assert "tumour grade" not in str(rows)
    assert golden.main([], [entry(theirs)], tmp_path) == 0
    assert golden.main([], [entry(theirs, "No grade.")], tmp_path) == 1


def test_of_a_blind_set_only_the_number_is_told(tmp_path: Path, capsys: Capture) -> None:
    blind = CASE._replace(shown=False, counted=True)
    golden.write([entry(blind)], tmp_path)
    assert golden.main([], [entry(blind, "No grade.")], tmp_path) == 1
    assert "colon" not in capsys.readouterr().out


def test_a_reader_that_is_no_longer_asked_is_noticed(tmp_path: Path) -> None:
    golden.write([entry()], tmp_path)
    assert golden.main([], [entry()._replace(values={})], tmp_path) == 1


def test_what_is_committed_has_every_reader_and_only_texts_of_this_repository() -> None:
    for name, section in golden.SECTIONS.items():
        head, rows = golden.read(FOLDER / f"{name}.jsonl.gz")
        ours = {case.key for case in section.cases() if case.shown}
        assert {key for key, row in rows.items() if row["shown"]} <= ours
        hidden = [row for row in rows.values() if not row["shown"]]
        digests = [value for row in hidden for value in row["values"].values()]
        assert all(re.fullmatch(r"[0-9a-f]{8}", value) for value in digests)
        table = {"readings": readers.READERS, "features": readers.PAIR_READERS}.get(name)
        assert table is None or head["readers"] == sorted(table)
