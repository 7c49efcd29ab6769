"""The joint reader's two halves on a device of torch, which answer for many windows at once."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from histoeval.reader.links import Integers
from histoeval.reader.questions import Encode, Relate
from histoeval.reader.tagset import Floats
from histoeval.runtime.batching import alike
from histoeval.runtime.torch_graph import TorchSession

_WINDOWS = 128
"""Windows of as many tokens that are run at once."""


class DeviceEngine:
    """Windows of as many tokens are run together, without padding; encoded tokens stay there."""

    def __init__(self, encoder: TorchSession, linker: TorchSession) -> None:
        self._encoder, self._linker = encoder, linker

    def encode(self, tokens: Integers) -> tuple[Any, Floats, Floats]:
        """Encoded tokens, and logits of their tags and of their assertions."""
        return self.encode_all([Encode(tokens)])[0]

    def relate(self, **inputs: NDArray[Any]) -> Floats:
        """A logit for each pair of entities."""
        return self.relate_all([Relate(**inputs)])[0]

    def encode_all(self, questions: Sequence[Encode]) -> list[tuple[Any, Floats, Floats]]:
        """Encoded tokens and logits of each window; all are started before any is fetched."""
        groups = alike([question.length for question in questions], _WINDOWS)
        started = [
            self._encoder.start({"tokens": np.concatenate([questions[i].tokens for i in group])})
            for group in groups
        ]
        found: dict[int, tuple[Any, Floats, Floats]] = {}
        for group, outputs in zip(groups, started, strict=True):
            tags, assertions = (outputs[name].cpu().numpy() for name in ("tags", "assertions"))
            for row, place in enumerate(group):
                only = slice(row, row + 1)
                found[place] = outputs["encoded"][only], tags[only], assertions[only]
        return [found[place] for place in range(len(questions))]

    def relate_all(self, questions: Sequence[Relate]) -> list[Floats]:
        """A logit for each pair of each question; all are started before any is fetched."""
        groups = alike([question.length for question in questions], _WINDOWS)
        started = [
            self._linker.start(_joined([questions[i] for i in group]))["related"]
            for group in groups
        ]
        found: dict[int, Floats] = {}
        for group, related in zip(groups, started, strict=True):
            ends = list(accumulate(len(questions[i].pairs) for i in group))
            found |= zip(group, np.split(related.cpu().numpy(), ends[:-1]), strict=True)
        return [found[place] for place in range(len(questions))]


def _joined(questions: Sequence[Relate]) -> dict[str, Any]:
    """Windows of as many tokens as one question: each entity with the number of its window."""
    before = [0, *accumulate(len(question.entities) for question in questions)]
    entities = [
        np.column_stack([np.full(len(question.entities), number), question.entities[:, 1:]])
        for number, question in enumerate(questions)
    ]
    pairs = [question.pairs + start for question, start in zip(questions, before, strict=False)]
    return {
        "encoded": torch.cat([question.encoded for question in questions]),
        "tags": np.concatenate([question.tags for question in questions]),
        "entities": np.concatenate(entities),
        "pairs": np.concatenate(pairs),
        "kinds": np.concatenate([question.kinds for question in questions]),
        "codes": np.concatenate([question.codes for question in questions]),
    }
