"""Contradictions that were missed, and statements on two things that are none."""

from __future__ import annotations

import pytest

from tests.support.logic_reports import rules_broken


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Negative for malignancy. Metastatic adenocarcinoma is seen.", "denial"),
        ("Skin of the arm: melanoma in situ. Breslow thickness 1.4 mm.", "in_situ"),
        ("Skin of the arm: melanoma in situ, Clark level III.", "in_situ"),
        ("Bladder, biopsy: urothelial carcinoma, pTa. The tumour invades the muscle.", "in_situ"),
        (
            "Sigmoid colon: adenocarcinoma. The tumour extends into pericolic fat. Stage pT2.",
            "stage",
        ),
        ("Right kidney, nephrectomy: clear cell carcinoma. This left kidney is pale.", "side"),
        (
            "Skin: squamous carcinoma. The deep margin is 3 mm. Tumour reaches the deep margin.",
            "margin",
        ),
    ],
)
def test_what_cannot_both_be_right_is_found(text: str, rule: str) -> None:
    assert rule in rules_broken(text)


@pytest.mark.parametrize(
    "text",
    [
        "Cervix, cone: CIN 3. The endocervical margin is positive. The vaginal margin is negative.",
        "Rectal polyp: tubular adenoma. No carcinoma in the adenoma.",
        "Antrum: chronic gastritis. H. pylori is negative on H&E. H. pylori is positive on IHC.",
        "Node: classic Hodgkin lymphoma. No composite lymphoma.",
        "No primary malignancy is seen. Metastatic carcinoma is present.",
        "Bladder, biopsy: urothelial carcinoma, pTa. The muscle is not invaded.",
        "Gastric body, biopsy: mild gastritis. The mucosa shows parietal and chief cells.",
        "Sigmoid colon: adenocarcinoma. The tumour extends into pericolic fat. Stage pT3.",
    ],
)
def test_what_may_stand_together_is_left_alone(text: str) -> None:
    assert not rules_broken(text)
