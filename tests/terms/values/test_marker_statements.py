"""Markers of whole texts with the results that their words give them."""

from __future__ import annotations

import pytest

from histoeval.evaluate.probes import pairs_of, read_probes
from histoeval.terms.marker_wordings import _WORDINGS
from histoeval.terms.values.marker_statements.decisive import LIGHT_CHAIN, MISMATCH, marker_severity
from histoeval.terms.values.marker_statements.read import read_marker_statements
from histoeval.terms.values.stated import conflicts


def results(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for each in read_marker_statements(text):
        found.setdefault(each.axis, set()).update(each.options)
    return found


def worst(reference: str, candidate: str) -> int:
    both = read_marker_statements(reference), read_marker_statements(candidate)
    return max((severity for _, _, severity in conflicts(*both, marker_severity)), default=0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ER and PR positive, HER2 1+", {"estrogen receptor": "positive", "HER2": "negative"}),
        ("positive for CK7 and negative for CK20", {"cytokeratin 20": "negative"}),
        ("loss of PMS2, preserved MSH6", {"PMS2": "negative", "MSH6": "positive"}),
        ("Positive: CD20. Negative: CD5, CD23.", {"CD20": "positive", "CD23": "negative"}),
        ("CD10+/CD5- cells", {"CD5": "negative"}),
        ("HER2 equivocal (2+); FISH shows amplification", {"HER2": "equivocal"}),
        ("HER2 by FISH, ratio 1.1; not amplified", {"HER2": "negative"}),
        ("BRAF V600E mutation", {"BRAF": "positive"}),
        ("no KRAS or NRAS mutation", {"KRAS": "negative", "NRAS": "negative"}),
        ("glioma, IDH wild-type", {"IDH": "negative"}),
        ("SOX10 is expressed, desmin not", {"SOX10": "positive", "desmin": "negative"}),
        ("gastritis with H. pylori", {"Helicobacter pylori": "positive"}),
        ("no Helicobacter seen", {"Helicobacter pylori": "negative"}),
        ("Many Helicobacter pylori organisms on Giemsa", {"Helicobacter pylori": "positive"}),
        ("No fungal spores are found with PAS", {"fungi": "negative", "PAS": "negative"}),
        ("No bacteria or fungi were detected", {"fungi": "negative"}),
        ("No linear staining for C4d", {"C4d": "negative"}),
        ("No nuclear reactivity with TTF-1", {"TTF-1": "negative"}),
        ("no loss of expression of MLH1", {"MLH1": "positive"}),
        ("Neither CD5 nor cyclin D1 is expressed", {"CD5": "negative", "cyclin D1": "negative"}),
        ("The capillaries are unstained for C4d", {"C4d": "negative"}),
        ("The tumour keeps ATRX", {"ATRX": "positive"}),
        ("no acid-fast bacilli on Ziehl-Neelsen", {"acid-fast bacilli": "negative"}),
        ("Grocott and CMV stains are unreactive", {"CMV": "negative"}),
        ("p53 is not aberrant", {"p53": "negative"}),
    ],
)
def test_a_result_is_read_where_it_stands(text: str, expected: dict[str, str]) -> None:
    found = results(text)
    for marker, polarity in expected.items():
        assert polarity in found[marker]


@pytest.mark.parametrize(
    "text", ["MSH2 and MSH6 lost", "dMMR", "mismatch repair deficient", "MSI-H tumour"]
)
def test_mismatch_repair_is_one_status_however_it_is_said(text: str) -> None:
    assert results(text)[MISMATCH] == {"deficient"}


def test_the_light_chain_is_the_one_that_is_restricted() -> None:
    assert results("plasma cells are kappa restricted")[LIGHT_CHAIN] == {"kappa"}
    assert results("lambda restricted on kappa and lambda staining")[LIGHT_CHAIN] == {"lambda"}
    assert results("polytypic plasma cells, kappa and lambda")[LIGHT_CHAIN] == {"polytypic"}


@pytest.mark.parametrize(
    ("one", "other", "severity"),
    [
        ("HER2 0", "HER2 3+", 4),
        ("HER2 2+", "HER2 3+", 3),
        ("EGFR exon 19 deletion", "EGFR wild type", 4),
        ("EGFR exon 19 deletion", "EGFR exon 20 insertion", 4),
        ("MMR proteins retained", "loss of MLH1 and PMS2", 4),
        ("CD10 positive", "CD10 negative", 3),
        ("kappa restricted", "lambda restricted", 3),
        ("kappa restricted", "polytypic for kappa and lambda", 4),
        ("PD-L1 TPS 60%", "PD-L1 TPS 0%", 4),
        ("PD-L1 TPS 60%", "PD-L1 TPS 70%", 1),
        ("ALK positive", "ALK rearrangement detected", 0),
        ("ER positive (90%)", "oestrogen receptor strongly expressed", 0),
        ("KIT exon 11 deletion", "deletion in KIT exon 11", 0),
        ("MDM2 not amplified", "without MDM2 amplification", 0),
    ],
)
def test_a_flip_is_as_severe_as_what_it_decides(one: str, other: str, severity: int) -> None:
    assert worst(one, other) == severity


