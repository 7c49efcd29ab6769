"""Features of wording and of how something was examined."""

from __future__ import annotations

import pytest

from tests.support.nli_features import is_seen


@pytest.mark.parametrize(
    ("premise", "hypothesis", "name"),
    [
        ("The epidermis is intact.", "The epidermis is ulcerated.", "contrast"),
        ("Frozen section: atypia.", "Paraffin sections: carcinoma.", "scene_frozen"),
        ("The needle biopsy has no necrosis.", "The resection shows necrosis.", "scene_sample"),
        ("Block A1: no tumour.", "Block A4: tumour.", "label_other"),
    ],
)
def test_a_feature_is_seen_and_none_that_rivals_it(
    premise: str, hypothesis: str, name: str
) -> None:
    assert is_seen(premise, hypothesis, name)
