"""Sentences are slices of a report; what ends one, and what only seems to."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.reader.sentences import sentences
from tests.support.paths import SHARED

ANNOTATED = SHARED / "annotation"

SCRAPS = st.sampled_from(
    [
        *("Tumor", "grade", "3", "pT2", "H. pylori", "Dr. ", "x. 3 cm", "DIAGNOSIS", ",", ":", "“"),
        *(".", ". ", ".\n", "...", "?", "!", "\n", "\n\n", "\r\n", "\t", " ", "(", ")"),
        *("- ", "1. ", "A) ", "# ", "**Note:** ", "________"),
    ]
)
TEXTS = st.one_of(st.text(max_size=80), st.lists(SCRAPS, max_size=40).map("".join))


def split(text: str) -> list[str]:
    return [sentence.of(text) for sentence in sentences(text)]


@given(TEXTS)
def test_sentences_hold_every_character_that_is_not_white_space_once_and_in_order(
    text: str,
) -> None:
    found = sentences(text)
    covered = [i for sentence in found for i in range(sentence.start, sentence.end)]
    assert covered == sorted(set(covered))
    assert {i for i, c in enumerate(text) if not c.isspace()} <= set(covered)
    assert all(s.of(text) and s.of(text) == s.of(text).strip() for s in found)


@given(TEXTS, TEXTS)
def test_a_blank_line_always_ends_a_sentence(before: str, after: str) -> None:
    text = before + "\n\n" + after
    border = len(before) + 1
    assert not any(s.start < border < s.end for s in sentences(text))


@pytest.mark.parametrize(
    "text",
    [
        "Compared with the earlier core, e.g. block B, there is more necrosis.",
        "Adenoma vs. Carcinoma was discussed with Dr. Weber at the meeting.",
        "Seen again with Dr. J. R. Weber, who agrees.",
        "Reported by Anna K. Weber, MD on the same day.",
        "The nodule (cf. Fig. 2) measures approx. 3 cm.",
        "A focus of 1.5 cm, another of .5 cm, and chips of 0.5x0.3 cm.",
        "Gastric biopsy with H. pylori, no E. coli, no C. difficile.",
        "NEGATIVE FOR H. PYLORI BY GIEMSA STAIN.",
        "Cores are 2 cm. in length, 1 mm. thick, and so on etc. throughout.",
        "There are 5 mitoses per hpf. in the densest field.",
        "Block no. 4 was recut.",
        "The margin is free (see comment.) and wide.",
        "The label reads “left kidney.” and is legible.",
        "The gland shows old hyalinized. granulomas and fat.",
        "Margins of resection, free. of tumor.",
        "Positive for CK7,. CK20 and CDX2.",
        "The tumour is seen in the. Left lobe only.",
        "The carcinoma involves the right and. Left lobes.",
        "INVASIVE POORLY DIFFERENTIATED SQUAMOUS. CELL CARCINOMA WITH NECROSIS",
        "CARCINOMA FILLS THE RIGHT LOBE. AND EXTENDS INTO FAT",
        "A mass of 3 cm. X 2 cm. X 1 cm in the fundus.",
        "A mass of 3.0 x 2.0 x. 1.0 cm in the fundus.",
        "Stage: pT2. N0. M0",
        "Stage p T 2. p N 0 as before.",
        "Clinical question: ? Fibroid uterus",
        "Tumour size ........ 3 cm",
        "Necrosis; atypia; Mitoses are rare",
        "The tumour is high grade (Tubules: 3. Nuclei: 3. Mitoses: 2) and solid.",
        "CHROMOPHOBE CARCINOMA. (SEE COMMENT)",
        "Wrapped prose goes on\nin the next line\nFibrosis may begin one.",
        "Prostate, biopsy;\n  No tumour is found",
        "The slides show tumour, labelled\nA. and nothing else.",
    ],
)
def test_one_sentence_stays_one(text: str) -> None:
    assert split(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "Tumour is confined to muscle, pT2.| No nodes were sent.",
        "Serum was drawn for hepatitis B.| Cirrhosis is absent.",
        "The tumour is 3 cm.| Margins are free.",
        "Histologic type: Adenocarcinoma.| Histologic grade: Low.| Stage: pT1.",
        "Multifocal: No.| Necrosis: No.| Grade: 2.",
        "Is it invasive?| We believe so!| It reaches fat.",
        "Nodes are free...| Fat is not.",
        "The edge is inked (see diagram.)| Sections follow.",
        "No vascular invasion.| p53: wild type.| pN0: no metastasis.",
        "COLON WITH ADENOMA.| NO HIGH GRADE DYSPLASIA.| STALK IS FREE.",
        "DUCTAL.| GRADE: 2.",
        "1. Prostate with atrophy.| 2. Vas deferens, normal.| 3. Fat.",
        "A. Colon: adenoma.| B. Rectum: normal.| (C) Anus: normal.| D) Skin: normal.",
        "i. The edge is free.| ii. The base is not.",
        "I. Uterus.| II. Ovary.",
        "DIAGNOSIS: 1. Kidney: oncocytoma.| 2. Fat.",
        "TURP CHIPS, RESECTION -.| A. ADENOCARCINOMA.| B. ATROPHY.",
        "Kidney with cyst.The fat is normal.".replace(".The", ".|The"),
        "The gland is large .|Nodes are small.",
        "Findings:|\n- Atypia is seen|\n- No necrosis|\n* Oedema|\n• Fibrosis|\n\u2013 Cysts",
        "The list has\n1 line.|\n1. Prostate|\n2) Bladder|\n(3) Ureter",
        "Diagnosis:|\nAdenocarcinoma",
        "Specimen: Skin|\nStain: H&E|\nDiagnosis: Naevus",
        "Right lung mass|\nPost-op Diagnosis|\nSame",
        "**Final Diagnosis:**|\n- Benign naevus|\n- Free margins",
        "**Final Diagnosis:** Naevus.|\n**Comment:** None.",
        "## Diagnosis|\nNaevus with\nscar",
        "First part|\n\nsecond part|\n \nthird part",
        "First part|\r\n\r\nsecond part",
        "Histologic Grade: G2|\nMARGINS|\nUninvolved by tumour",
        "Report of the day ________ DIAGNOSIS: naevus.".replace("_ D", "_| D"),
        "A1 - anterior wall|\nA2 - posterior wall|\nA3-A5 - tumour",
    ],
)
def test_sentences_end_where_they_should(text: str) -> None:
    assert split(text.replace("|", "")) == [part.strip() for part in text.split("|")]


def test_a_list_number_is_never_a_sentence_of_its_own() -> None:
    text = (
        "Grade is 3. 2. Left breast. A.\nRight breast\n4.\nNipple. DIAGNOSIS: A. Skin. PART 2. Fat"
    )
    pieces = split(text)
    assert "Grade is 3." in pieces
    assert not {"2.", "A.", "4.", "DIAGNOSIS: A.", "PART 2."} & set(pieces)


def test_punctuation_alone_is_joined_to_what_follows_it() -> None:
    assert split("The edge is free. :. No nodes.") == ["The edge is free. :. No nodes."]
    assert split("?!") == ["?!"]


def test_a_text_without_capitals_is_cut_at_its_stops() -> None:
    tokenised = "the tumor is solid . the margins are free . no nodes are seen ."
    assert len(split(tokenised)) == 3
    assert len(split("the tumor is solid and shows necrosis. " * 6)) == 6


def test_empty_text_has_no_sentences() -> None:
    assert sentences("") == sentences(" \n\t\n ") == ()


PROSE = (
    "The tumour measures 1.5 cm. in its largest dimension and lies\nin the upper pole. It is free "
    "of the margin (see block B.) and of\nthe capsule. Regional lymph nodes: 0/3.\n- Fat necrosis\n"
)


@pytest.mark.parametrize("scrap", [".", "\n", "a", "a.", "(", "()", "([", " ", "_", "?", PROSE])
def test_a_megabyte_of_anything_takes_less_than_two_seconds(scrap: str) -> None:
    text = scrap * (1_000_000 // len(scrap))
    start = time.process_time()
    sentences(text)
    assert time.process_time() - start < 2


@pytest.mark.skipif(not ANNOTATED.is_dir(), reason="the annotated corpus is not here")
def test_hardly_any_annotated_entity_is_cut() -> None:
    whole = cut = 0
    for path in (ANNOTATED / "train.jsonl", ANNOTATED / "dev.jsonl"):
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            starts = [sentence.start for sentence in sentences(row["text"])]
            for entity in row["entities"]:
                whole += 1
                cut += any(entity["start"] < start < entity["end"] for start in starts)
    assert cut / whole < 0.005
