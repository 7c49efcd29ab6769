"""BLEU, by sacrebleu."""

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache, partial
from typing import Annotated, Any

import sacrebleu
from pydantic import Field
from pydantic.dataclasses import dataclass
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

from histoeval.metric import Score
from histoeval.metrics.base import STRICT, PairMetric

MAX_CACHED_CHARS = 10_000
"""Longer texts are not cached."""


def _without_caches() -> Callable[[str], str]:
    """The tokeniser of mteval-v13a as sacrebleu has it, without its caches.

    They would hold 65,536 texts of any length, twice: gigabytes over a corpus of long reports.
    """
    tokenizer: Any = Tokenizer13a()  # type: ignore[no-untyped-call]
    inner = TokenizerRegexp()  # type: ignore[no-untyped-call]
    tokenizer._post_tokenizer = partial(TokenizerRegexp.__call__.__wrapped__, inner)
    return partial(Tokenizer13a.__call__.__wrapped__, tokenizer)


_tokenize = _without_caches()
_cached_tokens = lru_cache(maxsize=1 << 12)(_tokenize)


def tokenize(text: str) -> str:
    """The tokens of a text with a blank between; cached for all orders of BLEU."""
    text = text.rstrip()
    return _cached_tokens(text) if len(text) <= MAX_CACHED_CHARS else _tokenize(text)


@dataclass(frozen=True, config=STRICT)
class Bleu(PairMetric):
    """Geometric mean of n-gram precisions up to `order`, with sacrebleu's tokens and smoothing.

    A pair is scored with the effective order, as sacrebleu's `sentence_bleu` does; the corpus
    value is counted over all pairs, as its `corpus_bleu` does. Both run from 0 to 100.
    """

    order: Annotated[int, Field(ge=1, le=9)] = 4

    @property
    def range(self) -> tuple[float, float]:
        """In per cent, as sacrebleu has it."""
        return (0.0, 100.0)

    @cached_property
    def _bleu(self) -> BLEU:
        return BLEU(max_ngram_order=self.order, effective_order=True, tokenize="none")

    def fingerprint(self) -> dict[str, str]:
        """Tokeniser and smoothing of sacrebleu, and its version."""
        return {"tok": "13a", "smooth": "exp", "sacrebleu": sacrebleu.__version__}

    def score_pair(self, reference: str, candidate: str) -> Score:
        """BLEU of one candidate, and the counts that the corpus value needs."""
        bleu = self._bleu.sentence_score(tokenize(candidate), [tokenize(reference)])
        precisions = {f"precision_{n}": p for n, p in enumerate(bleu.precisions, start=1)}
        return Score(
            value=bleu.score,
            parts=precisions | {"brevity_penalty": bleu.bp},
            counts=(*bleu.counts, *bleu.totals, bleu.sys_len, bleu.ref_len),
            signature=self.signature,
        )

    def corpus_value(self, mean: float, counts: Sequence[float]) -> float:  # noqa: ARG002
        """BLEU of all candidates taken as one text."""
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
