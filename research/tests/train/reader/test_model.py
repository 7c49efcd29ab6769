"""The joint reader as it is trained: examples, losses, labelling, adaptation and export."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import transformers
from tokenizers import Tokenizer

from benchmarks.random_models import ModelFolders
from histoeval.reader.builtin import BuiltinReader
from histoeval.reader.links import LEVELS
from histoeval.reader.manifest import ENCODER, LINKER, Manifest
from histoeval.reader.questions import Encode
from histoeval.reader.tagging import ASSERTIONS, TAGS, TokenSpan, spans_of
from histoeval.report import Entity, EntityType, Relation, Report
from histoeval_research.train.core import onnx_int8
from histoeval_research.train.core.loop import Schedule, fit
from histoeval_research.train.reader.config import LossWeights, ReaderShape
from histoeval_research.train.reader.examples import (
    ReaderExample,
    annotated,
    collate,
    linkable,
    load_examples,
    save_examples,
)
from histoeval_research.train.reader.export import write_reader
from histoeval_research.train.reader.model import (
    GapFiller,
    JointReader,
    gap_loss,
    loss_of,
    stretches,
)
from histoeval_research.train.reader.torch_reader import label
from tests.support.tiny_corpus import PASSAGES, passage

pytestmark = pytest.mark.heavy

CALM = ReaderShape(width=32, layers=1, heads=2, dropout=0.0)


@pytest.fixture(scope="module")
def tokenizer(tiny_models: ModelFolders) -> Any:
    found = Tokenizer.from_file(str(tiny_models.aligner / "tokenizer.json"))
    found.no_padding()
    found.no_truncation()
    return found


@pytest.fixture(scope="module")
def examples(tokenizer: Any) -> list[ReaderExample]:
    return [annotated(p.content, tokenizer.encode(p.text)) for p in PASSAGES]


def make(folder: Path, seed: int = 0) -> JointReader:
    torch.manual_seed(seed)
    encoder = transformers.AutoModel.from_pretrained(folder, add_pooling_layer=False)
    model = JointReader(encoder, CALM)
    model.eval()
    return model


@pytest.fixture(scope="module")
def learned(plain_encoder: Path, examples: list[ReaderExample]) -> JointReader:
    model = make(plain_encoder)

    def loss(places: Any) -> Any:
        return loss_of(model, collate([examples[i] for i in places], 0, "cpu"), LossWeights())

    fit(model, len(examples), loss, Schedule(epochs=60, batch=4, rate=5e-3), seed=1)
    return model


def test_an_example_has_the_entities_of_its_passage_and_which_are_related(
    tokenizer: Any, examples: list[ReaderExample]
) -> None:
    for known, example in zip(PASSAGES, examples, strict=True):
        offsets = tokenizer.encode(known.text).offsets
        found = [
            (offsets[first][0], offsets[last][1], kind)
            for first, last, kind in spans_of(list(example.tags))
        ]
        assert found == [(e.start, e.end, e.type) for e in known.content.entities]
        related = {tuple(pair) for pair in example.pairs[example.related > 0].tolist()}
        assert related == {(r.head, r.tail) for r in known.content.relations}


def test_an_entity_whose_border_lies_inside_a_token_is_widened_to_it(tokenizer: Any) -> None:
    entity = Entity(text="arcinom", start=1, end=8, type=EntityType.DIAGNOSIS)
    encoding = tokenizer.encode("carcinoma seen")
    example = annotated(Report(text="carcinoma seen", entities=(entity,)), encoding)
    (first, last, kind) = spans_of(list(example.tags))[0]
    assert (encoding.offsets[first][0], encoding.offsets[last][1]) == (0, 9)
    assert kind == EntityType.DIAGNOSIS


def test_an_entity_that_no_token_touches_is_left_out_with_its_relations(tokenizer: Any) -> None:
    text = "carcinoma \u200b grade high"
    entities = (
        Entity(text="carcinoma", start=0, end=9, type=EntityType.DIAGNOSIS),
        Entity(text="\u200b", start=10, end=11, type=EntityType.SITE),
        Entity(text="grade high", start=12, end=22, type=EntityType.GRADE),
    )
    relations = (Relation(head=0, tail=1), Relation(head=0, tail=2))
    report = Report(text=text, entities=entities, relations=relations)
    example = annotated(report, tokenizer.encode(text))
    assert [kind for _, _, kind in spans_of(list(example.tags))] == ["diagnosis", "grade"]
    assert example.pairs[example.related > 0].tolist() == [[0, 1]]


def test_what_stands_beside_a_text_does_not_change_its_logits(
    plain_encoder: Path, examples: list[ReaderExample]
) -> None:
    model = make(plain_encoder)
    order = sorted(range(len(examples)), key=lambda i: len(examples[i].tokens))
    short, long = examples[order[0]], examples[order[-1]]
    with torch.no_grad():
        alone, beside = collate([short], 0, "cpu"), collate([long, short], 0, "cpu")
        encoded, tags, _ = model(alone.tokens, alone.mask)
        both, both_tags, _ = model(beside.tokens, beside.mask)
        length = len(short.tokens)
        assert torch.allclose(tags[0], both_tags[1, :length], atol=1e-5)
        links, both_links = model.relate(encoded, alone), model.relate(both, beside)
    assert torch.allclose(links, both_links[len(long.pairs) :], atol=1e-5)


def test_sure_shares_are_learned_as_tags_are(
    plain_encoder: Path, examples: list[ReaderExample]
) -> None:
    model = make(plain_encoder)
    batch = collate(examples[:2], 0, "cpu")
    hard = loss_of(model, batch, LossWeights()).item()
    batch.tag_shares = torch.nn.functional.one_hot(batch.tags.clamp(min=0), len(TAGS)).float()
    assert loss_of(model, batch, LossWeights()).item() == pytest.approx(hard, abs=1e-5)


def test_a_reader_that_learned_passages_labels_them_as_they_are(
    learned: JointReader, tokenizer: Any, examples: list[ReaderExample]
) -> None:
    texts = [passage.text for passage in PASSAGES]
    found = label([learned], texts, [tokenizer.encode(text) for text in texts], 0, "cpu")
    for example, known in zip(found, examples, strict=True):
        assert example.tags.tolist() == known.tags.tolist()
        assert (example.related > 0.5).tolist() == (known.related > 0.5).tolist()


def test_several_readers_answer_with_the_mean_of_their_shares(
    plain_encoder: Path, tokenizer: Any
) -> None:
    models = [make(plain_encoder, seed) for seed in (1, 2)]
    text = PASSAGES[0].text
    encodings = [tokenizer.encode(text)]
    alone = [label([model], [text], encodings, 0, "cpu")[0].tag_shares for model in models]
    both = label(models, [text], encodings, 0, "cpu")[0].tag_shares
    assert alone[0] is not None
    assert alone[1] is not None
    assert both is not None
    assert np.abs((alone[0] + alone[1]) / 2 - both).max() < 2e-3


@pytest.fixture(scope="module", params=["rounded", "whole"])
def shipped(
    request: pytest.FixtureRequest,
    learned: JointReader,
    tokenizer: Any,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The reader that learned the passages, as a folder, with and without rounded weights."""
    folder = tmp_path_factory.mktemp("shipped")
    with pytest.MonkeyPatch.context() as patched:
        if request.param == "whole":
            patched.setattr(onnx_int8, "weight_only_int8", lambda model: model)
        write_reader(learned, tokenizer, folder, name="tiny", details={"by": "us"})
    return folder


