"""What every kind of error costs: the parts that it lowers, and how severe it is."""

from __future__ import annotations

from itertools import product

import pytest

from histoeval.concordance.laterality import compare_sides
from histoeval.facts.facts import Facts, facts_of
from histoeval.report import EntityType, Relation
from tests.support.report_builder import parts_of, report

_LINKED = (EntityType.DIAGNOSIS, EntityType.SITE)

PAIRS: dict[str, tuple[str, str, dict[str, float], list[str]]] = {
    "one breast of two": (
        (
            "{diagnosis:Invasive ductal carcinoma} of the {site:left breast} and the "
            "{site:right breast}."
        ),
        "{diagnosis:Invasive ductal carcinoma} of the {site:left breast}.",
        {"laterality": 0.5},
        ["major wrong laterality"],
    ),
    "both breasts in the other order": (
        "{site:Left breast} and {site:right breast}: {diagnosis:invasive ductal carcinoma}.",
        "{site:Right breast} and {site:left breast}: {diagnosis:invasive ductal carcinoma}.",
        {},
        [],
    ),
    "an unknown growth in one breast of two": (
        "{diagnosis:Zygomorphous growth} of the {site:left breast} and the {site:right breast}.",
        "{diagnosis:Zygomorphous growth} of the {site:left breast}.",
        {"laterality": 0.5},
        ["major wrong laterality"],
    ),
    "no markers": ("{diagnosis:Gastritis}.", "{diagnosis:Gastritis}.", {}, []),
    "two receptors of breast cancer reversed": (
        "{diagnosis:Carcinoma}. {marker:ER} {result:positive}. {marker:PR} {result:positive}.",
        "{diagnosis:Carcinoma}. {marker:ER} {result:negative}. {marker:PR} {result:negative}.",
        {"markers": 0.0},
        ["critical marker flip", "critical marker flip"],
    ),
    "three supporting markers reversed": (
        (
            "{diagnosis:Carcinoma}. {marker:CD34} {result:positive}. {marker:CD31} "
            "{result:positive}. {marker:desmin} {result:negative}."
        ),
        (
            "{diagnosis:Carcinoma}. {marker:CD34} {result:negative}. {marker:CD31} "
            "{result:negative}. {marker:desmin} {result:positive}."
        ),
        {"markers": 0.0},
        ["major marker flip", "major marker flip", "major marker flip"],
    ),
    "one marker left out": (
        "{diagnosis:Carcinoma}. {marker:CD34} {result:positive}.",
        "{diagnosis:Carcinoma}.",
        {"markers": 0.85},
        ["minor omission"],
    ),
    "one marker added": (
        "{diagnosis:Carcinoma}.",
        "{diagnosis:Carcinoma}. {marker:CD34} {result:positive}.",
        {"markers": 0.9},
        ["minor invention"],
    ),
    "a result added to a marker": (
        "{diagnosis:Carcinoma}. {marker:CD34}.",
        "{diagnosis:Carcinoma}. {marker:CD34} {result:positive}.",
        {"markers": 0.95},
        ["minor invention"],
    ),
    "three markers left out": (
        (
            "{diagnosis:Carcinoma}. {marker:CD34} {result:positive}. {marker:CD31} "
            "{result:positive}. {marker:desmin} {result:negative}."
        ),
        "{diagnosis:Carcinoma}.",
        {"markers": 0.7},
        ["minor omission", "minor omission", "minor omission"],
    ),
    "an equivocal marker": (
        "{diagnosis:Carcinoma}. {marker:CD34} {result:positive}.",
        "{diagnosis:Carcinoma}. {marker:CD34} {result:equivocal}.",
        {"markers": 0.7},
        ["moderate marker flip"],
    ),
    "the organ that is named less often": (
        "{site:Lung}, pale. {site:Lung}, firm. {site:Colon}, pale.",
        "{site:Colon}, pale.",
        {"site": 0.875},
        [],
    ),
    "one organ added": (
        "{site:Lung}: {diagnosis:adenocarcinoma}.",
        "{site:Lung}: {diagnosis:adenocarcinoma}. {site:Colon} is pale.",
        {"no_inventions": 0.75},
        ["moderate invention"],
    ),
    "three organs added": (
        "{site:Lung}: {diagnosis:adenocarcinoma}.",
        (
            "{site:Lung}: {diagnosis:adenocarcinoma}. {site:Colon} is pale. "
            "{site:Kidney} is pale. {site:Brain} is pale."
        ),
        {"no_inventions": 0.5},
        ["moderate invention", "moderate invention", "moderate invention"],
    ),
    "another part of the bowel": (
        "{site:Sigmoid colon}: {diagnosis:adenocarcinoma}.",
        "{site:Caecum}: {diagnosis:adenocarcinoma}.",
        {"site": 0.7},
        ["major wrong site"],
    ),
    "the organ left out": ("{site:Lung}: pale.", "Pale.", {"site": 0.6}, ["minor omission"]),
    "the organ added": ("Pale.", "{site:Lung}: pale.", {"site": 0.6}, []),
    "one benign tumour left out": (
        "{diagnosis:Adenocarcinoma}. {diagnosis:Lipoma}.",
        "{diagnosis:Adenocarcinoma}.",
        {"completeness": 0.6667, "findings": 0.8},
        ["moderate omission", "moderate omission"],
    ),
    "three benign tumours left out": (
        (
            "{diagnosis:Adenocarcinoma}. {diagnosis:Lipoma}. {diagnosis:Haemangioma}. "
            "{diagnosis:Leiomyoma}."
        ),
        "{diagnosis:Adenocarcinoma}.",
        {"completeness": 0.4, "findings": 0.5},
        [
            "moderate omission",
            "moderate omission",
            "moderate omission",
            "moderate omission",
            "moderate omission",
            "moderate omission",
        ],
    ),
    "three benign tumours added": (
        "{diagnosis:Adenocarcinoma}.",
        (
            "{diagnosis:Adenocarcinoma}. {diagnosis:Lipoma}. {diagnosis:Haemangioma}. "
            "{diagnosis:Leiomyoma}."
        ),
        {"soundness": 0.4, "no_inventions": 0.5},
        [
            "moderate invention",
            "moderate invention",
            "moderate invention",
            "moderate invention",
            "moderate invention",
            "moderate invention",
        ],
    ),
    "one denial left out": (
        "{diagnosis:Gastritis}. {diagnosis:-Lymphoma}.",
        "{diagnosis:Gastritis}.",
        {"findings": 0.8},
        ["minor omission"],
    ),
    "two denials left out": (
        "{diagnosis:Gastritis}. No {diagnosis:-lymphoma} and no {diagnosis:-dysplasia}.",
        "{diagnosis:Gastritis}.",
        {"findings": 0.7},
        ["minor omission", "minor omission"],
    ),
    "a denied lymphoma": (
        "{diagnosis:Gastritis}. {diagnosis:-Lymphoma}.",
        "{diagnosis:Gastritis}. {diagnosis:Lymphoma}.",
        {"diagnosis": 0.0, "behaviour": 0.0, "soundness": 0.25, "site": 0.0, "findings": 0.1},
        [
            "critical contradiction",
            "critical contradiction",
            "critical invention",
            "moderate wrong site",
        ],
    ),
    "a denied lipoma": (
        "{diagnosis:Gastritis}. No {diagnosis:-lipoma}.",
        "{diagnosis:Gastritis}. {diagnosis:Lipoma}.",
        {"diagnosis": 0.5, "behaviour": 0.7, "soundness": 0.4, "findings": 0.5},
        ["major contradiction", "moderate contradiction", "moderate invention"],
    ),
    "a denied carcinoma in situ": (
        "{diagnosis:Fibroadenoma}. No {diagnosis:-ductal carcinoma in situ}.",
        "{diagnosis:Fibroadenoma}. {diagnosis:Ductal carcinoma in situ}.",
        {"diagnosis": 0.0, "behaviour": 0.175, "soundness": 0.375, "findings": 0.2},
        ["critical contradiction", "major contradiction", "major invention"],
    ),
    "a denial left out beside an unknown growth": (
        "{diagnosis:Gastritis}. No {diagnosis:-carcinoma}.",
        "{diagnosis:Gastritis}. {diagnosis:Zygomorphous growth}.",
        {"findings": 0.8, "no_inventions": 0.85},
        ["minor invention", "minor omission"],
    ),
    "a malignancy both made and denied": (
        "{diagnosis:Gastritis}. No {diagnosis:-malignancy}.",
        "{diagnosis:Gastritis}. {diagnosis:Adenocarcinoma}. No {diagnosis:-malignancy}.",
        {"diagnosis": 0.0, "behaviour": 0.0, "soundness": 0.25, "site": 0.6},
        ["critical contradiction", "critical invention"],
    ),
    "a carcinoma both made and denied": (
        "{diagnosis:Gastritis}. No {diagnosis:-malignancy}.",
        "{diagnosis:Gastritis}. {diagnosis:Adenocarcinoma}. No {diagnosis:-carcinoma}.",
        {"diagnosis": 0.0, "behaviour": 0.0, "soundness": 0.25, "site": 0.6},
        ["critical contradiction", "critical invention"],
    ),
    "gastritis called normal": (
        "{diagnosis:Gastritis}.",
        "No significant abnormality.",
        {"diagnosis": 0.0, "behaviour": 0.6, "completeness": 0.0, "site": 0.6, "findings": 0.5},
        ["major contradiction", "major omission"],
    ),
    "a normal biopsy called gastritis": (
        "No significant abnormality.",
        "{diagnosis:Gastritis}.",
        {"diagnosis": 0.0, "behaviour": 0.6, "soundness": 0.0, "site": 0.6, "findings": 0.5},
        ["major contradiction", "major invention"],
    ),
    "a borderline tumour left out": (
        "{diagnosis:Serous borderline tumour}.",
        "The tissue is pale.",
        {"diagnosis": 0.0, "behaviour": 0.2, "completeness": 0.0, "site": 0.6},
        ["major omission"],
    ),
    "a carcinoma left out": (
        "{diagnosis:Adenocarcinoma}.",
        "The tissue is pale.",
        {"diagnosis": 0.0, "behaviour": 0.0, "completeness": 0.0},
        ["critical omission"],
    ),
    "a carcinoma in situ left out": (
        "{diagnosis:Ductal carcinoma in situ}.",
        "The tissue is pale.",
        {"diagnosis": 0.0, "behaviour": 0.1, "completeness": 0.0, "site": 0.6},
        ["major omission"],
    ),
    "a benign tumour left out": (
        "{diagnosis:Fibroadenoma}.",
        "The tissue is pale.",
        {"diagnosis": 0.0, "behaviour": 0.6, "completeness": 0.0, "site": 0.6},
        ["moderate omission"],
    ),
    "a neoplasm left out": (
        "{diagnosis:Neoplasm}.",
        "The tissue is pale.",
        {"diagnosis": 0.0, "behaviour": 0.3, "completeness": 0.0},
        ["moderate omission"],
    ),
    "a benign tumour called normal": (
        "{diagnosis:Fibroadenoma}.",
        "Unremarkable.",
        {"diagnosis": 0.0, "behaviour": 0.6, "completeness": 0.0, "site": 0.6, "findings": 0.5},
        ["major contradiction", "moderate omission"],
    ),
    "another gallbladder disease beside the right one": (
        "{diagnosis:Cholecystitis}. {diagnosis:Cholelithiasis}.",
        "{diagnosis:Cholecystitis}. {diagnosis:Adenomyosis}.",
        {"completeness": 0.5, "soundness": 0.5, "findings": 0.8, "no_inventions": 0.8},
        ["moderate invention", "moderate omission", "moderate wrong diagnosis"],
    ),
    "another gallbladder disease before the right one": (
        "{diagnosis:Cholelithiasis} and {diagnosis:cholecystitis}.",
        "{diagnosis:Adenomyosis} and {diagnosis:cholecystitis}.",
        {"completeness": 0.5, "soundness": 0.5, "findings": 0.8, "no_inventions": 0.8},
        ["major wrong diagnosis", "moderate invention", "moderate omission"],
    ),
    "no doubt of a benign tumour": (
        "{diagnosis:?Fibroadenoma}.",
        "{diagnosis:Fibroadenoma}.",
        {"diagnosis": 0.75, "behaviour": 0.75, "completeness": 0.75, "soundness": 0.75},
        ["moderate overcall"],
    ),
    "doubt of a benign tumour": (
        "{diagnosis:Fibroadenoma}.",
        "{diagnosis:?Fibroadenoma}.",
        {"diagnosis": 0.75, "behaviour": 0.75, "completeness": 0.75, "soundness": 0.75},
        ["moderate undercall"],
    ),
    "doubt of a carcinoma": (
        "{diagnosis:Adenocarcinoma}.",
        "{diagnosis:?Adenocarcinoma}.",
        {"diagnosis": 0.75, "behaviour": 0.75, "completeness": 0.75, "soundness": 0.75},
        ["major undercall"],
    ),
    "no doubt of a borderline tumour": (
        "{diagnosis:?Serous borderline tumour}.",
        "{diagnosis:Serous borderline tumour}.",
        {"diagnosis": 0.75, "behaviour": 0.75, "completeness": 0.75, "soundness": 0.75},
        ["moderate overcall"],
    ),
    "no doubt of an inflammation": (
        "{diagnosis:?Gastritis}.",
        "{diagnosis:Gastritis}.",
        {"diagnosis": 0.75, "behaviour": 0.75, "completeness": 0.75, "soundness": 0.75},
        ["major overcall"],
    ),
    "a lipoma for a yeast beside gastritis": (
        "{diagnosis:Gastritis} and {diagnosis:candidiasis}.",
        "{diagnosis:Gastritis} and {diagnosis:lipoma}.",
        {"diagnosis": 0.5, "behaviour": 0.7, "completeness": 0.5333, "soundness": 0.4},
        ["moderate wrong diagnosis"],
    ),
    "a mould for a yeast beside gastritis": (
        "{diagnosis:Gastritis} and {diagnosis:candidiasis}.",
        "{diagnosis:Gastritis} and {diagnosis:aspergillosis}.",
        {"completeness": 0.6687, "soundness": 0.6687, "findings": 0.8, "no_inventions": 0.8},
        ["critical invention", "major omission", "major wrong diagnosis"],
    ),
    "tuberculosis for a lipoma beside gastritis": (
        "{diagnosis:Gastritis} and {diagnosis:lipoma}.",
        "{diagnosis:Gastritis} and {diagnosis:tuberculosis}.",
        {"diagnosis": 0.5, "behaviour": 0.7, "completeness": 0.4, "soundness": 0.548},
        ["moderate wrong diagnosis"],
    ),
    "the last stage for the first": (
        "{diagnosis:Adenocarcinoma}, {stage:pT1}.",
        "{diagnosis:Adenocarcinoma}, {stage:pT4}.",
        {"stage": 0.0},
        ["critical wrong stage"],
    ),
    "the stage left out": (
        "{diagnosis:Adenocarcinoma}, {stage:pT1}.",
        "{diagnosis:Adenocarcinoma}.",
        {"stage": 0.9},
        ["moderate omission"],
    ),
    "a stage added": (
        "{diagnosis:Adenocarcinoma}.",
        "{diagnosis:Adenocarcinoma}, {stage:pT1}.",
        {"stage": 0.95},
        ["minor invention"],
    ),
    "the highest grade for the lowest": (
        "{diagnosis:Adenocarcinoma}, {grade:well differentiated}.",
        "{diagnosis:Adenocarcinoma}, {grade:poorly differentiated}.",
        {"grade": 0.0},
        ["major wrong grade"],
    ),
    "the grade left out": (
        "{diagnosis:Adenocarcinoma}, {grade:well differentiated}.",
        "{diagnosis:Adenocarcinoma}.",
        {"grade": 0.9},
        ["moderate omission"],
    ),
    "a grade added": (
        "{diagnosis:Adenocarcinoma}.",
        "{diagnosis:Adenocarcinoma}, {grade:well differentiated}.",
        {"grade": 0.95},
        ["minor invention"],
    ),
    "a size five times as large": (
        "{diagnosis:Adenocarcinoma} of {measurement:12 mm}.",
        "{diagnosis:Adenocarcinoma} of {measurement:60 mm}.",
        {"measurements": 0.2},
        ["critical measurement mismatch"],
    ),
    "the size left out": (
        "{diagnosis:Adenocarcinoma} of {measurement:12 mm}.",
        "{diagnosis:Adenocarcinoma}.",
        {"measurements": 0.9},
        ["minor omission"],
    ),
    "a size added": (
        "{diagnosis:Adenocarcinoma}.",
        "{diagnosis:Adenocarcinoma} of {measurement:12 mm}.",
        {"measurements": 0.95},
        ["minor invention"],
    ),
    "oedema left out": (
        "{diagnosis:Gastritis}. {finding:Oedema}.",
        "{diagnosis:Gastritis}.",
        {"findings": 0.9},
        ["minor omission"],
    ),
    "venous invasion left out": (
        "{diagnosis:Adenocarcinoma}. {finding:Venous invasion}.",
        "{diagnosis:Adenocarcinoma}.",
        {"findings": 0.6},
        ["major omission"],
    ),
    "denied venous invasion left out": (
        "{diagnosis:Adenocarcinoma}. {finding:-Venous invasion}.",
        "{diagnosis:Adenocarcinoma}.",
        {"findings": 0.8},
        ["minor omission"],
    ),
    "venous invasion added": (
        "{diagnosis:Adenocarcinoma}.",
        "{diagnosis:Adenocarcinoma}. {finding:Venous invasion}.",
        {"no_inventions": 0.6},
        ["major invention"],
    ),
    "venous invasion denied": (
        "{diagnosis:Adenocarcinoma}. {finding:Venous invasion}.",
        "{diagnosis:Adenocarcinoma}. {finding:-Venous invasion}.",
        {"findings": 0.0},
        ["critical contradiction"],
    ),
    "necrosis denied": (
        "{diagnosis:Adenocarcinoma}. {finding:Necrosis}.",
        "{diagnosis:Adenocarcinoma}. {finding:-Necrosis}.",
        {"findings": 0.3},
        ["major contradiction"],
    ),
    "oedema denied": (
        "{diagnosis:Gastritis}. {finding:Oedema}.",
        "{diagnosis:Gastritis}. {finding:-Oedema}.",
        {"findings": 0.5},
        ["moderate contradiction"],
    ),
    "a metastasis of another tumour": (
        "{diagnosis:Metastatic melanoma}.",
        "{diagnosis:Metastatic carcinoma}.",
        {"diagnosis": 0.2667, "completeness": 0.2667},
        ["critical wrong diagnosis"],
    ),
    "a metastasis called a primary": (
        "{diagnosis:Metastatic adenocarcinoma}.",
        "{diagnosis:Adenocarcinoma}.",
        {"diagnosis": 0.7, "spread": 0.0, "completeness": 0.7, "soundness": 0.7},
        ["moderate contradiction", "moderate omission"],
    ),
}


