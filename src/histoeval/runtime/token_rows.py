"""Graphs that make rows of numbers of a text: of the aligner, the NLI model, and of claims."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

from numpy.typing import NDArray

from histoeval.runtime.batching import Tokens, alike, batches, padded
from histoeval.runtime.onnx import on_cpu, open_session
from histoeval.runtime.shared_device import Remote, is_connected
from histoeval.runtime.threads import cores

Rows: TypeAlias = tuple[NDArray[Any], ...]
Text: TypeAlias = tuple[Tokens, ...]

_TOKENS = 32_768
"""Tokens that are run at once, those of padding counted in."""


class TokenRows:
    """Runs such a graph on many texts, each of which is a sequence of tokens for each input.

    Another device than a CPU runs many together; in a worker process it is the process that owns
    the device which does so. On a CPU what is run together has equal length, so that the rows of a
    text are the same to the bit whatever it is run with. For that no short text is run alone but
    beside itself: a batch of one takes another way through onnxruntime, which rounds otherwise.

    Args:
        path: of the graph.
        inputs: their names.
        device: where it runs; the CPU if left out.
        threads: on a CPU; one for each core if left out.
        most: how many texts a CPU runs together. More than one pays for phrases of some words.
    """

    def __init__(
        self,
        path: Path,
        inputs: tuple[str, ...],
        device: str | None = None,
        threads: int | None = None,
        most: int = 1,
    ) -> None:
        self._made_from = path, inputs, device, threads, most
        self._inputs = inputs
        self._threads = threads
        self._most = most
        self._on_cpu = on_cpu(device)
        asks = is_connected() and not self._on_cpu
        self._remote = Remote(TokenRows, *self._made_from) if asks else None
        self._session: Any = None if asks else open_session(path, device)

    def rows(self, texts: Sequence[Text]) -> list[Rows]:
        """The row of each output for each text, in their order."""
        if self._remote is not None:
            return self._remote.ask("rows", texts)
        return self._of_equal_length(texts) if self._on_cpu else self._together(texts)

    def __reduce__(self) -> tuple[Any, ...]:
        return TokenRows, self._made_from

    def _of_equal_length(self, texts: Sequence[Text]) -> list[Rows]:
        def run(group: Sequence[int]) -> list[Rows]:
            some = [texts[place] for place in group]
            if len(some) < min(self._most, 2):
                some *= 2
            outputs = self._session.run(None, self._named([*zip(*some, strict=True)]))
            return [*zip(*outputs, strict=True)]

        groups = alike([len(text[0]) for text in texts], self._most)
        threads = self._threads or cores()
        if len(groups) == 1 or threads == 1:
            found = [run(group) for group in groups]
        else:
            with ThreadPoolExecutor(threads) as pool:
                found = list(pool.map(run, groups))
        rows = {
            place: each
            for group, some in zip(groups, found, strict=True)
            for place, each in zip(group, some, strict=False)  # one text may stand there twice
        }
        return [rows[place] for place in range(len(texts))]

    def _together(self, texts: Sequence[Text]) -> list[Rows]:
        found: dict[int, Rows] = {}
        for group in batches([len(text[0]) for text in texts], _TOKENS):
            columns = zip(*(texts[place] for place in group), strict=True)
            lengths = [len(texts[place][0]) for place in group]
            outputs = self._session.start(self._named([*columns]), lengths)
            rows = (output.cpu().numpy() for output in outputs.values())
            found |= zip(group, zip(*rows, strict=True), strict=True)
        return [found[place] for place in range(len(texts))]

    def _named(self, columns: Sequence[Sequence[Tokens]]) -> dict[str, Any]:
        return dict(zip(self._inputs, map(padded, columns), strict=True))