def test_the_shipped_form_reads_as_the_trained_one(shipped: Path) -> None:
    found = BuiltinReader(shipped).read([passage.text for passage in PASSAGES])
    for given, report in zip(PASSAGES, found, strict=True):
        known = given.content
        assert [(e.text, e.type) for e in report.entities] == [
            (e.text, e.type) for e in known.entities
        ]
        assert {(r.head, r.tail) for r in report.relations} == {
            (r.head, r.tail) for r in known.relations
        }


def test_the_shipped_form_gives_the_numbers_of_the_trained_one(
    shipped: Path, learned: JointReader, request: pytest.FixtureRequest
) -> None:
    most = 1e-4 if "whole" in request.node.name else 0.5
    engine = BuiltinReader(shipped).engine
    for length in (2, 9, 60):
        tokens = torch.randint(5, 40, (1, length))
        with torch.no_grad():
            known = learned(tokens, torch.ones_like(tokens))
        (answer,) = engine.encode_all([Encode(tokens.numpy())])
        for mine, theirs in zip(answer, known, strict=True):
            assert np.abs(mine - theirs.numpy()).max() < most
    content = b"".join((shipped / name).read_bytes() for name in (ENCODER, LINKER))
    assert b"site-packages" not in content, "nothing tells where it was made"
    assert b"model.py" not in content
    assert Manifest.read(shipped).details == {"by": "us"}


