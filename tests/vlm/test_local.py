"""A vision-language model in this process: a tiny one, made here."""

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("PIL")

from PIL import Image

from histoeval.errors import ModelError
from histoeval.llm.chat import Instruction
from histoeval.vlm.load import load_vlm
from histoeval.vlm.model import Ask, Vlm, VlmAnswer, VlmConfig
from tests.support.fake_vlm import alone  # noqa: F401

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("alone")]

NEUTRAL = Instruction(
    name="plain", version=1, kind="neutral", text="describe the field", most_tokens=16
)
TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }} : "
    "{% for p in m['content'] %}"
    "{% if p['type'] == 'image' %}<image> {% else %}{{ p['text'] }} {% endif %}"
    "{% endfor %}{% endfor %}assistant :"
)
WORDS = "user assistant system : describe the field benign malignant gland nuclei stroma <image>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit

    home = tmp_path_factory.mktemp("vlm")
    names = ["<pad>", "<s>", "</s>", "<unk>", *WORDS.split()]
    raw = Tokenizer(WordLevel({word: n for n, word in enumerate(names)}, unk_token="<unk>"))
    raw.pre_tokenizer = WhitespaceSplit()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        extra_special_tokens={"image_token": "<image>"},
    )
    size = {"height": 28, "width": 28}
    pictures = transformers.CLIPImageProcessor(size={"shortest_edge": 28}, crop_size=size)
    processor = transformers.LlavaProcessor(
        image_processor=pictures,
        tokenizer=tokenizer,
        patch_size=14,
        vision_feature_select_strategy="default",
        chat_template=TEMPLATE,
        num_additional_image_tokens=1,
    )
    torch.manual_seed(0)
    eye = transformers.CLIPVisionConfig(
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=28,
        patch_size=14,
    )
    mouth = transformers.LlamaConfig(
        vocab_size=len(names),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    config = transformers.LlavaConfig(
        vision_config=eye, text_config=mouth, image_token_index=names.index("<image>")
    )
    transformers.LlavaForConditionalGeneration(config).save_pretrained(home)
    processor.save_pretrained(home)
    return home


def subject(folder: Path) -> Vlm:
    return load_vlm(VlmConfig(endpoint="local", model=str(folder)))


def jpeg(red: int) -> bytes:
    file = BytesIO()
    Image.fromarray(np.full((40, 40, 3), (red, 90, 140), np.uint8)).save(file, "JPEG")
    return file.getvalue()


def test_it_answers_the_same_again_and_keeps_what_it_said(folder: Path) -> None:
    first = subject(folder)
    ask = Ask(NEUTRAL, NEUTRAL.text, (jpeg(200),))
    (said,) = first.describe_all([ask])
    again = subject(folder)
    assert again.describe_all([ask]) == [said]
    assert (first.usage.requests, again.usage.requests, again.usage.cached) == (1, 0, 1)
    assert isinstance(said, VlmAnswer)


def test_it_takes_words_without_a_picture_and_is_named_by_its_weights(folder: Path) -> None:
    model = subject(folder)
    (said,) = model.describe_all([Ask(NEUTRAL, "describe gland nuclei")])
    assert isinstance(said, VlmAnswer)
    assert "@local/" in model.identity
    assert str(folder) not in model.identity


def test_a_folder_that_is_no_vision_language_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="vision-language"):
        load_vlm(VlmConfig(endpoint="local", model=str(tmp_path)))
