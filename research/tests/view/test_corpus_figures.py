"""Figures of corpora: words are counted, placed and drawn, and nothing covers anything else."""

import io
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from research.tests.support.annotated_passages import entity
from typer.testing import CliRunner

from histoeval.cli.main import app
from histoeval.errors import InputError
from histoeval.report import Assertion, EntityType, Relation, Report
from histoeval.view.figures.canvas import Canvas
from histoeval_research.view.annotated_report import annotated
from histoeval_research.view.corpus_figures import (
    corpus_figures,
    count_terms,
    density,
    flatten,
    neighbour_vectors,
    sample_texts,
    word_cloud,
    words_of,
)
from tests.support.svg_labels import labels

A = ["Invasive ductal carcinoma of the breast. Lymph node negative."] * 5 + [
    "Lymph node metastasis; carcinoma grade two."
]
B = ["Clear lungs, no pleural effusion.", "Small pleural effusion on the left."] * 3


def test_terms_are_counted_alone_or_with_the_word_they_belong_to() -> None:
    counts = count_terms(A)
    assert counts["lymph node"] == 6
    assert "lymph" not in counts
    assert "the" not in counts
    assert words_of("H&E: p16-positive, it's 3 cm") == ["h", "e", "p", "positive", "it's", "cm"]
    across_a_stop = count_terms(["benign. Breast", "benign. Breast"])
    assert across_a_stop == Counter({"benign": 2, "breast": 2})


def ink(canvas: Canvas) -> NDArray[np.bool_]:
    with Image.open(io.BytesIO(canvas.png())) as picture:
        return np.asarray(picture.convert("L")) < 160


def test_no_word_of_a_cloud_covers_another() -> None:
    counts = Counter({f"word{'x' * (n % 9)}{n}": 100 - 3 * n for n in range(25)})
    cloud = word_cloud(counts, "cloud")
    figure = cloud.figure
    title, *words = figure.axes[0].texts
    assert [word.get_text() for word in words] == list(counts)
    boxes = [word.get_window_extent() for word in words]
    assert all(figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 for box in boxes)
    sizes = [float(word.get_fontsize()) for word in words]
    assert sizes == sorted(sizes, reverse=True)
    assert min(sizes) >= 8
    title.set_visible(False)
    for bit in range(5):  # every two words differ in some bit of their places
        halves = []
        for side in (0, 1):
            for place, word in enumerate(words):
                word.set_visible(place >> bit & 1 == side)
            halves.append(ink(cloud))
        assert halves[0].any()
        assert not (halves[0] & halves[1]).any()
    assert word_cloud(Counter(), "nothing").description == "Most frequent words: "


def test_words_with_the_same_neighbours_get_the_same_vector() -> None:
    texts = ["cold big cat sat", "cold big dog sat"] * 3
    vectors = neighbour_vectors(texts, ["cold", "big", "cat", "dog", "sat"])
    assert vectors[2] == pytest.approx(vectors[3], abs=1e-6)
    assert not np.allclose(vectors[0], vectors[2])


def test_flat_vectors_keep_the_direction_of_most_spread() -> None:
    points = np.array([[0.0, 0, 0], [10, 0, 0], [20, 1, 0], [30, 0, 0]])
    assert np.ptp(flatten(points)[:, 0]) == pytest.approx(30, abs=0.1)
    assert flatten(points[:, :1]).shape == (4, 2)


def test_density_is_highest_where_the_weight_is() -> None:
    points = np.array([[0.0, 0.0], [1.0, 1.0], [0.1, 0.1]])
    grid = np.linspace(0, 1, 5)
    assert density(points, np.array([5.0, 1.0, 5.0]), grid, grid).argmax() == 0


def test_all_figures_of_two_corpora_are_drawn() -> None:
    corpora = [("pathology", A), ("radiology", B)]
    drawn = dict(corpus_figures(corpora, shown=0))
    assert list(drawn) == ["words_map", "words_cloud_1", "words_cloud_2"]
    assert {"pathology", "radiology"} <= set(labels(drawn["words_map"]))

    def embed(words: object) -> NDArray[np.float64]:
        return np.arange(len(words) * 3.0).reshape(-1, 3) ** 1.5  # type: ignore[arg-type]

    given = dict(corpus_figures(corpora, embed=embed, shown=0))
    assert "Word embeddings by the encoder" in labels(given["words_map"])
    with pytest.raises(InputError, match="too few words"):
        list(corpus_figures([("a", ["x"]), ("b", ["y"])], shown=0))


def test_a_report_is_shown_with_its_entities_and_relations() -> None:
    text = "No carcinoma.\nGrade 2"
    entities = (
        entity(text, "carcinoma", EntityType.DIAGNOSIS, Assertion.ABSENT),
        entity(text, "Grade 2", EntityType.GRADE),
    )
    report = Report(text=text, entities=entities, relations=(Relation(head=0, tail=1),))
    told = labels(annotated(report, "mine"))
    assert {"diagnosis, absent", "grade", "carcinoma → Grade 2"} <= set(told)
    assert [word for word in told if word in text.split()] == text.split()


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
    views = ("histoeval.view", "histoeval_research.view")
    for name in [name for name in sys.modules if name.startswith(views)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    told = ["corpus", "figures", "a.txt", "b.txt", "--output", str(tmp_path / "out")]
    result = CliRunner().invoke(app, told)
    assert "pip install 'histoeval[figures]'" in str(result.exception)
    assert not (tmp_path / "out").exists()


def test_samples_are_drawn_by_seed_and_in_order(tmp_path: Path) -> None:
    file = tmp_path / "texts.txt"
    file.write_text("".join(f"report {n:03}\n" for n in range(50)), "utf-8")
    drawn = sample_texts(file, 10, seed=1)
    assert len(drawn) == 10
    assert drawn == sorted(drawn) == sample_texts(file, 10, seed=1)
    assert drawn != sample_texts(file, 10, seed=2)
