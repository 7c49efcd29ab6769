"""Models on a GPU that one process owns, for the worker processes that it has started.

A worker opens no model on a device. It asks the process that has started it, over the channel on
which it is sent its rows; what several workers ask at the same time is answered together, so that
the GPU is given full batches. Tensors stay on the device: a worker holds a `Handle`, which is the
tensor again when it is sent back.
"""

import io
import pickle
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from histoeval.runtime.memo import portable, shared_model

Call: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...]]
"""What makes a model, and its arguments."""


class DeviceQuestion(NamedTuple):
    """What a worker asks: a method of a model that takes a list, and returns one as long."""

    model: Call
    method: str
    items: list[Any]
    forgotten: list[int]
    """Handles that the worker no longer has."""


class Refused(NamedTuple):
    """Why a question has no answer."""

    error: Exception


class Handle:
    """A tensor of another process, which keeps it until this is gone."""

    def __init__(self, number: int, forgotten: list[int]) -> None:
        self.number = number
        self._forgotten = forgotten

    def __del__(self) -> None:
        self._forgotten.append(self.number)


class KeptTensors:
    """What one worker holds handles of."""

    def __init__(self) -> None:
        self._kept: dict[int, Any] = {}
        self._count = 0

    def keep(self, tensor: Any) -> int:
        """The number of a tensor."""
        self._count += 1
        self._kept[self._count] = tensor
        return self._count

    def forget(self, numbers: Sequence[int]) -> None:
        """Nobody holds these any more."""
        for number in numbers:
            del self._kept[number]

    def read(self, channel: BinaryIO) -> Any:
        """The next message of the worker, with tensors in place of handles."""
        reader = _Reader(channel)
        reader.found = self._kept.__getitem__
        return reader.load()


class _Reader(pickle.Unpickler):
    """Puts something in the place of numbers."""

    found: Callable[[int], Any]

    def persistent_load(self, pid: int) -> Any:
        return self.found(pid)


class _QuestionWriter(pickle.Pickler):
    """Puts numbers in the place of handles."""

    def persistent_id(self, obj: Any) -> int | None:
        return obj.number if isinstance(obj, Handle) else None


class _AnswerWriter(pickle.Pickler):
    """Keeps tensors, and puts numbers in their place."""

    tensors: KeptTensors

    def persistent_id(self, obj: Any) -> int | None:
        torch = sys.modules.get("torch")
        return self.tensors.keep(obj) if torch and isinstance(obj, torch.Tensor) else None


class Asker:
    """The side of a worker: answers arrive where its rows do."""

    def __init__(self, answers_in: BinaryIO, questions_out: BinaryIO) -> None:
        self._answers_in, self._questions_out = answers_in, questions_out
        self._forgotten: list[int] = []
        self._lock = Lock()

    def ask(self, model: Call, method: str, items: Sequence[Any]) -> list[Any]:
        """An answer for each item."""
        with self._lock:
            forgotten = self._forgotten[:]
            del self._forgotten[: len(forgotten)]
            question = DeviceQuestion(model, method, list(items), forgotten)
            _QuestionWriter(self._questions_out).dump(question)
            self._questions_out.flush()
            reader = _Reader(self._answers_in)
            reader.found = partial(Handle, forgotten=self._forgotten)
            answer = reader.load()
        if isinstance(answer, Refused):
            raise answer.error
        found: list[Any] = answer
        return found


class Remote:
    """A model of the process that owns the device, seen from a worker."""

    def __init__(self, make: Callable[..., Any], *arguments: Any) -> None:
        self._model: Call = make, arguments

    def ask(self, method: str, items: Sequence[Any]) -> list[Any]:
        """What a method of the model makes of each item."""
        assert _asker is not None
        return _asker.ask(self._model, method, items)


_asker: Asker | None = None


def connect(asker: Asker) -> None:
    """From now on this process asks for what a device computes."""
    global _asker  # noqa: PLW0603 - a worker has one channel, and whatever it loads uses that
    _asker = asker


def is_connected() -> bool:
    """Whether another process owns the device."""
    return _asker is not None


Waiting: TypeAlias = tuple[DeviceQuestion, Future[list[Any]]]


class DeviceOwner:
    """The side of the process that has the device: one thread, which any number of others ask."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[Waiting] = SimpleQueue()
        self._thread: Thread | None = None
        self._lock = Lock()

    def reply(self, question: DeviceQuestion, tensors: KeptTensors) -> bytes:
        """The answer as the worker is sent it."""
        tensors.forget(question.forgotten)
        future: Future[list[Any]] = Future()
        self._waiting.put((question, future))
        with self._lock:
            if self._thread is None or not self._thread.is_alive():  # or this process was forked
                self._thread = Thread(target=self._serve, name="histoeval-device", daemon=True)
                self._thread.start()
        packed = io.BytesIO()
        writer = _AnswerWriter(packed)
        writer.tensors = tensors
        try:
            writer.dump(future.result())
        except Exception as error:  # noqa: BLE001 - whatever it is, the worker is told
            return pickle.dumps(Refused(portable(error)))
        return packed.getvalue()

    def _serve(self) -> None:
        while True:
            asked = [self._waiting.get()]
            try:
                while True:
                    asked.append(self._waiting.get_nowait())
            except Empty:
                pass
            same: dict[tuple[Call, str], list[Waiting]] = defaultdict(list)
            for each in asked:
                same[each[0].model, each[0].method].append(each)
            for (model, method), some in same.items():
                _answer(model, method, some)


OWNER = DeviceOwner()


def _answer(model: Call, method: str, asked: Sequence[Waiting]) -> None:
    """Answer questions to one method of one model together."""
    make, arguments = model
    try:
        opened = shared_model(f"device {make.__qualname__}", arguments, lambda: make(*arguments))
        found = getattr(opened, method)([item for question, _ in asked for item in question.items])
    except Exception as error:  # noqa: BLE001 - whatever it is, who has asked is told
        for _, future in asked:
            future.set_exception(error)
        return
    start = 0
    for question, future in asked:
        future.set_result(found[start : start + len(question.items)])
        start += len(question.items)
