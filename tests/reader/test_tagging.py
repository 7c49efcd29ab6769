import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.errors import ModelError
from histoeval.reader.tagging import TaggedText, entities_of, mark, read_tags, relation_label
from histoeval.report import Entity, EntityType

LABELS = ["O", "B-Diagnosis", "I-Diagnosis", "B-IHC_Marker", "I-IHC_Marker"]
TAGS = read_tags(LABELS)
OUTSIDE, BEGIN, INSIDE, MARKER_BEGIN, MARKER_INSIDE = range(5)


def probabilities(*rows: tuple[int, float]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """One row per token: this label has this probability, the others share the rest."""
    table = np.empty((len(rows), len(LABELS)), dtype=np.float32)
    for row, (label, p) in enumerate(rows):
        table[row] = (1 - p) / (len(LABELS) - 1)
        table[row, label] = p
    return table


def read_one(
    text: str,
    scores: np.ndarray[tuple[int, ...], np.dtype[np.float32]],
    offsets: list[tuple[int, int]],
    words: list[int | None],
) -> list[Entity]:
    (found,) = entities_of([TaggedText(text, offsets, words)], scores, TAGS)
    return found


def test_words_of_one_type_are_joined_and_averaged() -> None:
    text = "no ductal carcinoma here"
    offsets = [(0, 0), (0, 2), (3, 9), (10, 19), (20, 24), (0, 0)]
    words: list[int | None] = [None, 0, 1, 2, 3, None]
    scores = probabilities((0, 1), (0, 1), (BEGIN, 0.8), (INSIDE, 0.6), (0, 1), (0, 1))
    (found,) = read_one(text, scores, offsets, words)
    assert (found.text, found.start, found.end) == ("ductal carcinoma", 3, 19)
    assert found.type is EntityType.DIAGNOSIS
    assert found.score == pytest.approx(0.7)


def test_the_pieces_of_a_word_are_averaged_before_it_gets_its_label() -> None:
    text = "adenoma"
    scores = probabilities((BEGIN, 0.9), (OUTSIDE, 0.6))
    (found,) = read_one(text, scores, [(0, 4), (4, 7)], [0, 0])
    assert found.text == "adenoma"
    assert found.score == pytest.approx((0.9 + 0.1) / 2)


def test_a_beginning_starts_a_new_entity_and_an_inside_of_another_type_too() -> None:
    text = "adenoma carcinoma ER"
    offsets = [(0, 7), (8, 17), (18, 20)]
    scores = probabilities((BEGIN, 0.9), (BEGIN, 0.9), (MARKER_INSIDE, 0.9))
    found = read_one(text, scores, offsets, [0, 1, 2])
    assert [(e.text, e.type.value) for e in found] == [
        ("adenoma", "diagnosis"),
        ("carcinoma", "diagnosis"),
        ("ER", "marker"),
    ]


def test_an_entity_never_starts_or_ends_with_white_space() -> None:
    found = read_one(" ER ", probabilities((MARKER_BEGIN, 0.9)), [(0, 4)], [0])
    assert (found[0].text, found[0].start) == ("ER", 1)


@given(st.lists(st.lists(st.integers(1, 12), max_size=8), min_size=1, max_size=6), st.data())
def test_texts_read_together_are_those_read_alone_to_the_bit(
    words: list[list[int]], data: st.DataObject
) -> None:
    random = np.random.default_rng(data.draw(st.integers(0, 1000)))
    texts, rows = [], []
    for lengths in words:
        numbers = [number for number, length in enumerate(lengths) for _ in range(length)]
        text = "x" * len(numbers)
        places = [(place, place + 1) for place in range(len(numbers) + 2)]
        texts.append(TaggedText(text, places, [None, *numbers, None]))
        rows.append(random.random((len(numbers) + 2, len(LABELS)), dtype=np.float32))
    together = entities_of(texts, np.concatenate(rows), TAGS)
    alone = [entities_of([text], some, TAGS)[0] for text, some in zip(texts, rows, strict=True)]
    assert together == alone


@given(st.text(min_size=1, max_size=40), st.data())
def test_removing_the_markers_gives_back_the_text(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=4, max_size=4)))
    spans = [(cuts[0], cuts[1]), (cuts[2], cuts[3])]
    head, tail = data.draw(st.permutations(spans))
    if "[" in text or head[0] == head[1] or tail[0] == tail[1]:
        return
    marked = mark(text, head, tail)
    plain = marked
    for marker in ("[E1]", "[/E1]", "[E2]", "[/E2]"):
        assert marked.count(marker) == 1
        plain = plain.replace(marker, "")
    assert plain == text
    assert f"[E1]{text[head[0] : head[1]]}[/E1]" in marked
    assert f"[E2]{text[tail[0] : tail[1]]}[/E2]" in marked


def test_published_and_own_labels_are_understood() -> None:
    tags = read_tags(["O", "B-Pathological_Diagnosis", "I-IHC Modifier", "site"])
    assert [tag.type for tag in tags] == [None, "diagnosis", "result", "site"]
    assert [tag.begins for tag in tags] == [False, True, False, False]


def test_labels_that_cannot_be_guessed_can_be_told() -> None:
    assert read_tags(["LABEL_1"], {"LABEL_1": "grade"})[0].type is EntityType.GRADE
    assert read_tags(["B-Tumour"], {"Tumour": "diagnosis"})[0].type is EntityType.DIAGNOSIS


def test_a_label_can_be_said_to_mean_nothing() -> None:
    tags = read_tags(["B-Age", "I-Age", "B-Site"], {"Age": None})
    assert [tag.type for tag in tags] == [None, None, "site"]
    assert read_tags(["LABEL_0"], {"LABEL_0": "O"})[0].type is None


def test_unknown_labels_are_refused_all_at_once_with_a_way_out() -> None:
    with pytest.raises(ModelError, match=r"known here: B-PER, B-ORG\. .*--labels"):
        read_tags(["O", "B-PER", "B-ORG", "B-Site"])


def test_a_blank_token_is_no_entity() -> None:
    scores = probabilities((BEGIN, 0.9), (MARKER_BEGIN, 0.9))
    found = read_one("\n ER", scores, [(0, 1), (2, 4)], [0, 1])
    assert [entity.text for entity in found] == ["ER"]


@pytest.mark.parametrize(
    ("labels", "related"),
    [
        (["NO_REL", "Relation"], 1),
        (["Relation", "no relation"], 0),
        (["LABEL_0", "LABEL_1"], 1),
        (["related", "unrelated"], 0),
        (["Relation", "NOT_REL"], 0),
        (["positive", "negative"], 0),
    ],
)
def test_the_relation_label_is_the_one_that_does_not_deny(labels: list[str], related: int) -> None:
    assert relation_label(labels) == related


def test_a_relation_label_that_cannot_be_told_is_asked_for() -> None:
    with pytest.raises(ModelError, match="two labels"):
        relation_label(["a", "b", "c"])
    with pytest.raises(ModelError, match="says that there is no relation"):
        relation_label(["yes", "maybe"])
    assert relation_label(["yes", "maybe"], {"maybe": "none"}) == 0
