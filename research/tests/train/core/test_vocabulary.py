"""A smaller vocabulary: no letter is lost, and what is kept is encoded as before."""

from typing import Any

import pytest

pytest.importorskip("torch")

from tokenizers import BertWordPieceTokenizer, Tokenizer
from tokenizers.models import BPE

from histoeval.errors import ModelError
from histoeval_research.train.core.encoder import cut_tokenizer, kept_pieces

pytestmark = pytest.mark.heavy

WORDS = ["carcinoma", "lobular", "banana", "##oma", "carcin"]
NAMES = ["lobular carcinoma", "carcinoma", "lobular"]


@pytest.fixture
def tokenizer() -> Any:
    letters = [*"abcdefghijklmnopqrstuvwxyz"]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*special, *letters, *(f"##{letter}" for letter in letters), *WORDS]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    made = BertWordPieceTokenizer(vocab=vocabulary, lowercase=True)._tokenizer
    made.add_special_tokens(special)
    return Tokenizer.from_str(made.to_str())


def test_names_whose_pieces_are_kept_are_encoded_as_before_and_others_by_letters(
    tokenizer: Any,
) -> None:
    kept = kept_pieces(tokenizer, NAMES, 2)
    pieces = {piece for piece, number in tokenizer.get_vocab().items() if number in kept}
    assert {"lobular", "carcinoma", "a", "##a", "[PAD]", "[CLS]"} <= pieces
    assert not {"banana", "##oma", "carcin"} & pieces
    cut = cut_tokenizer(tokenizer, kept)
    for name in NAMES:
        assert cut.encode(name).tokens == tokenizer.encode(name).tokens
        assert [kept[n] for n in cut.encode(name).ids] == tokenizer.encode(name).ids
    assert cut.encode("x").tokens[0] == "[CLS]"
    assert cut.get_vocab_size() == len(kept)
    assert tokenizer.encode("banana").tokens[1:-1] == ["banana"]
    assert cut.encode("banana").tokens[1:-1] == ["b", "##a", "##n", "##a", "##n", "##a"]


def test_other_vocabularies_are_refused() -> None:
    with pytest.raises(ModelError, match="least_pieces"):
        cut_tokenizer(Tokenizer(BPE()), [0])
