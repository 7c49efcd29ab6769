"""What is a report and what is none."""

from __future__ import annotations

import pytest

from histoeval.io.tables.records import Fault, text_of

PLACEHOLDERS = ["N/A", "n/a.", "nan", "NaN", "#N/A", "(none)", "NULL", " Not available "]

REFUSALS = [
    "I'm sorry, I can't help with that.",
    "I\u2019m sorry, but I can\u2019t assist with this request.",
    "Sorry, I am not able to interpret medical images. Please consult a pathologist.",
    "As an AI language model, I cannot provide a diagnosis.",
    "As an AI, I can't view images. You should ask a qualified professional for your diagnosis.",
    "I cannot assist with medical diagnoses.\nPlease consult a doctor.",
    "Unfortunately, I am unable to see the slide.",
]

REPORTS = [
    "Benign",
    "Negative.",
    "-",
    "DCIS",
    "None of the margins is involved.",
    "I cannot identify residual tumour. I see no dysplasia.",
    "I am unable to exclude malignancy; please correlate with imaging.",
    "I'm sorry for the delay. Colon, biopsy: tubular adenoma.",
    "As an AI model, I cannot replace a pathologist.\nProstate, biopsy: acinar adenocarcinoma.",
    "We see a lesion of the antrum. No Helicobacter.",
    "NA: sodium 140",
]


@pytest.mark.parametrize("text", [*PLACEHOLDERS, *REFUSALS])
def test_what_stands_for_no_report_is_none(text: str) -> None:
    found = text_of(text)
    assert isinstance(found, Fault)
    assert found.problem("row 1", "report").code == "no_report"


@pytest.mark.parametrize("text", REPORTS)
def test_a_short_or_personal_report_is_one(text: str) -> None:
    assert text_of(text) == text
