"""What joint readers make of texts, for teaching a smaller one.

Several readers answer as one: the mean of their probabilities.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from histoeval.reader.tagging import ASSERTED, best_path, spans_of
from histoeval.report import Entity, Report
from histoeval_research.train.reader.examples import ReaderExample, collate, linkable
from histoeval_research.train.reader.model import JointReader

AT_ONCE = 128
_LEAST = 1e-9


@torch.no_grad()  # type: ignore[untyped-decorator]
def label(
    models: Sequence[JointReader],
    texts: Sequence[str],
    encodings: Sequence[Any],
    padding: int,
    device: str,
) -> list[ReaderExample]:
    """Each text as an example of what the readers find in it, as sure as they are."""
    examples = [
        linkable(Report(text=text), [], encoding.ids)
        for text, encoding in zip(texts, encodings, strict=True)
    ]
    order = sorted(range(len(texts)), key=lambda i: -len(examples[i].tokens))
    for first in range(0, len(order), AT_ONCE):
        places = order[first : first + AT_ONCE]
        batch = collate([examples[i] for i in places], padding, device)
        passes = []
        for model in models:
            model.eval()
            with torch.autocast(batch.tokens.device.type, torch.bfloat16, batch.tokens.is_cuda):
                passes.append(model(batch.tokens, batch.mask))
        tags = _mean([tags.float().softmax(-1) for _, tags, _ in passes])
        assertions = _mean([asserted.float().softmax(-1) for _, _, asserted in passes])
        found = [
            _example(texts[i], encodings[i], tags[row], assertions[row])
            for row, i in enumerate(places)
        ]
        linked = collate(found, padding, device)
        if len(linked.pairs):
            with torch.autocast(batch.tokens.device.type, torch.bfloat16, batch.tokens.is_cuda):
                logits = [
                    model.relate(encoded, linked)
                    for model, (encoded, *_) in zip(models, passes, strict=True)
                ]
            related = _mean([logit.float().sigmoid() for logit in logits])
            counts = np.cumsum([len(example.pairs) for example in found])[:-1]
            for example, some in zip(found, np.split(related, counts), strict=True):
                example.related = some
        for i, example in zip(places, found, strict=True):
            examples[i] = example
    return examples


def _mean(tensors: list[Tensor]) -> Any:
    return torch.stack(tensors).mean(0).cpu().numpy()


def _example(text: str, encoding: Any, tags: Any, assertions: Any) -> ReaderExample:
    """What the probabilities of one text say; relations are still to be judged.

    An entity begins and ends in the text, and not with a token that the tokenizer added.
    """
    length, offsets = len(encoding.ids), encoding.offsets
    spans = [
        span
        for span in spans_of(best_path(np.log(tags[:length] + _LEAST)))
        if all(offsets[end][1] > offsets[end][0] for end in span[:2])
    ]
    places = [(offsets[first][0], offsets[last][1], kind) for first, last, kind in spans]
    entities = [Entity(text=text[a:b], start=a, end=b, type=kind) for a, b, kind in places]
    example = linkable(Report(text=text, entities=tuple(entities)), spans, encoding.ids)
    example.tag_shares = tags[:length].astype(np.float16)
    for first, last, kind in spans:
        if kind in ASSERTED:
            example.assertion_shares[first : last + 1] = assertions[first : last + 1]
    return example
