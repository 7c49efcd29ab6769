"""The joint reader's two halves on a device of torch, which answer for many windows at once."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from torch.nn.utils.rnn import pad_sequence

from histoeval.reader.questions import Encode, Encoded, Relate
from histoeval.reader.tagging import Floats
from histoeval.runtime.batching import batches, padded
from histoeval.runtime.shared_device import Call
from histoeval.runtime.torch_graph import TorchSession

_TOKENS = 32_768  # tokens that are run at once, those of padding counted in


class DeviceEngine:
    """Windows of about as many tokens are run together; encoded tokens stay on the device.

    All batches are started before the answer to any is fetched.
    """

    takes_many = True

    def __init__(self, encoder: TorchSession, linker: TorchSession, made_by: Call) -> None:
        self._encoder, self._linker = encoder, linker
        self._made_by = made_by

    def __reduce__(self) -> Call:
        """Pickled, it is the call that made it: in a worker it asks this process."""
        return self._made_by

    def encode_all(self, questions: Sequence[Encode]) -> list[Encoded]:
        lengths = [question.tokens.shape[1] for question in questions]
        groups = batches(lengths, _TOKENS)
        started = [
            self._encoder.start(
                {"tokens": padded([questions[number].tokens[0] for number in group])},
                [lengths[number] for number in group],
            )
            for group in groups
        ]
        answers: dict[int, Encoded] = {}
        for group, outputs in zip(groups, started, strict=True):
            tags, assertions = (outputs[name].cpu().numpy() for name in ("tags", "assertions"))
            for row, number in enumerate(group):
                own = slice(row, row + 1), slice(lengths[number])
                answers[number] = outputs["encoded"][own], tags[own], assertions[own]
        return [answers[number] for number in range(len(questions))]

    def relate_all(self, questions: Sequence[Relate]) -> list[Floats]:
        lengths = [question.tags.shape[1] for question in questions]
        groups = batches(lengths, _TOKENS)
        started = [
            self._linker.start(
                _joined([questions[number] for number in group]),
                [lengths[number] for number in group],
            )["related"]
            for group in groups
        ]
        answers: dict[int, Floats] = {}
        for group, related in zip(groups, started, strict=True):
            ends = list(accumulate(len(questions[number].pairs) for number in group))
            answers |= zip(group, np.split(related.cpu().numpy(), ends[:-1]), strict=True)
        return [answers[number] for number in range(len(questions))]


def _joined(questions: Sequence[Relate]) -> dict[str, Any]:
    """Windows as one question: each entity with the number of its window."""
    starts = [0, *accumulate(len(question.entities) for question in questions)]
    entities = [
        np.column_stack([np.full(len(question.entities), number), question.entities[:, 1:]])
        for number, question in enumerate(questions)
    ]
    pairs = [question.pairs + start for question, start in zip(questions, starts, strict=False)]
    return {
        "encoded": pad_sequence([question.encoded[0] for question in questions], batch_first=True),
        "tags": padded([question.tags[0] for question in questions]),
        "entities": np.concatenate(entities),
        "pairs": np.concatenate(pairs),
        "kinds": np.concatenate([question.kinds for question in questions]),
        "codes": np.concatenate([question.codes for question in questions]),
    }
