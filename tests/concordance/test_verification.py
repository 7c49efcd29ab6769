"""What catalogues leave unmatched is put to an NLI model, both ways."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from histoeval import Pair, Score
from histoeval.align.aligner import LexicalAligner
from histoeval.concordance.verification import questions_about
from histoeval.metrics.concordance import Concordance
from histoeval.nli.entailer import Entailment, NliPair
from histoeval.reader.builtin import BuiltinReader
from tests.support.tables import from_table

REFERENCE = "Right colon, resection: Adenocarcinoma. The serosal surface is puckered."
REWORDED = "Right colon, resection: Adenocarcinoma. Dimpling is noted of the outer covering."
LONG = (
    "Sections show a moderately differentiated tumour with glandular architecture. The glands are "
    "lined by columnar cells with elongated nuclei. The stroma is desmoplastic with scattered "
    "lymphocytes and a few eosinophils. The background mucosa is unremarkable throughout. The "
    "proximal and distal ends show intact mucosa with preserved crypts and no inflammation. The "
    "attached fat contains small vessels without thrombosis and nerves that are unremarkable."
)

YES, NO, OPEN = (
    Entailment(0.97, 0.02, 0.01),
    Entailment(0.01, 0.02, 0.97),
    Entailment(0.0, 1.0, 0.0),
)


class ScriptedEntailer:
    """Answers by the first word of the script that stands in a hypothesis."""

    identity = "scripted"

    def __init__(self, script: Mapping[str, Entailment], otherwise: Entailment = YES) -> None:
        self.script, self.otherwise = script, otherwise
        self.judged: list[NliPair] = []

    def judge(self, pairs: Sequence[NliPair]) -> list[Entailment]:
        """One answer for each pair."""
        self.judged.extend(pairs)
        return [
            next((a for word, a in self.script.items() if word in p.hypothesis), self.otherwise)
            for p in pairs
        ]


def verified(
    reader: BuiltinReader, entailer: ScriptedEntailer, reference: str, candidate: str
) -> Score:
    metric = Concordance("concordance", reader=reader, aligner=LexicalAligner(), nli=entailer)
    (score,) = metric.score([Pair(id="1", reference=reference, candidate=candidate)])
    assert isinstance(score, Score)
    return score


def errors(score: Score) -> list[dict[str, Any]]:
    return list(score.evidence["errors"])


def test_what_the_other_report_entails_is_no_error(reader: BuiltinReader) -> None:
    open_ = verified(reader, ScriptedEntailer({}, OPEN), REFERENCE, REWORDED)
    found = verified(reader, ScriptedEntailer({}), REFERENCE, REWORDED)
    assert errors(open_)
    assert not errors(found)
    assert found.value == pytest.approx(1.0, abs=0.03)
    assert open_.value < found.value


def test_it_is_listed_with_a_mark_of_its_own(reader: BuiltinReader) -> None:
    found = verified(reader, ScriptedEntailer({}), REFERENCE, REWORDED)
    marked = [each for each in found.evidence["matches"] if each["part"] == "kept"]
    assert marked
    for each in marked:
        for side, text in (("reference", REFERENCE), ("candidate", REWORDED)):
            mention = each[side]
            assert text[mention["start"] : mention["end"]] == mention["text"]


def test_what_the_other_report_contradicts_is_a_contradiction(reader: BuiltinReader) -> None:
    candidate = REWORDED.replace("outer covering", "serosal surface")
    script = ScriptedEntailer({"puckered": NO, "Dimpling": NO})
    found = verified(reader, script, REFERENCE, candidate)
    assert found.value < verified(reader, ScriptedEntailer({}, OPEN), REFERENCE, candidate).value
    assert found.parts["consistent"] == pytest.approx(0.03)


def test_a_wrong_value_is_an_error_whatever_the_model_says(reader: BuiltinReader) -> None:
    reference = "Breast: invasive ductal carcinoma. HER2 negative."
    candidate = "Breast: invasive ductal carcinoma. HER2 positive (3+)."
    found = verified(reader, ScriptedEntailer({}), reference, candidate)
    assert "marker_flip" in {each["kind"] for each in errors(found)}
    assert found.value < 0.7


def test_statements_in_the_same_words_are_not_asked_about(reader: BuiltinReader) -> None:
    entailer = ScriptedEntailer({})
    verified(reader, entailer, REFERENCE, REFERENCE.upper().replace("THE SEROSAL", "The serosal"))
    assert not [each for each in entailer.judged if "Adenocarcinoma" in each.hypothesis]


def test_long_reports_are_asked_about_only_where_they_differ(reader: BuiltinReader) -> None:
    entailer = ScriptedEntailer({})
    verified(reader, entailer, f"{REFERENCE} {LONG}", f"{REWORDED} {LONG}")
    assert {each.hypothesis for each in entailer.judged} <= {
        "The serosal surface is puckered.",
        "Dimpling is noted of the outer covering.",
    }


def test_a_report_that_was_not_asked_about_as_a_whole_is_not_raised(reader: BuiltinReader) -> None:
    long, other = f"{REFERENCE} {LONG}", f"{REWORDED} {LONG} Margins: 3 mm."
    metric = Concordance(
        "concordance", reader=reader, aligner=LexicalAligner(), nli=ScriptedEntailer({})
    )
    (compared,) = metric.compare([Pair(id="1", reference=long, candidate=other)])
    assert compared.verification is None or compared.verification.mutual == 0.0


def test_nothing_is_asked_where_verification_is_off(reader: BuiltinReader) -> None:
    metric = Concordance("concordance", reader=reader, aligner=LexicalAligner(), verify=False)
    (score,) = metric.score([Pair(id="1", reference=REFERENCE, candidate=REWORDED)])
    assert isinstance(score, Score)
    assert "kept" not in score.parts


def test_an_empty_report_has_no_statement_to_ask_about(reader: BuiltinReader) -> None:
    metric = Concordance("concordance", reader=reader, aligner=LexicalAligner(), verify=False)
    (compared,) = metric.compare([Pair(id="1", reference=REFERENCE, candidate="")])
    asked = questions_about(compared.reference, compared.candidate, compared.parts)
    assert not [*asked.first({}), *asked.reverse({})]


def test_the_longer_of_two_reports_with_nothing_in_common_is_not_asked_about(
    reader: BuiltinReader,
) -> None:
    metric = Concordance("concordance", reader=reader, aligner=LexicalAligner(), verify=False)
    (compared,) = metric.compare([Pair(id="1", reference=REFERENCE, candidate=LONG)])
    asked = questions_about(compared.reference, compared.candidate, compared.parts)
    first = list(asked.first({}))
    assert first
    assert not list(asked.reverse(dict.fromkeys(first, OPEN)))
    assert list(asked.reverse(dict.fromkeys(first, NO)))


def test_a_statement_over_two_lines_is_asked_about_on_one(reader: BuiltinReader) -> None:
    broken = "Right colon, resection: Adenocarcinoma. Dimpling is noted\n  of the outer covering."
    nli = ScriptedEntailer({})
    verified(reader, nli, REFERENCE, broken)
    assert "Dimpling is noted of the outer covering." in {pair.hypothesis for pair in nli.judged}
    assert not errors(verified(reader, nli, broken, REFERENCE))


MISREAD = "Heart, biopsy: Mild cellular rejection. C4d negative."
REPHRASED = "Heart, biopsy: Mild cellular rejection. No capillary staining of any kind for C4d."


def flips(score: Score) -> list[str]:
    return [each["kind"] for each in errors(score) if each["kind"] == "marker_flip"]


def test_a_result_in_other_words_that_both_entail_is_no_flip(reader: BuiltinReader) -> None:
    doubted = verified(reader, ScriptedEntailer({}, OPEN), MISREAD, REPHRASED)
    found = verified(reader, ScriptedEntailer({}), MISREAD, REPHRASED)
    assert not flips(found)
    assert found.value > 0.9
    assert doubted.value < found.value


def test_a_result_in_the_same_words_is_as_it_reads(reader: BuiltinReader) -> None:
    flipped = MISREAD.replace("negative", "positive")
    assert flips(verified(reader, ScriptedEntailer({}), MISREAD, flipped))


def test_another_number_is_another_grade_in_any_words(reader: BuiltinReader) -> None:
    reference = "Kidney, resection: Clear cell renal cell carcinoma, nuclear grade 2."
    candidate = "The kidney harbours a clear cell renal carcinoma whose nuclei are of grade 4."
    found = verified(reader, ScriptedEntailer({}), reference, candidate)
    assert "wrong_grade" in [each["kind"] for each in errors(found)]


def test_a_leading_diagnosis_that_is_entailed_counts_as_made(reader: BuiltinReader) -> None:
    reference = (
        "Urinary bladder, resection. High-grade urothelial carcinoma entering the lamina propria. "
        "Carcinoma in situ in the mucosa nearby."
    )
    candidate = (
        "The resection shows a high-grade growth of urothelium that reaches the lamina propria. "
        "The flat mucosa nearby has carcinoma in situ."
    )
    doubted = verified(reader, ScriptedEntailer({}, OPEN), reference, candidate)
    found = verified(reader, ScriptedEntailer({}), reference, candidate)
    assert found.parts["diagnosis"] == pytest.approx(1.0)
    assert doubted.parts["diagnosis"] < 1.0


class PairedEntailer(ScriptedEntailer):
    """Contradicts wherever a premise holds one word and the hypothesis the other, or reversed."""

    def __init__(self, *opposites: tuple[str, str]) -> None:
        super().__init__({}, OPEN)
        self.opposites = opposites

    def judge(self, pairs: Sequence[NliPair]) -> list[Entailment]:
        """One answer for each pair."""
        self.judged.extend(pairs)
        return [
            NO if any(self._opposed(pair, *both) for both in self.opposites) else OPEN
            for pair in pairs
        ]

    @staticmethod
    def _opposed(pair: NliPair, one: str, other: str) -> bool:
        return (one in pair.premise and other in pair.hypothesis) or (
            other in pair.premise and one in pair.hypothesis
        )


def contradictions(score: Score) -> list[tuple[str, str]]:
    return [
        (each["reference"]["text"], each["candidate"]["text"])
        for each in errors(score)
        if each["kind"] == "contradiction"
    ]


def test_a_contradiction_names_the_statement_that_it_contradicts(reader: BuiltinReader) -> None:
    reference = "Skin: Psoriasis. The biopsy was oriented. The rete ridges are long and even."
    candidate = "Skin: Psoriasis. The biopsy was not inked. The rete ridges are short and uneven."
    entailer = PairedEntailer(("long and even", "short and uneven"))
    ((one, other),) = contradictions(verified(reader, entailer, reference, candidate))
    assert one.strip(".") in "The rete ridges are long and even"
    assert other.strip(".") in "The rete ridges are short and uneven"


@from_table
def test_statements_about_different_things_are_no_contradiction(
    reader: BuiltinReader, one: str, other: str
) -> None:
    entailer = PairedEntailer((one, other))
    said = verified(reader, entailer, f"Skin: Psoriasis. {one}.", f"Skin: Psoriasis. {other}.")
    assert contradictions(said) == []


def test_a_statement_is_contradicted_once(reader: BuiltinReader) -> None:
    reference = "Skin: Psoriasis. The rete ridges are long and even."
    candidate = "Skin: Psoriasis. The rete ridges are short. The rete ridges look uneven."
    entailer = PairedEntailer(("long and even", "short"), ("long and even", "uneven"))
    assert len(contradictions(verified(reader, entailer, reference, candidate))) == 1
