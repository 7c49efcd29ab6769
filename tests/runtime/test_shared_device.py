"""Workers ask one process for what a device computes: a model of the test stands for a GPU's."""

import gc
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any, BinaryIO

import pytest

torch = pytest.importorskip("torch")

from histoeval.errors import HistoEvalError
from histoeval.runtime.shared_device import Asker, DeviceOwner, DeviceQuestion, Handle, KeptTensors

pytestmark = pytest.mark.heavy

CALLS: list[int] = []  # how many items each call of `Doubler` was given
AT_WORK, GO_ON = Event(), Event()


class Doubler:
    """A model that can wait, fail, and keep tensors."""

    def double(self, numbers: Sequence[int]) -> list[int]:
        CALLS.append(len(numbers))
        return [2 * number for number in numbers]

    def wait(self, numbers: Sequence[int]) -> list[int]:
        AT_WORK.set()
        GO_ON.wait(30)
        return list(numbers)

    def fail(self, numbers: Sequence[int]) -> list[int]:
        raise RuntimeError(f"out of memory with {len(numbers)}")

    def tensors(self, sizes: Sequence[int]) -> list[tuple[Any, int]]:
        return [(torch.ones(size), size) for size in sizes]

    def sums(self, tensors: Sequence[Any]) -> list[float]:
        return [float(tensor.sum()) for tensor in tensors]


MODEL = (Doubler, ())


@pytest.fixture
def owner() -> DeviceOwner:
    CALLS.clear()
    AT_WORK.clear()
    GO_ON.clear()
    return DeviceOwner()


class Line:
    """The channels between one worker and the owner, with a thread for the owner's side."""

    def __init__(self, owner: DeviceOwner) -> None:
        self.tensors = KeptTensors()
        self._ends: list[BinaryIO] = []
        questions_in, questions_out = self._pipe()
        answers_in, answers_out = self._pipe()
        self.asker = Asker(answers_in, questions_out)
        self._threads = ThreadPoolExecutor(1)
        self._served = self._threads.submit(self._serve, owner, questions_in, answers_out)

    def _pipe(self) -> tuple[BinaryIO, BinaryIO]:
        read, write = os.pipe()
        ends = os.fdopen(read, "rb"), os.fdopen(write, "wb")
        self._ends += ends
        return ends

    def _serve(self, owner: DeviceOwner, questions: BinaryIO, answers: BinaryIO) -> None:
        while True:
            try:
                question = self.tensors.read(questions)
            except EOFError:
                return
            assert isinstance(question, DeviceQuestion)
            answers.write(owner.reply(question, self.tensors))
            answers.flush()

    def close(self) -> None:
        self.asker._questions_out.close()
        self._served.result(30)
        self._threads.shutdown()
        for end in self._ends:
            end.close()


@pytest.fixture
def lines(owner: DeviceOwner) -> Iterator[list[Line]]:
    made = [Line(owner) for _ in range(4)]
    yield made
    for line in made:
        line.close()


def test_what_is_asked_meanwhile_is_answered_together_and_to_who_asked(
    owner: DeviceOwner, lines: list[Line]
) -> None:
    with ThreadPoolExecutor(4) as threads:
        first = threads.submit(lines[0].asker.ask, MODEL, "wait", [0])
        assert AT_WORK.wait(30)
        asked = [
            threads.submit(line.asker.ask, MODEL, "double", [10 * n, 10 * n + 1])
            for n, line in enumerate(lines[1:], 1)
        ]
        deadline = time.monotonic() + 30
        while owner._waiting.qsize() < len(asked):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        GO_ON.set()
        assert first.result(30) == [0]
        assert [each.result(30) for each in asked] == [[20, 22], [40, 42], [60, 62]]
    assert CALLS == [6]


def test_tensors_stay_with_the_owner_until_the_worker_forgets_them(lines: list[Line]) -> None:
    line = lines[0]
    handles = [handle for handle, _ in line.asker.ask(MODEL, "tensors", [3, 5])]
    assert all(isinstance(handle, Handle) for handle in handles)
    assert line.asker.ask(MODEL, "sums", handles[::-1]) == [5.0, 3.0]
    assert len(line.tensors._kept) == 2
    del handles[0]
    gc.collect()
    assert line.asker.ask(MODEL, "sums", handles) == [5.0]
    assert len(line.tensors._kept) == 1


def test_what_goes_wrong_reaches_who_has_asked_and_no_later_question(lines: list[Line]) -> None:
    with pytest.raises(RuntimeError, match="out of memory with 2"):
        lines[0].asker.ask(MODEL, "fail", [1, 2])
    with pytest.raises((AttributeError, HistoEvalError), match="no attribute 'nothing'"):
        lines[0].asker.ask(MODEL, "nothing", [1])
    assert lines[0].asker.ask(MODEL, "double", [1]) == [2]
