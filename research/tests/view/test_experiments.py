"""The page of examples: changes are shown in the true report, and nothing is taken for HTML."""

from typing import Any

from histoeval_research.experiments.perturb import PerturbedRow
from histoeval_research.view.experiment_tables import edited_text, experiment_page


def row(**given: Any) -> PerturbedRow:
    usual = {"id": "c1", "case": "c", "edit": "other_side", "group": "detail", "level": 3}
    texts = {"reference": "left <breast>", "report": "right <breast>"}
    changes = [{"start": 0, "before": "left", "after": "right"}]
    return PerturbedRow.model_validate({**usual, **texts, "changes": changes, **given})


def test_changes_are_shown_in_the_true_report_where_they_fit() -> None:
    assert edited_text(row()) == "<del>left</del><ins>right</ins> &lt;breast&gt;"
    assert '<ins class="same">' in edited_text(row(level=1))
    odd = [{"start": 3, "before": "left", "after": "right"}]
    assert edited_text(row(changes=odd)) == "right &lt;breast&gt;"


def test_a_page_without_scores_or_images_is_whole() -> None:
    page = experiment_page([row(case="<c>")], [])
    assert "<h2>&lt;c&gt;</h2>" in page
    assert "no image" in page
    assert page.strip().endswith("</html>")
