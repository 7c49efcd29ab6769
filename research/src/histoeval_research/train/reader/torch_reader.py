"""Joint readers that read with torch, in full precision: for scores, and as teachers.

Several readers answer as one, by the mean of their probabilities. For scores everything but the
arithmetic is the shipped reader's own: windows, decoding, pairs. So what the two differ in is what
rounding the weights has cost, and nothing else.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from histoeval.reader.links import Integers
from histoeval.reader.manifest import Manifest
from histoeval.reader.questions import Encode, Encoded, Relate
from histoeval.reader.tagging import ASSERTED, Floats, best_path, spans_of
from histoeval.reader.windowed import WindowedReader
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
        labelled = [
            _example(texts[i], encodings[i], tags[row], assertions[row])
            for row, i in enumerate(places)
        ]
        linked = collate(labelled, padding, device)
        if len(linked.pairs):
            with torch.autocast(batch.tokens.device.type, torch.bfloat16, batch.tokens.is_cuda):
                logits = [
                    model.relate(encoded, linked)
                    for model, (encoded, *_) in zip(models, passes, strict=True)
                ]
            related = _mean([logit.float().sigmoid() for logit in logits])
            counts = np.cumsum([len(example.pairs) for example in labelled])[:-1]
            for example, some in zip(labelled, np.split(related, counts), strict=True):
                example.related = some
        for i, example in zip(places, labelled, strict=True):
            examples[i] = example
    return examples


def _mean(tensors: list[Tensor]) -> Any:
    return torch.stack(tensors).mean(0).cpu().numpy()


def _example(text: str, encoding: Any, tags: Any, assertions: Any) -> ReaderExample:
    """What the probabilities of one text say; relations are still to be judged."""
    # An entity begins and ends in the text, and not with a token that the tokenizer added.
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


class TorchReader(WindowedReader):
    """Reads with one or several joint readers; `tokenizer` is that of the tokenizers library."""

    def __init__(
        self, models: Sequence[JointReader], tokenizer: Any, device: str, *, name: str = "reader"
    ) -> None:
        self._models = [model.to(device).eval() for model in models]
        engine = TorchEngine(self._models, device)
        super().__init__(Manifest(name=name, files={}), tokenizer, engine, threads=1)

    @property
    def identity(self) -> str:
        digest = hashlib.sha256(self.tokenizer.to_str().encode())
        for model in self._models:
            for name, weights in sorted(model.state_dict().items()):
                digest.update(name.encode())
                digest.update(weights.detach().cpu().contiguous().numpy().tobytes())
        return f"{self.manifest.name}@{digest.hexdigest()[:12]}/torch{torch.__version__}"

    @property
    def dtype(self) -> str:
        return "float32"


class TorchEngine:
    """All models side by side; each linker is given what its own encoder has made."""

    takes_many = False

    def __init__(self, models: Sequence[JointReader], device: str) -> None:
        self.models, self.device = models, device
        self.sizes = [int(model.encoder.config.hidden_size) for model in models]

    def encode_all(self, questions: Sequence[Encode]) -> list[Encoded]:
        return [self._encode(question.tokens) for question in questions]

    def relate_all(self, questions: Sequence[Relate]) -> list[Floats]:
        return [self._relate(question._asdict()) for question in questions]

    def _encode(self, tokens: Integers) -> Encoded:
        given = torch.from_numpy(tokens).to(self.device)
        with torch.inference_mode():
            passes = [model(given, torch.ones_like(given)) for model in self.models]
        encoded, tags, assertions = zip(*passes, strict=True)
        return (
            torch.cat(encoded, dim=-1).cpu().numpy(),
            _mean_logits(tags),
            _mean_logits(assertions),
        )

    def _relate(self, inputs: dict[str, NDArray[Any]]) -> Floats:
        given = {name: torch.from_numpy(array).to(self.device) for name, array in inputs.items()}
        encoded = given.pop("encoded").split(self.sizes, dim=-1)
        mask = torch.ones_like(given["tags"])
        with torch.inference_mode():
            shares = [
                model.linker(encoded=part, mask=mask, **given).sigmoid()
                for model, part in zip(self.models, encoded, strict=True)
            ]
        mean = torch.stack(shares).mean(0).double().clamp(_LEAST, 1 - _LEAST)
        logits: Floats = mean.logit().cpu().numpy()
        return logits


def _mean_logits(logits: Sequence[torch.Tensor]) -> Floats:
    """The mean of shares as logits, which is what a session gives."""
    mean = torch.stack([tensor.softmax(-1) for tensor in logits]).mean(0).cpu().numpy()
    averaged: Floats = np.log(mean + _LEAST)
    return averaged
