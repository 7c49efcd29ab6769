from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra [web] is not installed")

from histoeval.web.study.plan import read_study
from histoeval.web.study.store import opened_stores
from tests.support.command import Command
from tests.support.paths import ROOT
from tests.support.rating_studies import rating, write_pairs, write_plan


def test_a_study_is_planned_watched_and_exported(command: Command, tmp_path: Path) -> None:
    write_pairs(tmp_path)
    made = command("study", "init", "pairs.csv", "--rater", "anna", "--rater", "ben")
    assert made.code == 0, made.err
    assert "for 12 pairs" in made.out
    study = read_study(tmp_path / "STUDY.yaml")
    assert study.file.raters == ("anna", "ben")
    before = command("study", "status", "STUDY.yaml")
    assert "No pair has two ratings yet" in before.out
    assert command("study", "export", "STUDY.yaml").code == 2
    with opened_stores(study) as stores:
        for rater, shift in (("anna", 0.0), ("ben", 0.5)):
            for number, pair in enumerate(study.pairs[:6]):
                stores[rater].append(
                    pair.key,
                    rating((number + shift) % 5),
                    request=f"request-{number}",
                    is_draft=False,
                )
    after = command("study", "status", "STUDY.yaml")
    assert "Krippendorff's alpha" in after.out
    assert "Pairs on which raters differ most" in after.out
    written = command("study", "export", "STUDY.yaml", "--output", "tables")
    assert "Next: histoeval agree tables/sheet.csv --scale 0,5" in written.out
    read = command("agree", "tables/sheet.csv", "--scale", "0,5", "--metrics", "bleu")
    assert read.code == 0, read.err
    assert "rater_anna (0 to 4), rater_ben (0.5 to 4.5)" in read.out


def test_links_are_for_the_address_that_raters_use(command: Command, tmp_path: Path) -> None:
    write_plan(tmp_path)
    found = command("study", "links", "STUDY.yaml", "--address", "http://lab:80/")
    assert found.out.count("http://lab:80/study/") == 4
    again = command("study", "links", "STUDY.yaml", "--address", "http://lab:80")
    assert again.out == found.out


def test_the_example_can_be_used() -> None:
    study = read_study(ROOT / "examples" / "study" / "STUDY.yaml")
    assert len(study.pairs) > 100
    assert "organ" in study.pairs[0].labels