@pytest.mark.parametrize(
    ("reference", "candidate", "lowered", "errors"), PAIRS.values(), ids=PAIRS.keys()
)
def test_an_error_lowers_these_parts_this_far(
    reference: str, candidate: str, lowered: dict[str, float], errors: list[str]
) -> None:
    parts = parts_of(reference, candidate)
    left = {name: part.value for name, part in parts.items() if part.value not in (None, 1.0)}
    assert left == pytest.approx(lowered, abs=5e-5)
    assert errors == sorted(
        f"{error.severity.name} {error.kind.name}".replace("_", " ").lower()
        for part in parts.values()
        for error in part.mistakes
    )


@pytest.mark.parametrize("part", ["markers", "grade", "stage", "measurements", "laterality"])
def test_what_neither_report_speaks_of_is_not_compared(part: str) -> None:
    assert parts_of("{diagnosis:Gastritis}.", "{diagnosis:Gastritis}.")[part].value is None


def _sited(marked: str) -> Facts:
    """What a marked text says, with every diagnosis at all of its sites."""
    read = report(marked)
    places = {kind: [i for i, e in enumerate(read.entities) if e.type == kind] for kind in _LINKED}
    links = tuple(Relation(head=head, tail=tail) for head, tail in product(*places.values()))
    return facts_of(read.model_copy(update={"relations": links}))


@pytest.mark.parametrize(
    ("reference", "candidate", "value"),
    [
        (
            "{diagnosis:Carcinoma} of the {site:left breast} and the {site:right breast}.",
            "{diagnosis:Carcinoma} of the {site:left breast}.",
            1.0,
        ),
        (
            "{site:Left breast} and {site:right breast}: {diagnosis:carcinoma}.",
            "{site:Right breast} and {site:left breast}: {diagnosis:carcinoma}.",
            1.0,
        ),
        (
            "{diagnosis:Zygomorphous growth} of the {site:left breast} and {site:right breast}.",
            "{diagnosis:Zygomorphous growth} of the {site:left breast}.",
            0.5,
        ),
    ],
)
def test_sides_of_the_leading_diagnosis(reference: str, candidate: str, value: float) -> None:
    assert compare_sides(_sited(reference), _sited(candidate)).value == value
