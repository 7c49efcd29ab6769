import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.terms.findings import (
    find_findings,
    finding_closeness,
    finding_of,
    findings,
)
from histoeval.terms.matching import is_cased
from histoeval.terms.plain import plain
from tests.support.tables import from_table


def said(phrase: str) -> list[str]:
    return [("!" if found.denied else "") + found.id for found in find_findings(phrase)]


@from_table
def test_a_phrase_is_about_the_finding_that_it_names(phrase: str, expected: str) -> None:
    found = finding_of(phrase)
    assert found is not None
    assert (found.id, found.denied) == (expected.removeprefix("!"), expected.startswith("!"))


def test_every_wording_finds_its_own_finding_over_its_whole_length() -> None:
    for finding in findings().values():
        for denied, wordings in ((False, finding.names), (True, finding.denials)):
            for wording in wordings:
                (found,) = find_findings(wording)
                assert (found.id, found.denied) == (finding.id, denied), wording
                assert (found.start, found.end) == (0, len(wording)), wording


def test_no_wording_belongs_to_two_findings() -> None:
    owners: dict[str, str] = {}
    for finding in findings().values():
        for wording in (*finding.names, *finding.denials, *finding.alone):
            key = wording if is_cased(wording) else plain(wording)
            assert owners.setdefault(key, finding.id) == finding.id, wording


def test_the_catalogue_is_wide_and_its_values_are_known() -> None:
    known = findings().values()
    assert len(known) >= 350
    assert sum(len(f.names) - 1 for f in known) >= 3 * len(known)
    assert {f.importance for f in known} == {1, 2, 3}
    assert {f.suggests for f in known} <= {"malignant", "benign", "inflammatory", "normal", "none"}
    assert all(f.parent is None or f.parent in findings() for f in known)


@from_table
def test_a_phrase_can_name_several_findings(phrase: str, expected: list[str]) -> None:
    assert said(phrase) == expected


def test_the_most_important_finding_is_what_a_phrase_is_about() -> None:
    found = finding_of("dense chronic inflammation, oedema and LVI")
    assert found is not None
    assert found.id == "lymphovascular_invasion"


@pytest.mark.parametrize("phrase", ["", "  ", "the", "left breast", "CK7", "3.5 cm", "12/14", "—"])
def test_what_names_no_finding_gives_none(phrase: str) -> None:
    assert find_findings(phrase) == ()
    assert finding_of(phrase) is None


def test_a_word_that_means_a_finding_only_alone_means_nothing_in_company() -> None:
    assert "solid_architecture" not in said("solid evidence")


def test_a_kind_is_close_to_what_it_is_a_kind_of_and_far_from_strangers() -> None:
    near = finding_closeness("venous_invasion", "vascular_invasion")
    far = finding_closeness("venous_invasion", "invasion")
    assert 1 > near > far > 0.4
    assert finding_closeness("venous_invasion", "lymphatic_invasion") > 0
    assert finding_closeness("venous_invasion", "steatosis") == 0
    with pytest.raises(KeyError):
        finding_closeness("venous_invasion", "nonsense")


IDS = st.sampled_from(sorted(findings()))


@given(IDS, IDS)
def test_closeness_is_symmetric_between_0_and_1_and_1_only_for_the_same(a: str, b: str) -> None:
    assert finding_closeness(a, b) == finding_closeness(b, a)
    assert 0 <= finding_closeness(a, b) <= 1
    assert (finding_closeness(a, b) == 1) == (a == b)


def test_findings_that_matter_most_include_what_changes_stage() -> None:
    for id_ in ("lymphovascular_invasion", "nodal_metastasis", "margin_involvement", "ulceration"):
        assert findings()[id_].importance == 3
    for id_ in ("fibrosis", "edema", "hemorrhage"):
        assert findings()[id_].importance == 1


WORDS = st.sampled_from(
    "no not margins invasion of , ; . clear free and or perineural necrosis is is/are 3 the "
    "nuclei glands atypical loss normal architecture vascular / negative for Ä".split()
)


@given(st.text() | st.lists(WORDS).map(" ".join))
def test_any_text_gives_ordered_spans_inside_it(text: str) -> None:
    found = find_findings(text)
    assert [f.start for f in found] == sorted(f.start for f in found)
    for each in found:
        assert 0 <= each.start < each.end <= len(text)
        assert each.id in findings()
    assert find_findings(text) == found


def test_a_long_text_takes_no_longer_than_its_length() -> None:
    text = (
        "no evidence of lymphovascular invasion; margins are clear and nuclei pleomorphic. " * 100
    )
    started = time.process_time()
    assert len(find_findings(text)) == 300
    assert time.process_time() - started < 2
