import csv
from pathlib import Path

import pytest

from histoeval.errors import InputError
from histoeval.io.results import ScoredMetric
from histoeval.io.sheets import read_sheet
from histoeval.web.study.figures import export, figures
from histoeval.web.study.plan import ExpertStudy
from histoeval.web.study.store import RaterRatings
from tests.support.rating_studies import make_study, rated

ANNA = [0, 1, 2, 3, 4, 5, 0.5, 1.5, 2.5, 3.5, 4.5, 5]
BEN = [0, 1, 2, 3, 4, 5, 1, 2, 2, 3, 5, 0]


def _ratings(study: ExpertStudy) -> dict[str, RaterRatings]:
    error = {
        "kind": "omission",
        "severity": 3,
        "reference": {"start": 0, "end": 6, "text": study.pairs[0].reference[:6]},
    }
    return {
        "anna": rated(study, [*map(float, ANNA)], errors=[error], comment="= a comment, \n twice"),
        "ben": rated(study, [*map(float, BEN)]),
        "chloe": rated(study, [None, 1.0]),
    }


def test_the_sheet_is_read_as_it_was_scored(tmp_path: Path) -> None:
    study = make_study(tmp_path)
    files = export(study, _ratings(study), tmp_path / "export")
    assert [file.name for file in files] == ["sheet.csv", "ratings.csv", "errors.csv"]
    sheet = read_sheet(files[0], labels=["organ"])
    assert not sheet.problems
    assert [row.scores["rater_anna"] for row in sheet.rated] == ANNA
    assert [row.scores["rater_ben"] for row in sheet.rated] == BEN
    assert [row.scores.get("rater_chloe") for row in sheet.rated] == [None, 1, *[None] * 10]
    for row, pair in zip(sheet.rated, study.pairs, strict=True):
        assert (row.pair.id, row.pair.system) == pair.key
        assert (row.pair.reference, row.pair.candidate) == (pair.reference, pair.candidate)
        assert (row.group, row.labels["organ"]) == (pair.group, pair.labels["organ"])


def test_ratings_and_errors_are_tables_too(tmp_path: Path) -> None:
    study = make_study(tmp_path)
    _, ratings, errors = export(study, _ratings(study), tmp_path / "export")
    with ratings.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 25
    assert rows[0]["rater"] == "anna"
    assert rows[0]["factual_accuracy"] == "2"
    assert rows[0]["comment"] == "= a comment, \n twice"
    assert (rows[0]["errors"], rows[0]["revisions"]) == ("1", "1")
    with errors.open(encoding="utf-8", newline="") as file:
        marked = list(csv.DictReader(file))
    assert len(marked) == 12
    assert (marked[0]["kind"], marked[0]["severity"]) == ("omission", "major")
    assert (marked[0]["reference"], marked[0]["candidate"]) == (study.pairs[0].reference[:6], "")


def test_an_export_before_the_first_score_is_refused(tmp_path: Path) -> None:
    study = make_study(tmp_path)
    with pytest.raises(InputError, match="nobody has scored"):
        export(study, {"anna": RaterRatings()}, tmp_path / "export")


def test_agreement_grows_with_the_ratings(tmp_path: Path) -> None:
    study = make_study(tmp_path)
    nothing = figures(study, {name: RaterRatings() for name in study.file.raters}, {})
    assert (nothing.agreement, nothing.growth, nothing.apart) == (None, (), ())
    found = figures(study, _ratings(study), {})
    assert [each.saved for each in found.progress] == [12, 12, 1]
    assert found.agreement is not None
    assert found.agreement.alpha.value == pytest.approx(found.growth[-1].alpha)
    assert found.growth[-1].pairs == 12
    assert [*found.criteria] == [each.name for each in study.criteria]
    assert found.criteria[study.criteria[0].name].reason == "all ratings are the same"
    assert [step.pairs for step in found.growth] == sorted(step.pairs for step in found.growth)


def test_the_pairs_that_opinions_part_on_come_first(tmp_path: Path) -> None:
    study = make_study(tmp_path)
    praised = {pair.key: float(12 - number) for number, pair in enumerate(study.pairs)}
    metrics = {"bleu": ScoredMetric(praised, "bleu|x", (0.0, 100.0))}
    found = figures(study, _ratings(study), metrics)
    assert (found.apart[0].number, found.apart[0].gap) == (12, 5)
    assert found.apart[0].scores == {"anna": 5, "ben": 0}
    first = found.metric_apart[0]
    assert first.metric == "bleu"
    assert study.pairs[first.number - 1].key == (first.found.id, first.found.system)
