"""BLEU and chrF, by sacrebleu."""

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache, partial
from typing import Annotated, Any, ClassVar

import sacrebleu
from pydantic import Field
from pydantic.dataclasses import dataclass
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

from histoeval.metric import Score
from histoeval.metrics.base import STRICT, PairMetric

MAX_CACHED_CHARS = 10_000  # longer texts are not cached


# The tokeniser of mteval-v13a without the caches of sacrebleu, which would hold 65,536 texts of any
# length, twice: gigabytes over a corpus of long reports.
_tokenizer: Any = Tokenizer13a()  # type: ignore[no-untyped-call]
_inner = TokenizerRegexp()  # type: ignore[no-untyped-call]
_tokenizer._post_tokenizer = partial(TokenizerRegexp.__call__.__wrapped__, _inner)
_tokenize: Callable[[str], str] = partial(Tokenizer13a.__call__.__wrapped__, _tokenizer)
_cached_tokens = lru_cache(maxsize=1 << 12)(_tokenize)


def tokenize(text: str) -> str:
    text = text.rstrip()
    return _cached_tokens(text) if len(text) <= MAX_CACHED_CHARS else _tokenize(text)


@dataclass(frozen=True, config=STRICT)
class Bleu(PairMetric):
    """Geometric mean of n-gram precisions up to `order`, with sacrebleu's tokens and smoothing.

    A pair is scored with the effective order, as sacrebleu's `sentence_bleu` does; the corpus
    value is counted over all pairs, as its `corpus_bleu` does. Both run from 0 to 100.
    """

    order: Annotated[int, Field(ge=1, le=9)] = 4
    range: ClassVar[tuple[float, float]] = (0.0, 100.0)

    @cached_property
    def _bleu(self) -> BLEU:
        return BLEU(max_ngram_order=self.order, effective_order=True, tokenize="none")

    def fingerprint(self) -> dict[str, str]:
        return {"tok": "13a", "smooth": "exp", "sacrebleu": sacrebleu.__version__}

    def score_pair(self, reference: str, candidate: str) -> Score:
        bleu = self._bleu.sentence_score(tokenize(candidate), [tokenize(reference)])
        precisions = {f"precision_{n}": p for n, p in enumerate(bleu.precisions, start=1)}
        return Score(
            value=bleu.score,
            parts=precisions | {"brevity_penalty": bleu.bp},
            counts=(*bleu.counts, *bleu.totals, bleu.sys_len, bleu.ref_len),
            signature=self.signature,
        )

    def corpus_value(self, mean: float, counts: Sequence[float]) -> float:  # noqa: ARG002
        numbers = [int(count) for count in counts]
        bleu = BLEU.compute_bleu(
            correct=numbers[: self.order],
            total=numbers[self.order : 2 * self.order],
            sys_len=numbers[-2],
            ref_len=numbers[-1],
            smooth_method="exp",
            max_ngram_order=self.order,
        )
        return float(bleu.score)


@dataclass(frozen=True, config=STRICT)
class Chrf(PairMetric):
    """F-measure of shared character n-grams, white space omitted, recall weighted by `beta`.

    With `word_order=2` it is chrF++. A pair scores as in sacrebleu's `sentence_chrf`; the corpus
    value is counted over all pairs, as in its `corpus_chrf`. Both run from 0 to 100.
    """

    char_order: Annotated[int, Field(ge=1)] = 6
    word_order: Annotated[int, Field(ge=0)] = 0
    beta: Annotated[int, Field(ge=1)] = 2
    range: ClassVar[tuple[float, float]] = (0.0, 100.0)

    @cached_property
    def _chrf(self) -> CHRF:
        return CHRF(self.char_order, self.word_order, self.beta)

    def fingerprint(self) -> dict[str, str]:
        return {"case": "mixed", "eff": "yes", "space": "no", "sacrebleu": sacrebleu.__version__}

    def score_pair(self, reference: str, candidate: str) -> Score:
        # These counts have no public name in sacrebleu; tests/parity fails when they change.
        (counts,) = self._chrf._extract_corpus_statistics([candidate], [[reference]])
        precision, recall = mean_shares(counts)
        return Score(
            value=self.corpus_value(0.0, counts),
            parts={"precision": precision, "recall": recall},
            counts=tuple(counts),
            signature=self.signature,
        )

    def corpus_value(self, mean: float, counts: Sequence[float]) -> float:  # noqa: ARG002
        return float(self._chrf._compute_f_score([int(count) for count in counts]))


def mean_shares(counts: Sequence[float]) -> tuple[float, float]:
    """Precision and recall, averaged over the orders that both sides have n-grams of."""
    orders = zip(counts[::3], counts[1::3], counts[2::3], strict=True)
    shares = [(both / cand, both / ref) for cand, ref, both in orders if cand and ref]
    if not shares:
        return 0.0, 0.0
    precisions, recalls = zip(*shares, strict=True)
    return sum(precisions) / len(shares), sum(recalls) / len(shares)
