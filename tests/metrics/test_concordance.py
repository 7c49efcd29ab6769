"""Concordance with the shipped reader: pairs of our own writing, each wrong in one way."""

import random
import time
from dataclasses import replace
from typing import Any

import pytest

from histoeval import Pair, Problem, Score, SettingError
from histoeval.align.aligner import LexicalAligner
from histoeval.concordance.compare import PARTS
from histoeval.concordance.weights import TERMS
from histoeval.metrics.base import MAX_CHARS
from histoeval.metrics.concordance import Concordance, PhraseSimilarity, weights, weights_hash
from histoeval.metrics.registry import create
from histoeval.reader.builtin import BuiltinReader
from tests.support.report_builder import MarkedReader, report
from tests.support.tables import from_table

BREAST = (
    "Left breast, core biopsy: Invasive ductal carcinoma, grade 2. ER: positive. HER2: negative. "
    "No lymphovascular invasion is seen. The tumour measures 2.1 cm. pT2 N0."
)
BENIGN = "Left breast, core biopsy: Fibroadenoma."
STOMACH = "Stomach, biopsy: Adenocarcinoma."
COLON = "Colon, resection: Adenocarcinoma."
INVADED = "Colon, resection: Adenocarcinoma with perineural invasion."
REACTIVE = "Lymph node: reactive hyperplasia."
SPREAD = "Liver, biopsy: Metastatic adenocarcinoma."

PAIRS = {
    "self": (BREAST, BREAST),
    "undercall": (BREAST, BENIGN),
    "overcall": (BENIGN, BREAST),
    "side": (BREAST, BREAST.replace("Left", "Right")),
    "grade": (BREAST, BREAST.replace("grade 2", "grade 3")),
    "stage": (BREAST, BREAST.replace("pT2 N0", "pT4 N2")),
    "marker": (BREAST, BREAST.replace("ER: positive", "ER: negative")),
    "size": (BREAST, BREAST.replace("2.1 cm", "6.5 cm")),
    "contradicted": (
        BREAST,
        BREAST.replace("No lymphovascular invasion is seen", "Lymphovascular invasion is present"),
    ),
    "omitted": (INVADED, COLON),
    "invented": (COLON, INVADED),
    "denied": (STOMACH, "Stomach, biopsy: Negative for adenocarcinoma."),
    "hedged": (STOMACH, "Stomach, biopsy: Suspicious for adenocarcinoma."),
    "gap": (STOMACH, "Stomach, biopsy: [insert diagnosis, e.g. carcinoma]"),
    "advice": (REACTIVE, f"{REACTIVE} Further evaluation to rule out lymphoma is recommended."),
    "spread": (SPREAD, SPREAD.replace("Metastatic adeno", "Adeno")),
    "organ": (COLON, COLON.replace("Colon", "Lung")),
    "synonym": (BREAST, BREAST.replace("Invasive ductal", "Infiltrating duct")),
    "empty": (BREAST, ""),
    "from nothing": ("", BREAST),
    "both empty": ("", ""),
    "emoji": (BREAST, f"🔬🧬 {BREAST} 👩‍⚕️"),
}


def pair(name: str) -> Pair:
    reference, candidate = PAIRS[name]
    return Pair(id=name, reference=reference, candidate=candidate)


@pytest.fixture(scope="module")
def metric(reader: BuiltinReader) -> Concordance:
    return Concordance(name="concordance", reader=reader, aligner=LexicalAligner(), verify=False)


@pytest.fixture(scope="module")
def scores(metric: Concordance) -> dict[str, Score]:
    found = metric.score([pair(name) for name in PAIRS])
    assert all(isinstance(each, Score) for each in found)
    return {name: each for name, each in zip(PAIRS, found, strict=True) if isinstance(each, Score)}


def errors(score: Score) -> list[dict[str, Any]]:
    return list(score.evidence["errors"])


@from_table
def test_what_is_wrong_is_told_with_its_kind_and_severity_and_costs(
    scores: dict[str, Score], name: str, kind: str, severity: int
) -> None:
    told = [error for error in errors(scores[name]) if error["kind"] == kind]
    assert told, errors(scores[name])
    assert max(error["severity"] for error in told) >= severity
    assert scores[name].value < 1


@from_table
def test_only_the_wrong_part_is_less_than_1(scores: dict[str, Score], name: str, part: str) -> None:
    low = {key for key, value in scores[name].parts.items() if key in PARTS and value < 1}
    assert low == {part}
    assert len(errors(scores[name])) == 1


def test_what_was_denied_and_is_there_is_both_wrong_and_made_up(scores: dict[str, Score]) -> None:
    parts = scores["contradicted"].parts
    assert parts["findings"] < 1
    assert parts["no_inventions"] < 1
    assert parts["diagnosis"] == parts["grade"] == parts["markers"] == 1


@pytest.mark.parametrize("name", ["self", "emoji", "advice", "synonym"])
def test_nothing_is_wrong_where_the_same_is_said(scores: dict[str, Score], name: str) -> None:
    score = scores[name]
    assert (score.value, score.parts["expert_scale"], errors(score)) == (1.0, 5.0, [])


@pytest.mark.parametrize("text", [BREAST, SPREAD, "", "Pale.", "Necrosis.", PAIRS["gap"][1], "🔬"])
def test_a_report_beside_itself_is_perfect(metric: Concordance, text: str) -> None:
    (score,) = metric.score([Pair(id="1", reference=text, candidate=text)])
    assert isinstance(score, Score)
    assert score.value == 1.0
    assert set(score.parts.values()) <= {1.0, 5.0}


