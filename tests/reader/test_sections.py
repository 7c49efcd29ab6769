"""Sections tile a report, and each knows under what kind of heading it stands."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from histoeval.reader.sections import Section, sections

SCRAPS = st.sampled_from(
    [
        *("FINAL DIAGNOSIS:", "Gross Description. ", "Diagnosis", "DIAGNOSIS (A) ", "# Note\n"),
        *("**Comment:** ", "1. Left breast, biopsy: ", "PART 2: ", "Specimen B: ", "(A) KIDNEY:"),
        *("SOMETHING ELSE:\n", ": ADDENDUM: ", "carcinoma", ". ", "- ", " ", "\n", "\n\n"),
    ]
)
TEXTS = st.one_of(st.text(max_size=80), st.lists(SCRAPS, max_size=25).map("".join))


def outline(text: str) -> list[tuple[str, str]]:
    return [(section.kind, section.title) for section in sections(text)]


def bodies(text: str) -> dict[str, str]:
    return {s.title: text[s.body_start : s.end].strip() for s in sections(text)}


@given(TEXTS)
@example("AAAA.FINAL/DIAGNOSIS:")
def test_sections_tile_the_text_and_quote_their_titles(text: str) -> None:
    found = sections(text)
    assert "".join(section.of(text) for section in found) == text
    assert [section.start for section in found[1:]] == [section.end for section in found[:-1]]
    for section in found:
        assert section.start <= section.body_start <= section.end
        assert section.title in text[section.start : section.body_start]


@pytest.mark.parametrize(
    ("text", "kind", "title", "body"),
    [
        ("FINAL DIAGNOSIS:\nNaevus", "diagnosis", "FINAL DIAGNOSIS", "Naevus"),
        ("MICROSCOPIC DESCRIPTION\nNests", "microscopic", "MICROSCOPIC DESCRIPTION", "Nests"),
        ("Gross Description:\nA cube", "gross", "Gross Description", "A cube"),
        ("## Diagnosis\nNaevus", "diagnosis", "Diagnosis", "Naevus"),
        ("### Final Diagnosis:\nNaevus", "diagnosis", "Final Diagnosis", "Naevus"),
        ("## Diagnosis: Naevus", "diagnosis", "Diagnosis", "Naevus"),
        ("**Final Diagnosis:**\n- Naevus", "diagnosis", "Final Diagnosis", "- Naevus"),
        ("**Final Diagnosis:** Naevus", "diagnosis", "Final Diagnosis", "Naevus"),
        ("**Final Diagnosis**: Naevus", "diagnosis", "Final Diagnosis", "Naevus"),
        ("**Final Diagnosis**\nNaevus", "diagnosis", "Final Diagnosis", "Naevus"),
        ("- **Diagnosis:** Naevus", "diagnosis", "Diagnosis", "Naevus"),
        ("Diagnosis: Naevus.", "diagnosis", "Diagnosis", "Naevus."),
        ("final diagnosis : naevus .", "diagnosis", "final diagnosis", "naevus ."),
        ("SPECIMEN(S) RECEIVED:\nSkin", "specimen", "SPECIMEN(S) RECEIVED", "Skin"),
        ("Pre-Op Diagnosis\nMass", "clinical", "Pre-Op Diagnosis", "Mass"),
        ("Immunohistochemistry: S100 positive", "immunohistochemistry", "Immunohistochemistry", ""),
        ("SYNOPTIC REPORT - SKIN\nType: naevus", "synoptic", "SYNOPTIC REPORT - SKIN", ""),
        ("Addendum #2:\nFISH is negative", "addendum", "Addendum #2", "FISH is negative"),
        ("**Stain:** H&E", "stain", "Stain", "H&E"),
        ("**Histological Findings:**\n- Nests", "findings", "Histological Findings", "- Nests"),
        ("2. Gross Description: A cube", "gross", "2. Gross Description", "A cube"),
        ("ODD THINGS SEEN:\nNone", "other", "ODD THINGS SEEN", "None"),
        ("# Odd things seen\nNone", "other", "Odd things seen", "None"),
        ("**Odd things seen**\nNone", "other", "Odd things seen", "None"),
    ],
)
def test_a_heading_opens_a_section(text: str, kind: str, title: str, body: str) -> None:
    (section,) = sections(text)
    assert (section.kind, section.title, section.within) == (kind, title, "")
    assert text[section.body_start : section.end].startswith(body)


@pytest.mark.parametrize(
    "text",
    [
        "The diagnosis is carcinoma.",
        "Diagnosis was made on frozen section. Comment. Specimen. Nothing else.",
        "See microscopic description. The gross description: none.",
        "For the margins see GROSS DESCRIPTION: they are given there.",
        "The margins are given in the COMMENT. They are free.",
        "Tumor size: 3 cm\nMargins: free\n1. Histologic grade: 2\nTUMOR SIZE:\n3 cm",
        "Some label: a value\nThis line ends in a colon:\nand goes on",
        "Cells are **atypical** and large\n- **Architecture:** nests",
        "Prostate, biopsy;\n  No tumour is found",
        "1. The specimen is received fresh, labelled as follows: left kidney.",
    ],
)
def test_what_is_no_heading_opens_nothing(text: str) -> None:
    assert sections(text) == [Section(0, len(text), "", "other", 0)]


def test_headings_are_found_in_the_middle_of_a_scanned_line() -> None:
    text = (
        "Page 1. Clinical History. Lump. SPECIMEN. Left breast. MICROSCOPIC DESCRIPTION. The tumor "
        "is solid. Microscopic Description: Histologic type: ductal. Comment: None. Seen on: "
        "DIAGNOSIS: Ductal carcinoma. GROSS DESCRIPTION (A) Breast, 3 cm."
    )
    assert outline(text) == [
        ("other", ""),
        ("clinical", "Clinical History"),
        ("specimen", "SPECIMEN"),
        ("microscopic", "MICROSCOPIC DESCRIPTION"),
        ("microscopic", "Microscopic Description"),
        ("comment", "Comment"),
        ("diagnosis", "DIAGNOSIS"),
        ("gross", "GROSS DESCRIPTION"),
    ]
    assert bodies(text)["MICROSCOPIC DESCRIPTION"] == "The tumor is solid."


def test_a_heading_in_capitals_is_found_where_the_scan_lost_the_stop_before_it() -> None:
    text = "Report no 12 FINAL DIAGNOSIS: Naevus of skin *** COMMENT *** It is free."
    assert outline(text) == [("other", ""), ("diagnosis", "FINAL DIAGNOSIS")]
    assert outline("Lump\n*** COMMENT ***\nFree.")[1] == ("comment", "COMMENT")


def test_a_markdown_report_is_read_heading_by_heading() -> None:
    text = (
        "**Histopathology Report**\n\n**Specimen:** Skin  \n**Stain:** H&E  \n\n"
        "**Microscopic Description:**  \n- Nests of cells.\n- **Stroma:** loose.\n\n"
        "**Architecture**\nNested.\n\n**Diagnosis:**  \nNaevus."
    )
    found = sections(text)
    assert [section.kind for section in found] == [
        *("other", "specimen", "stain", "microscopic", "other", "diagnosis")
    ]
    assert found[4].within == "microscopic"
    assert bodies(text)["Stain"] == "H&E"
    assert bodies(text)["Diagnosis"] == "Naevus."


@pytest.mark.parametrize(
    ("label", "title"),
    [
        ("1. Left breast, biopsy:", "1. Left breast, biopsy"),
        ("A. Colon, ascending:", "A. Colon, ascending"),
        ("A. Colon, right and\nleft, resection:", "A. Colon, right and\nleft, resection"),
        ("(A) TOTAL LARYNGECTOMY:", "(A) TOTAL LARYNGECTOMY"),
        ("3). LYMPH NODES, LEVEL I; EXCISION:", "3). LYMPH NODES, LEVEL I; EXCISION"),
        ("(B) LEFT KIDNEY - ", "(B) LEFT KIDNEY"),
        ("PART 2: ", "PART 2"),
        ("Specimen B:", "Specimen B"),
        ("A: Kidney, nephrectomy. ", "A"),
        ("A: Kidney, nephrectomy\n", "A: Kidney, nephrectomy"),
        ("C. Skin of arm, punch biopsy\n", "C. Skin of arm, punch biopsy"),
        ("KIDNEY, LEFT, NEPHRECTOMY:\n", "KIDNEY, LEFT, NEPHRECTOMY"),
    ],
)
def test_parts_of_a_specimen_stand_inside_a_section(label: str, title: str) -> None:
    text = f"DIAGNOSIS:\n{label} No tumour.\nCOMMENT:\nNone"
    heading, part, comment = sections(text)
    assert (heading.kind, part.kind, comment.kind) == ("diagnosis", "specimen_part", "comment")
    assert (part.title, part.within) == (title, "diagnosis")
    assert text[part.body_start : part.end].strip().endswith("No tumour.")


PART = "specimen_part"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A. Colon, biopsy: Adenoma.", [(PART, "")]),
        (
            "DIAGNOSIS: (A) LEFT LUNG: Carcinoma. (B) RIGHT LUNG: Normal.",
            [("diagnosis", ""), (PART, "diagnosis"), (PART, "diagnosis")],
        ),
        (  # a comment on one part does not take in the next
            "DIAGNOSIS:\nA. Lung, biopsy: Scar.\nNote: See below.\nB. Skin, biopsy: Naevus.",
            [("diagnosis", ""), (PART, "diagnosis"), ("comment", ""), (PART, "diagnosis")],
        ),
    ],
)
def test_parts_stand_in_the_last_heading_that_holds_them(
    text: str, expected: list[tuple[str, str]]
) -> None:
    assert [(section.kind, section.within) for section in sections(text)] == expected


def test_a_line_of_a_checklist_stays_in_its_section() -> None:
    text = "Synoptic report\nProcedure: Lobectomy\nTumor size: 2 cm\n1. Bronchial margin: free"
    assert outline(text) == [("synoptic", "Synoptic report")]
    assert outline("Procedure: Lobectomy") == [("procedure", "Procedure")]


def test_empty_text_has_no_sections_and_blank_text_has_one() -> None:
    assert sections("") == []
    assert [s.of(" \n ") for s in sections(" \n ")] == [" \n "]


@pytest.mark.parametrize("scrap", [".", "\n", "a", "a.", "#", "**", ":", "A" * 99 + " " * 99])
def test_a_megabyte_of_anything_takes_less_than_two_seconds(scrap: str) -> None:
    text = scrap * (1_000_000 // len(scrap))
    start = time.process_time()
    sections(text)
    assert time.process_time() - start < 2