def test_stretches_hold_all_tokens_in_order_and_begin_and_end_as_texts_do() -> None:
    pieces = stretches([[5, 6, 7], [8, 9]], 5, opening=1, closing=2)
    assert pieces.tolist() == [[1, 5, 6, 7, 2], [1, 2, 8, 9, 2]]


def test_an_encoder_learns_to_fill_gaps(plain_encoder: Path, tokenizer: Any) -> None:
    torch.manual_seed(0)
    model = GapFiller(transformers.AutoModel.from_pretrained(plain_encoder))
    sequences = [tokenizer.encode(p.text, add_special_tokens=False).ids for p in PASSAGES] * 8
    pieces = torch.from_numpy(stretches(sequences, 16, 2, 3))
    special, mask = torch.tensor([0, 1, 2, 3, 4]), tokenizer.token_to_id("[MASK]")
    losses: list[float] = []

    def loss(places: Any) -> Any:
        value = gap_loss(model, pieces[list(places)], 0.2, mask, special)
        losses.append(float(value.detach()))
        return value

    fit(model, len(pieces), loss, Schedule(epochs=12, batch=8, rate=5e-3), seed=0)
    assert np.mean(losses[-5:]) < 0.6 * np.mean(losses[:5])


TEXTS = [*PASSAGES, passage("none", "Nothing to see here."), passage("one", "[D:tumour]")]


def example_of(number: int) -> ReaderExample:
    draw = np.random.default_rng(number)
    report = TEXTS[number].content
    length = len(report.text)
    spans = [TokenSpan(e.start, e.end - 1, EntityType(e.type)) for e in report.entities]
    example = linkable(report, spans, draw.integers(0, 30_000, length).tolist())
    example.tag_shares = draw.dirichlet(np.ones(len(TAGS)), length).astype(np.float16)
    example.assertion_shares = draw.random((length, len(ASSERTIONS)), dtype=np.float32)
    example.related = draw.random(len(example.pairs), dtype=np.float32)
    return example


@pytest.fixture
def drawn() -> list[ReaderExample]:
    return [example_of(number) for number in range(len(TEXTS))]


def test_examples_come_back_as_they_were(drawn: list[ReaderExample], tmp_path: Path) -> None:
    save_examples(tmp_path / "part.npz", drawn)
    assert [file.name for file in tmp_path.iterdir()] == ["part.npz"], "whole or not there"
    found = load_examples(tmp_path / "part.npz")
    assert len(found) == len(drawn)
    for before, after in zip(drawn, found, strict=True):
        for name in ("tokens", "tags", "spans", "pairs", "kinds", "codes", "tag_shares"):
            assert np.array_equal(getattr(before, name), getattr(after, name)), name
            assert getattr(before, name).shape == getattr(after, name).shape, name
        assert np.allclose(before.related, after.related, atol=1e-3)
        assert np.allclose(before.assertion_shares, after.assertion_shares, atol=1e-3)
        assert spans_of(after.tags.tolist()) == spans_of(before.tags.tolist())


def test_they_can_be_learned_from_as_before(drawn: list[ReaderExample], tmp_path: Path) -> None:
    save_examples(tmp_path / "part.npz", drawn)
    before = collate(drawn, 0, "cpu")
    after = collate(load_examples(tmp_path / "part.npz"), 0, "cpu")
    for name in ("tokens", "mask", "tags", "entities", "pairs", "kinds"):
        one, other = getattr(before, name), getattr(after, name)
        assert one.dtype == other.dtype
        assert torch.equal(one, other), name
    assert after.related.dtype == torch.float32
    assert torch.equal(before.codes, after.codes.long())
    assert int(after.codes.max()) < LEVELS
