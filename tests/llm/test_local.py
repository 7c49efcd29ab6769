"""A chat model in this process: whatever it knows, its answers can be read."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from histoeval.errors import ModelError
from histoeval.judges.panel import JudgeSampling
from histoeval.judges.prompt import Answer, load_prompt
from histoeval.llm.chat import Request
from histoeval.llm.local import LocalChat, slots_of
from histoeval.report import Pair
from tests.support.fake_server import Loopback
from tests.support.judge_pairs import bench_at, served

pytestmark = pytest.mark.heavy

RUBRIC = load_prompt("rubric4")
PAIR = Pair(
    id="1",
    reference="Colon, biopsy: tubular adenoma with low-grade dysplasia.",
    candidate="Colon, biopsy: tubular adenoma with low-grade dysplasia.",
)
WRONG = PAIR.model_copy(update={"candidate": "Colon, biopsy: invasive adenocarcinoma."})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A language model with random weights that knows bytes, saved like any other."""
    import torch
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    torch.set_num_threads(1)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: number for number, letter in enumerate([*alphabet, "<end>"])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=len(vocabulary), n_positions=16_384, n_embd=16, n_layer=1, n_head=2
    )
    path = tmp_path_factory.mktemp("chat")
    transformers.GPT2LMHeadModel(config).save_pretrained(path)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<end>"
    ).save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def chat(folder: Path) -> LocalChat:
    return LocalChat(str(folder), "cpu")


def request(pair: Pair = PAIR, **parameters: Any) -> Request:
    messages = RUBRIC.messages(pair.reference, pair.candidate)
    told = {"temperature": 0, "seed": 0, "max_tokens": 64} | parameters
    return Request(messages, RUBRIC.schema_of_answer, json.dumps(told))


def test_a_form_has_a_place_for_every_score_and_one_for_words() -> None:
    slots = slots_of(RUBRIC.schema_of_answer)
    assert [slot.choices for slot in slots] == [
        ("1", "2", "3", "4"), ("1", "2", "3"), ("1", "2", "3"), ("1", "2", "3", "4"), ()
    ]  # fmt: skip
    filled = "".join(slot.before + (slot.choices[0] if slot.choices else "so") for slot in slots)
    assert RUBRIC.read(filled + '"}').reasoning == "so"


def test_a_model_that_knows_nothing_still_fills_the_form(chat: LocalChat) -> None:
    reply = chat.answer(request())
    assert isinstance(RUBRIC.read(reply.text), Answer)
    assert reply.constrained
    assert reply.tokens_in
    assert reply.tokens_in > len(RUBRIC.instructions)


def test_the_same_question_gets_the_same_answer_and_the_seed_counts(chat: LocalChat) -> None:
    assert chat.answer(request()).text == chat.answer(request(seed=5)).text
    warm = [chat.answer(request(temperature=2.0, seed=seed)).text for seed in (1, 1, 2, 3)]
    assert warm[0] == warm[1]
    assert len(set(warm)) > 1
    assert all(RUBRIC.read(text) for text in warm)


def test_the_command_names_it_as_local(folder: Path) -> None:
    bench = bench_at("local", str(folder), manner=JudgeSampling(repeats=2), device="cpu")
    (given,) = bench.ask(RUBRIC, [PAIR])
    assert len(given) == 2
    assert all(isinstance(each.outcome, Answer) for each in given)
    assert bench.judges[0].startswith(f"{folder.name}@local/")


def test_what_is_no_chat_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be loaded"):
        LocalChat(str(tmp_path))


def test_a_model_served_on_this_machine_can_judge(chat: LocalChat, loopback: Loopback) -> None:
    loopback.say = served(chat)
    given = bench_at(loopback.url, "tiny", concurrency=1).ask(RUBRIC, [PAIR, WRONG])
    assert all(isinstance(each.outcome, Answer) for answers in given for each in answers)