@pytest.mark.parametrize(
    "text",
    [
        "MLH1 promoter methylation testing is advised",
        "HER2 amplification by FISH is pending.",
        "EGFR mutation testing is recommended.",
        "ALK rearrangement studies are awaited.",
        "PD-L1 expression to follow.",
        "KRAS mutation analysis was requested.",
    ],
)
def test_what_is_only_advised_or_awaited_has_no_result(text: str) -> None:
    assert results(text) == {}


@pytest.mark.parametrize(
    ("text", "axis", "result"),
    [
        ("The cells do not express p16.", "p16", "negative"),
        ("They lack CD45, CD3 and ALK.", "CD3", "negative"),
        ("Amplification of MDM2 was not shown.", "MDM2", "negative"),
        ("No mismatch repair protein is lost.", MISMATCH, "proficient"),
        ("Fungi (PAS, GMS): negative", "fungi", "negative"),
        ("PAS and ZN show nothing", "PAS", "negative"),
        ("CDKN2A (p16) FISH: deleted", "CDKN2A deletion", "positive"),
        ("1p19q co-deletion is there", "1p/19q codeletion", "positive"),
        ("neither EGFR mutation nor CDKN2A deletion was detected", "CDKN2A deletion", "negative"),
        ("CD34- and CD10+", "CD34", "negative"),
        ("normal p53 staining", "p53", "negative"),
    ],
)
def test_a_result_in_other_words_is_the_same_result(text: str, axis: str, result: str) -> None:
    assert results(text)[axis] == {result}


def test_a_result_in_other_words_stands_where_it_was_written() -> None:
    text = "Pale. The cells do not express p16 at all."
    (found,) = read_marker_statements(text)
    assert "p16" in text[found.start : found.end]


def test_no_wording_matches_a_text_that_lacks_what_it_is_searched_for() -> None:
    texts = [each for pair in pairs_of(read_probes()) for each in (pair.reference, pair.candidate)]
    texts += [
        "The cells do not express p16; unstained for CD3. Neither CD3 nor CD20 is expressed.",
        "No staining for CD20. The tumour keeps MLH1 and lacks PMS2. No MMR protein is lost.",
        "No fungi are seen. Fungi (PAS): none. No loss of MMR. PAS shows nothing. p53 - .",
        "Amplification of MDM2 was not shown, nor EWSR1 rearrangement was seen. Normal p53 pattern",
        "mutant p53; CDKN2A: homozygous deletion; 1p/19q codeletion; CD5- and CD10 positive",
        "ER-/dim",
    ]
    found = set()
    for text in dict.fromkeys(texts):
        small = text.casefold()
        for at, (pattern, _, cased, any_of) in enumerate(_WORDINGS):
            if pattern.search(text):
                found.add(at)
                assert any(each in (text if cased else small) for each in any_of), pattern.pattern
    assert len(found) == len(_WORDINGS)


@pytest.mark.parametrize(
    ("one", "other", "severity"),
    [
        ("PD-L1 TPS 1-49 %", "PD-L1 TPS 49-60 %", 0),
        ("PD-L1 TPS 1-48 %", "PD-L1 TPS 50-60 %", 4),
        ("PD-L1 TPS 50-60 %", "PD-L1 TPS 1-48 %", 4),
        ("Ki-67 10-20 %", "Ki-67 20-25 %", 0),
        ("PR 20-30 %", "PR 10-20 %", 0),
        ("KRAS G12C mutation", "KRAS exon 2 mutation", 0),
        ("KRAS G12C mutation", "KRAS G12D mutation", 3),
        ("EGFR exon 19 deletion", "EGFR exon 20 insertion", 4),
    ],
)
def test_ranges_that_touch_and_an_exon_of_a_variant_agree(
    one: str, other: str, severity: int
) -> None:
    assert worst(one, other) == severity


@pytest.mark.parametrize(
    ("text", "status", "lost"),
    [
        ("MLH1 retained, MSH6 retained", "proficient", None),
        ("MSH6 lost", "deficient", {"MSH2", "MSH6"}),
        ("MLH1 lost, MSH2 retained", "deficient", {"MLH1", "PMS2"}),
        ("MSI-high", "deficient", None),
        ("microsatellite stable", "proficient", None),
    ],
)
def test_one_protein_lost_is_deficient_and_names_its_pair(
    text: str, status: str, lost: set[str] | None
) -> None:
    read = results(text)
    assert read[MISMATCH] == {status}
    assert read.get("lost mismatch repair proteins") == lost


@pytest.mark.parametrize(
    ("text", "her2"),
    [
        ("HER2 2+. In situ hybridisation: not amplified.", {"equivocal", "negative"}),
        ("ER positive. HER2 ISH performed; amplified.", {"positive"}),
    ],
)
def test_hybridisation_in_a_sentence_of_its_own_is_of_her2(text: str, her2: set[str]) -> None:
    assert results(text)["HER2"] == her2
