"""Random, truncated, mixed-script and adversarial texts: none of them upsets the builtin reader.

Some of them always run; `HISTOEVAL_FUZZ=1000` runs so many lists of up to 25.
"""

import os
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from histoeval.reader.builtin import BuiltinReader
from histoeval.report import RELATION_TYPES, EntityType, Report

EXAMPLES = int(os.environ.get("HISTOEVAL_FUZZ", "40"))  # each of up to 25 texts

REPORTS = (
    "Left breast, excision: invasive lobular carcinoma, grade 1, 2.3 cm. ER: positive (90%); "
    "PR: positive; HER2: 1+. No lymphovascular invasion. pT2 N0 (0/4).",
    "STOMACH, ANTRUM, BIOPSY:\n- Chronic active gastritis.\n- Helicobacter pylori not identified.\n"
    "- Negative for intestinal metaplasia and dysplasia.",
    "A. Skin, back, shave: Nevus, compound, with mild atypia; margins clear.\r\n"
    "B. Skin, arm, punch: Favor lichen planus; drug eruption cannot be excluded.",
    "Prostate, left base: adenocarcinoma, Gleason 4+3=7 (grade group 3), 40% of core, "
    "perineural invasion present. CK903 and p63 negative; AMACR positive.",
    "Kidney, right, nephrectomy: Clear cell renal cell carcinoma, ISUP grade 3, measuring "
    "7 x 5.5 x 5 cm, limited to the kidney. CD10 (+), CK7 (-), CAIX diffusely positive.",
)
WORDS = sorted({word for report in REPORTS for word in report.split()})
SCRIPTS = tuple(
    "癌細胞 腺がん рак καρκίνωμα سرطان סרטן कर्कट มะเร็ง 암종 İıſß naïve Sjo\u0308gren ﬁbrosis "
    "𝒄𝒂𝒓𝒄𝒊𝒏𝒐𝒎𝒂 🔬 👩\u200d🔬 🇩🇪 e\u0301\u0302\u0303 ㎝²".split()
)
ADVERSARIAL = (
    *("[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]", "##oma", "##", "</s>", "<s>", "\0", "\ufffd"),
    *("\ud800", "\udfff", "\ud83d\ude00", "\ufeff", "\u200b", "\u202e", "\u00ad", "\x85", "\u2028"),
    *("%s", "{0}", "\\u0000", "NaN", "null", "-0", "1e999", "'; --", "((((", "....", "1.", "2)"),
    *("\t", "\r\n", "\x1b[31m", "\u0300" * 9, "a" * 101, "9" * 120, "é" * 60, "\U0010ffff"),
)
SPACES = ("", "\n", ", ", ": ", "\u00a0", "  ")

ANYTHING = st.text(st.characters(exclude_categories=()), max_size=9)  # halves of characters too
CUT = st.builds(
    lambda report, start, length: report[start : start + length],
    *(st.sampled_from(REPORTS), st.integers(0, 160), st.integers(1, 45)),
)
IN_WRONG_ENCODING = st.builds(
    lambda text, script, first, encoding: (
        (text + script).encode()[first:].decode(encoding, "replace")
    ),
    *(CUT, st.sampled_from(SCRIPTS), st.integers(0, 3)),
    st.sampled_from(["latin-1", "cp437", "utf-16-le"]),
)
PIECES = st.one_of(
    st.sampled_from([f"{word} " for word in WORDS]),
    *(st.sampled_from(SCRIPTS + SPACES), st.sampled_from(ADVERSARIAL), CUT, ANYTHING),
)
TEXTS = st.one_of(st.lists(PIECES, max_size=12).map("".join), CUT, ANYTHING, IN_WRONG_ENCODING)


ODD = {
    "emoji": "Breast 🔬: invasive carcinoma 🧬👩‍⚕️, ER: positive 👍🏽",
    "combining accents": "I\u0301nva\u0308sive carcin\u0303o\u0302ma of the brea\u0327st\u0301",
    "dotted capital I": "İNVASİVE CARCİNOMA İİİİ of the İİ breast, ER: POSİTİVE",
    "ligatures": "ﬁbroadenoma of the breast, a ﬄat ﬆromal proﬁle; ﷺ ㎝ ½",
    "Chinese": "乳腺浸润性癌 invasive carcinoma, ER 阳性 positive",
    "right to left": "\u202e\u0633\u0631\u0637 invasive carcinoma\u202c of the \u05e9\u05d3 breast",
    "half characters": "Invasive carc\ud83dinoma \udc00 of the breast, ER: \ud800positive",
    "NUL": "\0Invasive\0 carcinoma of the\0breast, ER: positive\0",
    "special tokens": "[SEP] [CLS] invasive carcinoma [MASK] of the [PAD] breast [UNK] [SEP]",
    "byte order marks": "\ufeffInvasive carcinoma\ufeff of the breast",
    "joiners and soft hyphens": "Inva\u00adsive carci\u200bnoma of the bre\u2060ast",
    "far planes": "\U0001d574nvasive \U0001d41c\U0001d41arcinoma \U00013000 of breast \U0010ffff",
    "mixed line ends": "Invasive carcinoma\r\n\rof\u2028the\u2029breast\x0b\x0c\x85 ER: positive",
    "many accents on one letter": "carcinoma a" + "\u0301" * 3000 + " of the breast",
    "many line ends": "\n" * 5000 + "Invasive carcinoma" + " " * 5000 + "of the breast",
    "control characters": "\x01\x02\x03\x7f\x80",
    "nothing": "",
    "blank": " \n\t ",
    "one letter": "a",
    "no space": "invasivecarcinoma" * 1177,
    "one letter over and over": "a" * 20_000,
    "digits": "Invasive carcinoma, ER: positive " + "1" * 20_000,
    "dots": "Invasive carcinoma, ER: positive" + "." * 2_000,
    "open brackets": "Invasive carcinoma, ER: positive" + "(" * 2_000,
}


def complaint(report: Report, text: str) -> str | None:
    """What is wrong with a report, found without trusting the model of a report."""
    entities = report.entities
    if report.text != text:
        return "another text"
    if any(text[e.start : e.end] != e.text or not 0 <= e.start < e.end for e in entities):
        return "an entity is not what stands there"
    if any(one.end > other.start for one, other in pairwise(entities)):
        return "entities overlap or are not in order"
    scores = [e.score for e in entities] + [r.score for r in report.relations]
    if not all(0 <= score <= 1 for score in scores):
        return "a confidence is not between 0 and 1"
    kinds = [(entities[r.head].type, entities[r.tail].type) for r in report.relations]
    return None if RELATION_TYPES.issuperset(kinds) else "types that cannot be related"


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=25))
@example([*ODD.values()])
def test_no_text_upsets_the_reader(reader: BuiltinReader, texts: list[str]) -> None:
    reports = reader.read(texts)
    assert len(reports) == len(texts)
    for report, text in zip(reports, texts, strict=True):
        assert complaint(report, text) is None, repr(text)


@pytest.mark.parametrize(
    "name", ["emoji", "half characters", "NUL", "special tokens", "Chinese", "digits"]
)
def test_what_is_odd_does_not_hide_what_is_not(reader: BuiltinReader, name: str) -> None:
    (report,) = reader.read([ODD[name]])
    assert EntityType.DIAGNOSIS in {entity.type for entity in report.entities}
