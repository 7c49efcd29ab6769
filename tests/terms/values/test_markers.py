"""Markers are found under all their names, and only there."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.terms.values.markers import (
    find_markers,
    known_markers,
    marker_of,
    named_markers,
)

ONE = {
    "ER": "estrogen receptor",
    "Estrogen receptor (ER)": "estrogen receptor",
    "oestrogen receptors": "estrogen receptor",
    "ESTROGEN RECEPTOR": "estrogen receptor",
    "er": "estrogen receptor",
    "Progesterone Receptor (PgR)": "progesterone receptor",
    "Her-2/neu": "HER2",
    "HER 2": "HER2",
    "c-erbB-2": "HER2",
    "ERBB2 amplification by FISH": "HER2",
    "Ki 67": "Ki-67",
    "ki67 labelling index": "Ki-67",
    "MIB-1": "Ki-67",
    "proliferation index": "Ki-67",
    "p53": "p53",
    "P53 immunostain": "p53",
    "TP53": "p53",
    "p16INK4a": "p16",
    "ΔNp63": "p40",
    "34βE12": "high molecular weight cytokeratin",
    "HMWCK": "high molecular weight cytokeratin",
    "CAM 5.2": "cytokeratin 8/18",
    "AE1/AE3": "pancytokeratin",
    "pan-cytokeratin": "pancytokeratin",
    "keratins": "pancytokeratin",
    "CK-7": "cytokeratin 7",
    "cytokeratin 20": "cytokeratin 20",
    "CK5/6": "cytokeratin 5/6",
    "CK 5 / 6": "cytokeratin 5/6",
    "TTF1": "TTF-1",
    "thyroid transcription factor-1": "TTF-1",
    "Napsin-A": "napsin A",
    "CDX-2": "CDX2",
    "GATA 3": "GATA3",
    "e-cadherin": "E-cadherin",
    "β-catenin": "beta-catenin",
    "PAX 8": "PAX8",
    "WT-1": "WT1",
    "D2-40": "D2-40",
    "podoplanin": "D2-40",
    "S-100 protein": "S100",
    "Melan A": "melan-A",
    "MART-1": "melan-A",
    "HMB45": "HMB-45",
    "Chromogranin": "chromogranin A",
    "Synaptophysin stain": "synaptophysin",
    "CD 117 (c-kit)": "CD117",
    "DOG-1": "DOG1",
    "INI-1": "SMARCB1",
    "smooth-muscle actin": "smooth muscle actin",
    "SMA": "smooth muscle actin",
    "CD20 (L26)": "CD20",
    "leucocyte common antigen": "CD45",
    "Bcl-2": "BCL2",
    "cyclin-D1": "cyclin D1",
    "PD-L1 (22C3)": "PD-L1",
    "H. pylori immunostain": "Helicobacter pylori",
    "MSI-H": "microsatellite instability",
    "dMMR": "mismatch repair",
    "EBV": "EBER",
    "1p/19q": "1p/19q codeletion",
    "Kappa": "kappa light chain",
    "Masson's trichrome": "Masson trichrome",
    "BRAF V600E": "BRAF",
    "P504S": "AMACR",
}
SEVERAL = {
    "ER/PR": ("estrogen receptor", "progesterone receptor"),
    "er and pr": ("estrogen receptor", "progesterone receptor"),
    "CK7 and CK20": ("cytokeratin 7", "cytokeratin 20"),
    "CK7/20": ("cytokeratin 7", "cytokeratin 20"),
    "cytokeratins 7 and 20": ("cytokeratin 7", "cytokeratin 20"),
    "S100, SOX10": ("S100", "SOX10"),
    "MLH1, MSH2, MSH6 and PMS2": ("MLH1", "MSH2", "MSH6", "PMS2"),
    "TTF-1/Napsin A": ("TTF-1", "napsin A"),
    "CD3/CD20": ("CD3", "CD20"),
    "AE1/AE3 and CAM5.2": ("pancytokeratin", "cytokeratin 8/18"),
    "hormone receptors": ("estrogen receptor", "progesterone receptor"),
    "triple negative": ("estrogen receptor", "progesterone receptor", "HER2"),
    "kappa and lambda light chains": ("kappa light chain", "lambda light chain"),
    "CD3, 20%": ("CD3",),
    "ER (estrogen receptor), ER": ("estrogen receptor",),
}
MISREAD = {
    "SlOO": "S100",
    "TTF-l": "TTF-1",
    "CD2O": "CD20",
    "CDlO": "CD10",
    "synaptophysln": "synaptophysin",
    "chromogrannin A": "chromogranin A",
    "mammagloben": "mammaglobin",
}
NO_MARKER = [
    "",
    "carcinoma",
    "CD",
    "CD300",
    "the tumour cells",
    "we met her for a set",
    "20%",
    "--",
]


@pytest.mark.parametrize(("phrase", "marker"), (ONE | MISREAD).items())
def test_a_marker_is_known_by_any_of_its_names(phrase: str, marker: str) -> None:
    assert find_markers(phrase) == (marker,)
    assert marker_of(phrase) == marker


@pytest.mark.parametrize(("phrase", "markers"), SEVERAL.items())
def test_several_markers_come_in_the_order_of_the_phrase(
    phrase: str, markers: tuple[str, ...]
) -> None:
    assert find_markers(phrase) == markers


@pytest.mark.parametrize("phrase", NO_MARKER)
def test_other_words_are_no_markers(phrase: str) -> None:
    assert find_markers(phrase) == ()


def test_every_name_of_the_data_leads_to_its_marker_and_to_no_other() -> None:
    data = tomllib.loads(files("histoeval.terms").joinpath("data/markers.toml").read_text("utf-8"))
    names = [(n, row["name"]) for row in data["marker"] for n in (row["name"], *row["aliases"])]
    assert [(n, marker) for n, marker in names if find_markers(n) != (marker,)] == []
    assert {marker for row in data["group"] for marker in row["markers"]} <= known_markers()


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    assert set(find_markers(text)) <= known_markers()


@given(st.sampled_from(sorted(ONE.keys() - {"er"})), st.sampled_from(["", " ", ":", " stain", "."]))
def test_what_stands_around_a_name_does_not_matter(name: str, after: str) -> None:
    assert marker_of(f"  {name}{after}") == ONE[name]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("\ufb01brous tissue, CK7 positive", ["CK7"]),
        ("\u03b2-catenin and CD20 positive", ["CD20"]),
        ("CK7 and CD20 positive", ["CK7", "CD20"]),
        ("CK7/20 positive", ["CK7", "20"]),
        ("CK7, 20%", ["CK7"]),
        ("block 3CD20", []),
        ("block 5S100", []),
    ],
)
def test_markers_stand_where_they_are_named(text: str, names: list[str]) -> None:
    assert [text[each.start : each.end] for each in named_markers(text)] == names


@pytest.mark.parametrize(
    ("phrase", "markers"),
    [
        ("pr/er", ("progesterone receptor", "estrogen receptor")),
        ("pr and er", ("progesterone receptor", "estrogen receptor")),
        ("er, gastric", ()),
        ("CDl17", ("CD117",)),
        ("CDl38", ("CD138",)),
        ("cdl17", ()),
        ("SlO0", ("S100",)),
        ("SOX1O", ("SOX10",)),
        ("Mlbl", ("Ki-67",)),
        ("chromogranln", ("chromogranin A",)),
        ("synaptophysine", ("synaptophysin",)),
    ],
)
def test_markers_in_small_letters_or_misread(phrase: str, markers: tuple[str, ...]) -> None:
    assert find_markers(phrase) == markers
