"""The joint reader's two halves on a device of torch, which answer for many windows at once."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils.rnn import pad_sequence

from histoeval.reader.links import Integers
from histoeval.reader.questions import Encode, Relate
from histoeval.reader.tagging import Floats
from histoeval.runtime.batching import batches, padded
from histoeval.runtime.shared_device import Call
from histoeval.runtime.torch_graph import TorchSession

_TOKENS = 32_768
"""Tokens that are run at once, those of padding counted in."""


class DeviceEngine:
    """Windows of about as many tokens are run together; encoded tokens stay on the device."""

    def __init__(self, encoder: TorchSession, linker: TorchSession, made_by: Call) -> None:
        self._encoder, self._linker = encoder, linker
        self._made_by = made_by

    def __reduce__(self) -> Call:
        """Pickled, it is the call that made it: in a worker it asks this process."""
        return self._made_by

    def encode(self, tokens: Integers) -> tuple[Any, Floats, Floats]:
        """Encoded tokens, and logits of their tags and of their assertions."""
        return self.encode_all([Encode(tokens)])[0]

    def relate(self, **inputs: NDArray[Any]) -> Floats:
        """A logit for each pair of entities."""
        return self.relate_all([Relate(**inputs)])[0]

    def encode_all(self, questions: Sequence[Encode]) -> list[tuple[Any, Floats, Floats]]:
        """Encoded tokens and logits of each window; all are started before any is fetched."""
        groups = batches([question.length for question in questions], _TOKENS)
        started = [self._encode([questions[i] for i in group]) for group in groups]
        found: dict[int, tuple[Any, Floats, Floats]] = {}
        for group, outputs in zip(groups, started, strict=True):
            tags, assertions = (outputs[name].cpu().numpy() for name in ("tags", "assertions"))
            for row, place in enumerate(group):
                own = slice(row, row + 1), slice(questions[place].length)
                found[place] = outputs["encoded"][own], tags[own], assertions[own]
        return [found[place] for place in range(len(questions))]

    def _encode(self, questions: Sequence[Encode]) -> dict[str, torch.Tensor]:
        tokens = padded([question.tokens[0] for question in questions])
        return self._encoder.start({"tokens": tokens}, [each.length for each in questions])

    def relate_all(self, questions: Sequence[Relate]) -> list[Floats]:
        """A logit for each pair of each question; all are started before any is fetched."""
        groups = batches([question.length for question in questions], _TOKENS)
        started = [self._relate([questions[i] for i in group]) for group in groups]
        found: dict[int, Floats] = {}
        for group, related in zip(groups, started, strict=True):
            ends = list(accumulate(len(questions[i].pairs) for i in group))
            found |= zip(group, np.split(related.cpu().numpy(), ends[:-1]), strict=True)
        return [found[place] for place in range(len(questions))]

    def _relate(self, questions: Sequence[Relate]) -> torch.Tensor:
        lengths = [question.length for question in questions]
        return self._linker.start(_joined(questions), lengths)["related"]


def _joined(questions: Sequence[Relate]) -> dict[str, Any]:
    """Windows as one question: each entity with the number of its window."""
    before = [0, *accumulate(len(question.entities) for question in questions)]
    entities = [
        np.column_stack([np.full(len(question.entities), number), question.entities[:, 1:]])
        for number, question in enumerate(questions)
    ]
    pairs = [question.pairs + start for question, start in zip(questions, before, strict=False)]
    return {
        "encoded": pad_sequence([question.encoded[0] for question in questions], batch_first=True),
        "tags": padded([question.tags[0] for question in questions]),
        "entities": np.concatenate(entities),
        "pairs": np.concatenate(pairs),
        "kinds": np.concatenate([question.kinds for question in questions]),
        "codes": np.concatenate([question.codes for question in questions]),
    }
