"""Figures of studies and of corpora: all are drawn, from what there is, and hide nothing."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

from histoeval.agreement.panel import Column
from histoeval.agreement.study import StudyPlan, study
from histoeval.cli.main import app
from histoeval.errors import InputError
from histoeval.report import Assertion, Entity, EntityType, Relation, Report
from histoeval.view.figures.agreement import figures
from histoeval.view.figures.annotated_report import annotated
from histoeval.view.figures.canvas import Canvas
from histoeval.view.figures.corpora import stopwords, word_cloud
from histoeval.view.figures.corpus_pictures import corpus_figures, sample_texts
from histoeval.view.figures.words import count_terms, density, flatten, neighbour_vectors, words_of
from tests.support.panels import made

QUICK = StudyPlan(resamples=50, permutations=10)
A = ["Invasive ductal carcinoma of the breast. Lymph node negative."] * 5 + [
    "Lymph node metastasis; carcinoma grade two."
]
B = ["Clear lungs, no pleural effusion.", "Small pleural effusion on the left."] * 3


def labels(picture: Canvas) -> list[str]:
    """What can be read in the file that people get."""
    texts = ElementTree.fromstring(picture.svg()).iter("{http://www.w3.org/2000/svg}text")
    return ["".join(text.itertext()) for text in texts]


@pytest.fixture(scope="module")
def drawn() -> dict[str, Canvas]:
    panel = made()
    return dict(figures(panel, study(panel, QUICK), QUICK))


def test_five_figures_show_every_metric_and_every_pair(drawn: dict[str, Canvas]) -> None:
    assert list(drawn) == ["scatter", "distribution", "calibration", "forest", "heatmap"]
    frames = drawn["scatter"].figure.axes
    dots = [len(np.asarray(each.get_offsets())) for axes in frames for each in axes.collections]
    assert sum(dots) == 48 * 3 + 40
    for picture in drawn.values():
        told = labels(picture)
        assert {"good", "bad", "errors", "partial"} <= set(told)
        assert picture.title in told
        assert picture.description


def test_the_same_study_is_the_same_bytes() -> None:
    panel = replace(made(), metrics={"good": made().metrics["good"]})
    found = study(panel, QUICK)
    once, again = (dict(figures(panel, found, QUICK)) for _ in range(2))
    for name, picture in once.items():
        assert picture.svg() == again[name].svg()
    assert once["scatter"].png() == again["scatter"].png()


def test_the_heatmap_has_ones_on_its_diagonal_and_is_symmetric(drawn: dict[str, Canvas]) -> None:
    cells = [
        text for text in labels(drawn["heatmap"]) if text.lstrip("-").replace(".", "").isdigit()
    ]
    table = np.array(cells, dtype=float).reshape(5, 5)
    assert np.diag(table) == pytest.approx(np.ones(5))
    assert table == pytest.approx(table.T)


def test_a_metric_that_says_nothing_is_left_out_and_all_such_draw_nothing() -> None:
    panel = replace(made(), metrics={"dull": Column(np.zeros(48))})
    assert list(figures(panel, study(panel, QUICK), QUICK)) == []


def test_terms_are_counted_alone_or_with_the_word_they_belong_to() -> None:
    counts = count_terms(A, stopwords())
    assert counts["lymph node"] == 6
    assert "lymph" not in counts
    assert "the" not in counts
    assert words_of("H&E: p16-positive, it's 3 cm") == ["h", "e", "p", "positive", "it's", "cm"]


def test_two_words_across_a_stop_are_no_term() -> None:
    assert count_terms(["benign. Breast", "benign. Breast"], frozenset()) == Counter(
        {"benign": 2, "breast": 2}
    )


def test_no_word_of_a_cloud_covers_another() -> None:
    counts = Counter({f"word{'x' * (n % 9)}{n}": 100 - n for n in range(80)})
    figure = word_cloud(counts, "cloud").figure
    words = figure.axes[0].texts[1:]
    assert len(words) > 40
    boxes = [word.get_window_extent() for word in words]
    for place, one in enumerate(boxes):
        assert figure.bbox.x0 <= one.x0 < one.x1 <= figure.bbox.x1
        for other in boxes[place + 1 :]:
            across = min(one.x1, other.x1) - max(one.x0, other.x0)
            along = min(one.y1, other.y1) - max(one.y0, other.y0)
            assert across < 2 or along < 2
    sizes = [float(word.get_fontsize()) for word in words]
    assert sizes == sorted(sizes, reverse=True)
    assert min(sizes) >= 8


def test_words_with_the_same_neighbours_get_the_same_vector() -> None:
    texts = ["cold big cat sat", "cold big dog sat"] * 3
    vectors = neighbour_vectors(texts, ["cold", "big", "cat", "dog", "sat"])
    assert vectors[2] == pytest.approx(vectors[3], abs=1e-6)
    assert not np.allclose(vectors[0], vectors[2])


def test_flat_vectors_keep_the_direction_of_most_spread() -> None:
    points = np.array([[0.0, 0, 0], [10, 0, 0], [20, 1, 0], [30, 0, 0]])
    flat = flatten(points)
    assert np.ptp(flat[:, 0]) == pytest.approx(30, abs=0.1)
    assert flatten(points[:, :1]).shape == (4, 2)


def test_density_is_highest_where_the_weight_is() -> None:
    points = np.array([[0.0, 0.0], [1.0, 1.0], [0.1, 0.1]])
    grid = np.linspace(0, 1, 5)
    found = density(points, np.array([5.0, 1.0, 5.0]), grid, grid)
    assert found.argmax() == 0


def test_a_report_is_shown_with_its_entities_and_relations() -> None:
    report = Report(
        text="No carcinoma.\nGrade 2",
        entities=(
            Entity(
                text="carcinoma",
                start=3,
                end=12,
                type=EntityType.DIAGNOSIS,
                assertion=Assertion.ABSENT,
            ),
            Entity(text="Grade 2", start=14, end=21, type=EntityType.GRADE),
        ),
        relations=(Relation(head=0, tail=1),),
    )
    told = labels(annotated(report, "mine"))
    assert "diagnosis, absent" in told
    assert "grade" in told
    assert "carcinoma → Grade 2" in told
    assert [word for word in told if word in ("No", "carcinoma.", "Grade", "2")] == [
        "No",
        "carcinoma.",
        "Grade",
        "2",
    ]


def test_all_figures_of_two_corpora_are_drawn() -> None:
    drawn = dict(corpus_figures([("pathology", A), ("radiology", B)], shown=0))
    assert list(drawn) == ["words_map", "words_cloud_1", "words_cloud_2"]
    assert {"pathology", "radiology"} <= set(labels(drawn["words_map"]))
    given = dict(
        corpus_figures(
            [("pathology", A), ("radiology", B)],
            embed=lambda words: np.arange(len(words) * 3.0).reshape(-1, 3) ** 1.5,
            shown=0,
        )
    )
    assert "Word embeddings by the encoder" in labels(given["words_map"])


def test_the_verb_writes_them_as_svg_and_png(tmp_path: Path) -> None:
    for name, texts in (("a", A), ("b", B)):
        (tmp_path / f"{name}.txt").write_text("\n".join(texts) + "\n", "utf-8")
    told = ["corpus", "figures", str(tmp_path / "a.txt"), str(tmp_path / "b.txt"), "--output"]
    result = CliRunner().invoke(app, [*told, str(tmp_path / "out"), "--names", "path,rad"])
    assert result.exit_code == 0, result.output
    names = {path.name for path in (tmp_path / "out").iterdir()}
    for name in ("words_map", "words_cloud_1", "words_cloud_2", "annotated_1_1", "annotated_2_1"):
        assert {f"{name}.svg", f"{name}.png"} <= names


def test_the_verb_tells_what_to_install_where_matplotlib_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("histoeval.view")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "histoeval.view.figures.corpus_pictures")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    told = ["corpus", "figures", "a.txt", "b.txt", "--output", str(tmp_path / "out")]
    result = CliRunner().invoke(app, told)
    assert "pip install 'histoeval[figures]'" in str(result.exception)
    assert not (tmp_path / "out").exists()


def test_samples_are_drawn_in_order_and_none_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "texts.txt"
    file.write_text("".join(f"report {n:03}\n" for n in range(50)), "utf-8")
    drawn = sample_texts(file, 10, seed=1)
    assert drawn == sorted(drawn)
    assert len(drawn) == 10
    assert drawn == sample_texts(file, 10, seed=1) != sample_texts(file, 10, seed=2)
    with pytest.raises(InputError, match="too few words"):
        list(corpus_figures([("a", ["x"]), ("b", ["y"])], shown=0))
