"""What tiles show, as entries of the bank, and the figures that come of it."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.errors import InputError
from histoeval.evaluate.grounding_scores import (
    ScoredTiles,
    auroc,
    behaviour_figures,
    organ_figures,
)
from histoeval.evaluate.tile_labels import (
    FALSE,
    TRUE,
    UNKNOWN,
    LabelledTile,
    all_entries,
    entries_of,
    families,
    read_tiles,
    stain_kind,
    targets_of,
)


def tile(organ: str | None, behaviour: str | None = None, **others: str | None) -> LabelledTile:
    told = {"concept": None, "stain": "H&E", "slide": "s", "case": "c", "split": "train"} | others
    return LabelledTile(key="k", organ=organ, behaviour=behaviour, **told)  # type: ignore[arg-type]


def target(of: LabelledTile, group: str, name: str) -> int:
    entries = [entry for entry in all_entries() if (entry.group, entry.name) == (group, name)]
    return int(targets_of([of], entries)[0, 0])


IHC = tile("colon", "benign", stain="IHC CD20")


@pytest.mark.parametrize(
    ("shown", "group", "name", "expected"),
    [
        # an organ is true and so is what holds it, but its parts stay open
        (tile("duodenum"), "organ", "duodenum", TRUE),
        (tile("duodenum"), "organ", "intestine", TRUE),
        (tile("intestine"), "organ", "duodenum", UNKNOWN),
        (tile("duodenum"), "organ", "colon", FALSE),
        (tile(None), "organ", "colon", UNKNOWN),
        # what the index does not say is not a no
        (tile("colon"), "behaviour", "malignant", UNKNOWN),
        (tile("colon"), "family", "inflammation", UNKNOWN),
        (tile("colon"), "site", "malignant colon", UNKNOWN),
        (tile("colon"), "site", "malignant liver", FALSE),
        (tile("colon", "malignant"), "site", "malignant colon", TRUE),
        (tile("colon", "benign"), "site", "malignant colon", FALSE),
        # of another stain only the stain is learned
        (IHC, "organ", "colon", UNKNOWN),
        (IHC, "stain", "immunohistochemistry", TRUE),
        (IHC, "stain", "H&E", FALSE),
    ],
)
def test_what_is_true_of_a_tile(shown: LabelledTile, group: str, name: str, expected: int) -> None:
    assert target(shown, group, name) == expected


@pytest.mark.parametrize(
    ("stain", "kind"),
    [
        ("H&E", "H&E"),
        ("IHC GFAP", "immunohistochemistry"),
        ("Papanicolaou (cytology)", "cytology"),
        ("Congo red", "special stain"),
    ],
)
def test_stains_are_of_four_kinds(stain: str, kind: str) -> None:
    assert stain_kind(stain) == kind


def test_every_entry_has_a_name_and_wordings_of_its_own() -> None:
    keys = [(entry.group, entry.name) for entry in all_entries()]
    assert len(keys) == len(set(keys))
    assert all(phrase.strip() for entry in all_entries() for phrase in entry.phrases)
    assert all(len(set(entry.phrases)) == len(entry.phrases) for entry in all_entries())
    assert all(listed for listed in families().values())


def test_a_broken_index_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "index.jsonl"
    path.write_text('{"key": "a"}\n', "utf-8")
    with pytest.raises(InputError, match="line 1"):
        read_tiles(path)


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=12))
def test_auroc_is_the_share_of_pairs_in_the_right_order(rows: list[tuple[int, bool]]) -> None:
    pairs = [
        1.0 if a > b else 0.5 if a == b else 0.0 for a, x in rows if x for b, y in rows if not y
    ]
    found = auroc([float(value) for value, _ in rows], [truth for _, truth in rows])
    assert found == (pytest.approx(sum(pairs) / len(pairs)) if pairs else None)


def test_figures_of_a_model_that_knows_everything_are_one() -> None:
    tiles = [
        tile(organ, behaviour, slide=f"{organ} {behaviour}")
        for organ in ("colon", "liver")
        for behaviour in ("benign", "malignant")
    ]
    entries = entries_of(tiles)
    found = ScoredTiles(tiles, entries, (targets_of(tiles, entries) == TRUE).astype(np.float64))
    assert organ_figures(found, ["colon", "liver"])["top1"] == 1
    assert behaviour_figures(found, ["colon", "liver"])["within_organ"] == 1
    assert len(found.slides().tiles) == 4


ROW = {
    "key": "one",
    "organ": "lung",
    "concept": "normal lung",
    "benign_or_malignant": "benign",
    "stain": "H&E",
    "slide_or_patient": "patient 6",
    "case_group": "six",
    "split": "train",
}


def index_of(folder: Path, *rows: dict[str, str]) -> list[LabelledTile]:
    index = folder / "index.jsonl"
    index.write_text("".join(f"{json.dumps(ROW | row)}\n" for row in rows), "utf-8")
    return read_tiles(index)


def test_tiles_of_lunghist_are_what_the_names_of_their_images_say(tmp_path: Path) -> None:
    """An index that was joined by image number calls carcinoma normal, and mixes up patients."""
    names = ("aca_bd_20x_1", "aca_bd_40x_19", "aca_bd_20x_20", "scc_md_20x_1", "nor_20x_1")
    keys = [*(f"LungHist700__{name}__hi_1_2" for name in names), "another__hi_1_2"]
    tiles = index_of(tmp_path, *({"key": key} for key in keys))
    assert [tile.concept for tile in tiles] == [
        *["lung adenocarcinoma"] * 3,
        "lung squamous cell carcinoma",
        "normal lung",
        "normal lung",
    ]
    assert [tile.behaviour for tile in tiles] == [*["malignant"] * 4, "benign", "benign"]
    assert tiles[0].case == tiles[1].case != tiles[2].case
    assert len({tile.case for tile in tiles}) == 5
    assert tiles[-1].case == "six"


def test_a_concept_of_the_index_may_be_any_of_our_wordings(tmp_path: Path) -> None:
    (tile,) = index_of(tmp_path, {"concept": "benign lung tissue"})
    assert tile.concept == "normal lung"
