import pickle
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from histoeval.align.builtin import BuiltinAligner
from histoeval.nli.builtin import BuiltinEntailer
from histoeval.nli.entailer import NliPair
from histoeval.reader.builtin import BuiltinReader
from histoeval.report import Report

pytestmark = pytest.mark.heavy

# the CPU by a name that asks for torch, so that what a GPU runs is tested without one
TORCH = "cpu:0"

FINDINGS = (
    "Invasive ductal carcinoma of the left breast, grade 2, 1.4 cm",
    "No lymphovascular invasion is seen",
    "ER: positive (90 %), PR: negative, HER2: 1+",
    "Three of 12 axillary lymph nodes with metastasis",
    "Margins free of tumour",
    "Tubular adenoma of the ascending colon with low-grade dysplasia",
    "Helicobacter pylori not identified",
    "Prostatic adenocarcinoma, Gleason score 3+4=7",
    "Chronic active gastritis, possibly autoimmune",
    "Ki-67 is about 20 %",
)


def reports(count: int) -> list[str]:
    """Reports written by rule for this test; the last is longer than a window."""
    choose = random.Random(19)
    texts = [
        ". ".join(choose.sample(FINDINGS, choose.randint(1, 6))) + "." for _ in range(count - 2)
    ]
    return [*texts, "", ". ".join(choose.choices(FINDINGS, k=60)) + "."]


def decisions(report: Report) -> tuple[Any, ...]:
    return (
        [(e.start, e.end, e.type, e.assertion) for e in report.entities],
        [(r.head, r.tail) for r in report.relations],
    )


def scores(report: Report) -> list[float]:
    return [e.score for e in report.entities] + [r.score for r in report.relations]


@pytest.fixture(scope="module")
def on_torch() -> list[Report]:
    return BuiltinReader(device=TORCH).read(reports(80))


def test_torch_decides_as_onnxruntime_does(on_torch: Sequence[Report]) -> None:
    expected = BuiltinReader().read(reports(80))
    assert [decisions(report) for report in on_torch] == [decisions(each) for each in expected]
    ours, theirs = ([s for each in some for s in scores(each)] for some in (on_torch, expected))
    np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_a_text_read_alone_is_read_as_among_others(on_torch: Sequence[Report]) -> None:
    texts, reader = reports(80), BuiltinReader(device=TORCH)
    for place in (0, 7, 78, 79):
        (found,) = reader.read([texts[place]])
        assert decisions(found) == decisions(on_torch[place])


def test_assertions_and_relations_of_given_entities_are_completed_on_torch(
    on_torch: Sequence[Report],
) -> None:
    (completed,) = BuiltinReader(device=TORCH).complete([on_torch[0]])
    assert decisions(completed) == decisions(on_torch[0])


def test_the_identity_names_what_runs_the_models() -> None:
    reader, aligner = BuiltinReader(device=TORCH), BuiltinAligner(device=TORCH)
    assert "/torch" in reader.identity
    assert "/torch" in aligner.identity
    assert "onnxruntime" not in reader.identity + aligner.identity


def test_phrases_have_the_same_vectors_on_torch() -> None:
    phrases = [phrase for text in FINDINGS for phrase in text.split(", ")]
    ours, theirs = BuiltinAligner(device=TORCH).embed(phrases), BuiltinAligner().embed(phrases)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_pairs_are_judged_alike_on_torch() -> None:
    pairs = [NliPair(one, two) for one in FINDINGS for two in FINDINGS]
    ours, theirs = BuiltinEntailer(device=TORCH).judge(pairs), BuiltinEntailer().judge(pairs)
    np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_a_reader_on_torch_travels_as_its_files(on_torch: Sequence[Report]) -> None:
    reader = pickle.loads(pickle.dumps(BuiltinReader(device=TORCH)))
    (found,) = reader.read(reports(80)[:1])
    assert decisions(found) == decisions(on_torch[0])
    assert "/torch" in reader.identity
