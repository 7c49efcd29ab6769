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
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from histoeval.runtime.memo import portable, shared_model

# what makes a model, and its arguments
Call: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...]]


class DeviceQuestion(NamedTuple):
    """A call of a model's method that takes a list, and returns one as long."""

    model: Call
    method: str
    items: list[Any]
    forgotten: list[int]  # handles that the worker no longer has


class Handle:
    """A reference to a tensor of another process, which keeps it until this object is deleted."""

    def __init__(self, number: int, forgotten: list[int]) -> None:
        self.number = number
        self._forgotten = forgotten

    def __del__(self) -> None:
        self._forgotten.append(self.number)


class _Reader(pickle.Unpickler):
    """Puts tensors or handles in the place of numbers, as `_Writer` numbers them."""

    def __init__(self, channel: BinaryIO, find: Callable[[int], Any]) -> None:
        super().__init__(channel)
        self._find = find

    def persistent_load(self, pid: int) -> Any:
        return self._find(pid)


class _Writer(pickle.Pickler):
    def __init__(self, channel: Any, number: Callable[[Any], int | None]) -> None:
        super().__init__(channel)
        self._number = number

    def persistent_id(self, obj: Any) -> int | None:
        return self._number(obj)


class KeptTensors:
    """The tensors that one worker holds handles of."""

    def __init__(self) -> None:
        self._kept: dict[int, Any] = {}
        self._count = 0

    def read(self, channel: BinaryIO) -> Any:
        """The next message of the worker, with tensors in place of handles."""
        message = _Reader(channel, self._kept.__getitem__).load()
        if isinstance(message, DeviceQuestion):
            for number in message.forgotten:
                del self._kept[number]
        return message

    def write(self, answers: list[Any]) -> bytes:
        """Answers as the worker is sent them; their tensors stay here."""
        torch = sys.modules.get("torch")

        def keep(thing: Any) -> int | None:
            if torch is None or not isinstance(thing, torch.Tensor):
                return None
            self._count += 1
            self._kept[self._count] = thing
            return self._count

        content = io.BytesIO()
        _Writer(content, keep).dump(answers)
        return content.getvalue()


class Asker:
    """The side of a worker: answers arrive where its rows do."""

    def __init__(self, answers_in: BinaryIO, questions_out: BinaryIO) -> None:
        self._answers_in, self._questions_out = answers_in, questions_out
        self._forgotten: list[int] = []
        self._lock = Lock()

    def ask(self, model: Call, method: str, items: Sequence[Any]) -> list[Any]:
        with self._lock:
            released_handles = self._forgotten[:]
            del self._forgotten[: len(released_handles)]
            question = DeviceQuestion(model, method, list(items), released_handles)
            _Writer(
                self._questions_out,
                lambda item: item.number if isinstance(item, Handle) else None,
            ).dump(question)
            self._questions_out.flush()
            answers: Any = _Reader(
                self._answers_in, lambda number: Handle(number, self._forgotten)
            ).load()
        if isinstance(answers, Exception):
            raise answers
        return list(answers)


class Remote:
    """A model of the process that owns the device, seen from a worker."""

    def __init__(self, make: Callable[..., Any], *arguments: Any) -> None:
        self._model: Call = make, arguments

    def ask(self, method: str, items: Sequence[Any]) -> list[Any]:
        assert _asker is not None
        return _asker.ask(self._model, method, items)


_asker: Asker | None = None


def connect(asker: Asker) -> None:
    """Let this process ask the owner of the device from now on."""
    global _asker  # noqa: PLW0603 - a worker has one channel, and whatever it loads uses that
    _asker = asker


def is_connected() -> bool:
    return _asker is not None


Waiting: TypeAlias = tuple[DeviceQuestion, Future[list[Any]]]


class DeviceOwner:
    """The owner of the device: one thread that answers the questions of all workers."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[Waiting] = SimpleQueue()
        self._thread: Thread | None = None
        self._lock = Lock()

    def reply(self, question: DeviceQuestion, tensors: KeptTensors) -> bytes:
        future: Future[list[Any]] = Future()
        self._waiting.put((question, future))
        with self._lock:
            if self._thread is None or not self._thread.is_alive():  # or this process was forked
                self._thread = Thread(target=self._serve, name="histoeval-device", daemon=True)
                self._thread.start()
        try:
            return tensors.write(future.result())
        except Exception as error:  # noqa: BLE001 - whatever it is, the worker is told
            return pickle.dumps(portable(error))

    def _serve(self) -> None:
        while True:
            waiting = [self._waiting.get()]
            try:
                while True:
                    waiting.append(self._waiting.get_nowait())
            except Empty:
                pass
            alike: dict[tuple[Call, str], list[Waiting]] = defaultdict(list)
            for question, future in waiting:
                alike[question.model, question.method].append((question, future))
            for (model, method), questions in alike.items():
                _answer(model, method, questions)


OWNER = DeviceOwner()


def _answer(model: Call, method: str, questions: Sequence[Waiting]) -> None:
    make, arguments = model
    try:
        target = shared_model(f"device {make.__qualname__}", arguments, lambda: make(*arguments))
        items = [item for question, _ in questions for item in question.items]
        answers = iter(getattr(target, method)(items))
        for question, future in questions:
            future.set_result([next(answers) for _ in question.items])
    except Exception as error:  # noqa: BLE001 - whatever it is, who has asked is told
        for _, future in questions:
            if not future.done():
                future.set_exception(error)