def test_worse_is_lower(scores: dict[str, Score]) -> None:
    def value(name: str) -> float:
        return scores[name].value

    assert value("undercall") < value("hedged") < value("omitted") < value("self")
    assert value("overcall") < value("side")
    assert value("denied") < value("hedged")
    assert value("contradicted") < value("omitted")
    assert value("organ") < 0.6
    assert max(value("undercall"), value("overcall"), value("denied"), value("gap")) < 0.25
    assert value("empty") < 0.1


def test_a_hedged_diagnosis_is_about_half_a_match(scores: dict[str, Score]) -> None:
    assert 0.3 <= scores["hedged"].value <= 0.75
    assert 0.4 <= scores["hedged"].parts["diagnosis"] <= 0.8


def test_a_primary_for_a_metastasis_is_told_by_the_part(scores: dict[str, Score]) -> None:
    assert scores["spread"].parts["spread"] == 0
    assert scores["spread"].value < 1


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_every_span_is_a_slice_of_the_right_text(scores: dict[str, Score], name: str) -> None:
    reference, candidate = PAIRS[name]
    for each in (*scores[name].evidence["matches"], *errors(scores[name])):
        for mention, text in ((each["reference"], reference), (each["candidate"], candidate)):
            if mention:
                assert text[mention["start"] : mention["end"]] == mention["text"]


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_both_scales_agree_and_a_score_survives_json(scores: dict[str, Score], name: str) -> None:
    score = scores[name]
    assert 0 <= score.value <= 1
    assert abs(score.parts["expert_scale"] - 5 * score.value) <= 0.25 + 1e-9
    assert (2 * score.parts["expert_scale"]).is_integer()
    assert set(score.parts) - {"expert_scale"} <= {*PARTS, "safety"}
    assert Score.model_validate_json(score.model_dump_json()) == score


def test_batch_and_order_do_not_matter(scores: dict[str, Score]) -> None:
    names = sorted(PAIRS)
    random.Random(5).shuffle(names)
    reader = BuiltinReader(threads=1)
    afresh = Concordance(name="concordance", reader=reader, aligner=LexicalAligner(), verify=False)
    for start in range(0, len(names), 4):
        few = names[start : start + 4]
        assert afresh.score([pair(name) for name in few]) == [scores[name] for name in few]


def test_each_text_is_read_once() -> None:
    class Counting(MarkedReader):
        seen: list[str] = []  # noqa: RUF012 - one reader only

        def read(self, texts: Any) -> Any:
            self.seen += texts
            return super().read(texts)

    reader = Counting([])
    metric = Concordance(name="concordance", reader=reader, aligner=LexicalAligner(), verify=False)
    metric.score([Pair(id=str(n), reference="a", candidate="b") for n in range(5)])
    assert sorted(reader.seen) == ["a", "b"]


def test_the_longest_text_that_is_read_is_compared_in_seconds() -> None:
    cases, seconds = 1_360, 8
    source = random.Random(7)
    case = (
        "DIAGNOSIS: {{site:Right breast}}: {{diagnosis:Invasive ductal carcinoma}}, "
        "{{grade:grade 2}}, {{measurement:{} cm}}, [insert the date]. {{marker:ER}}: "
        "{{result:{}%}}. No {{finding:-necrosis}}. We recommend to rule out "
        "{{diagnosis:?lymphoma}}.\n"
    )
    marked = "".join(
        case.format(source.randint(1, 300) / 10, source.randint(1, 99)) for _ in range(cases)
    )
    text = report(marked).text
    assert 0.9 * MAX_CHARS < len(text) < MAX_CHARS
    reader = MarkedReader([marked])
    metric = Concordance(name="concordance", reader=reader, aligner=LexicalAligner(), verify=False)
    start = time.process_time()
    (score,) = metric.score([Pair(id="1", reference=text, candidate=text)])
    assert time.process_time() - start < seconds
    assert isinstance(score, Score)
    assert score.value == 1.0


def test_without_models_it_says_what_it_needs() -> None:
    with pytest.raises(SettingError, match=r"Models\(reader="):
        create("concordance").score([pair("self")])


def test_the_signature_pins_models_and_weights(metric: Concordance) -> None:
    signature = str(metric.signature)
    assert metric.reader.identity in signature
    assert f"weights:{weights_hash()}" in signature
    assert metric.range == (0.0, 1.0)


def test_phrases_are_alike_between_0_and_1() -> None:
    phrases = PhraseSimilarity(LexicalAligner())
    phrases.embed(["clear cell tumour", "clear cell tumor"])
    assert phrases.likeness("clear cell tumour", "clear cell tumour") == 1.0
    assert 0.5 < phrases.likeness("clear cell tumour", "clear cell tumor") <= 1.0
    assert phrases.likeness("clear cell tumour", "oedema") == 0.0


def test_the_shipped_weights_are_few_enough_to_print() -> None:
    assert 1 <= len(weights().expert.weights) <= len(TERMS) <= 20


def test_a_pair_in_another_language_is_refused_unless_asked(reader: BuiltinReader) -> None:
    """Two different carcinomas in German had 0.963."""
    german = Pair(
        id="de",
        reference="Haut: Basalzellkarzinom, knotig",
        candidate="Haut: Plattenepithelkarzinom",
    )
    metric = Concordance(name="concordance", reader=reader, aligner=LexicalAligner(), verify=False)
    english, refused = metric.score([pair("synonym"), german])
    assert isinstance(english, Score)
    assert isinstance(refused, Problem)
    assert (refused.code, refused.metric) == ("not_english", "concordance")
    asked = replace(metric, language="any")
    assert isinstance(asked.score([german])[0], Score)
    assert "language" not in str(metric.signature)
    assert "language:any" in str(asked.signature)
