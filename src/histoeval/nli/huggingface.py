"""Any Transformers NLI model, from a folder or the hub, behind the extra [hf]."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from histoeval.errors import ModelError
from histoeval.nli.entailer import Entailment, NliPair, probabilities
from histoeval.runtime.memo import Memory
from histoeval.runtime.transformer import THIS_MACHINE, Runtime, Transformer

_REMEMBERED = 100_000
# how the names of the three answers begin, in the order of `Entailment`
_ANSWERS = ("entail", "neutral", "contradict")


class HuggingFaceEntailer:
    """Judges with a sequence classifier that names its three answers.

    Each pair is run by itself, so that its answer does not depend on others. Where a pair is too
    long for the model, the end of the longer text is cut off.
    """

    def __init__(self, name: str | Path, runtime: Runtime = THIS_MACHINE) -> None:
        self.transformer = Transformer(name, "sequence-classification", runtime)
        self._order = answer_order(self.transformer.model.config.id2label, str(name))
        self.on_gpu = self.transformer.on_gpu
        self._remembered = Memory(self._judge, most=_REMEMBERED)

    @property
    def identity(self) -> str:
        return self.transformer.identity

    def judge(self, pairs: Sequence[NliPair]) -> list[Entailment]:
        return self._remembered(pairs)

    def _judge(self, pairs: Sequence[NliPair]) -> list[Entailment]:
        import torch

        answers = []
        for pair in pairs:
            inputs = self.transformer.tokenizer(
                *pair,
                truncation="longest_first",
                max_length=min(self.transformer.most_tokens, 512),
                return_tensors="pt",
            ).to(self.transformer.device)
            with torch.inference_mode():
                logits = self.transformer.model(**inputs).logits[0].float().cpu().numpy()
            answers.append(probabilities(logits[list(self._order)]))
        return answers


def answer_order(labels: Mapping[int, str], name: str) -> tuple[int, ...]:
    """The positions of entailment, neutral and contradiction among the answers of a model."""
    positions = [
        [number for number, label in labels.items() if label.lower().startswith(answer)]
        for answer in _ANSWERS
    ]
    if len(labels) != len(_ANSWERS) or any(len(numbers) != 1 for numbers in positions):
        raise ModelError(
            f"{name} does not say which of its answers is entailment, neutral and contradiction: "
            f"its labels are {', '.join(map(str, labels.values()))}. Name them in id2label of its "
            "config.json"
        )
    return tuple(int(numbers[0]) for numbers in positions)
