"""What a reading asks of its model, and who answers: one question at a time, or many at once.

A reading is a generator that yields questions and is sent their answers. On a CPU each is answered
by itself. On a GPU the readings of many texts go on side by side, and their questions are answered
together: those of windows with as many tokens, so that nothing is padded.
"""

from collections import defaultdict
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from histoeval.reader.links import Integers
from histoeval.reader.tagging import Floats, best_path, best_paths

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Tokenise:
    """Which tokens does a text have?"""

    text: str


@dataclass(frozen=True, slots=True)
class Encode:
    """What does the encoder make of a window? Encoded tokens, logits of tags and assertions."""

    tokens: Integers

    @property
    def length(self) -> int:
        """Tokens of the window."""
        return int(self.tokens.shape[1])


@dataclass(frozen=True, slots=True)
class Decode:
    """Which tags does a window have, by the logarithms of their probabilities?"""

    tags: Floats


@dataclass(frozen=True, slots=True)
class Relate:
    """Which pairs of entities are related? Entities are rows of (0, first token, last token)."""

    encoded: Any
    tags: Integers
    entities: Integers
    pairs: Integers
    kinds: Integers
    codes: Integers

    @property
    def length(self) -> int:
        """Tokens of the window."""
        return int(self.tags.shape[1])


Question: TypeAlias = Tokenise | Encode | Decode | Relate
Reading: TypeAlias = Generator[Question, Any, R]


class JointModel(Protocol):
    """What runs the two halves of a joint model, on one window at a time."""

    def encode(self, tokens: Integers) -> tuple[Floats, Floats, Floats]:
        """Encoded tokens, and logits of their tags and of their assertions."""

    def relate(
        self,
        *,
        encoded: Floats,
        tags: Integers,
        entities: Integers,
        pairs: Integers,
        kinds: Integers,
        codes: Integers,
    ) -> Floats:
        """A logit for each pair of entities, which are rows of (0, first token, last token)."""


@runtime_checkable
class BatchJointModel(Protocol):
    """What runs them on several windows with as many tokens at once."""

    def encode_all(self, questions: Sequence[Encode]) -> list[tuple[Any, Floats, Floats]]:
        """The answer to each question."""

    def relate_all(self, questions: Sequence[Relate]) -> list[Floats]:
        """The answer to each question."""


def alone(reading: Reading[R], engine: JointModel, tokenizer: Any) -> R:
    """The end of a reading whose questions are answered one by one."""
    answer: Any = None
    while True:
        try:
            question = reading.send(answer)
        except StopIteration as end:
            found: R = end.value
            return found
        answer = _answer(question, engine, tokenizer)


def _answer(question: Question, engine: JointModel, tokenizer: Any) -> Any:
    match question:
        case Tokenise():
            return tokenizer.encode(question.text)
        case Encode():
            return engine.encode(question.tokens)
        case Decode():
            return best_path(question.tags)
        case Relate():
            return engine.relate(
                encoded=question.encoded,
                tags=question.tags,
                entities=question.entities,
                pairs=question.pairs,
                kinds=question.kinds,
                codes=question.codes,
            )


def together(readings: Sequence[Reading[R]], engine: BatchJointModel, tokenizer: Any) -> list[R]:
    """The end of each reading; in every round the questions of all are answered together."""
    ended: dict[int, R] = {}
    answers: dict[int, Any] = dict.fromkeys(range(len(readings)))
    while answers:
        asked: dict[int, Question] = {}
        for number, answer in answers.items():
            try:
                asked[number] = readings[number].send(answer)
            except StopIteration as end:
                ended[number] = end.value
        answers = _answers(asked, engine, tokenizer)
    return [ended[number] for number in range(len(readings))]


def _answers(asked: dict[int, Question], engine: BatchJointModel, tokenizer: Any) -> dict[int, Any]:
    kinds: dict[type[Question], dict[int, Any]] = defaultdict(dict)
    for number, question in asked.items():
        kinds[type(question)][number] = question
    ways: dict[type[Question], Callable[[Sequence[Any]], Sequence[Any]]] = {
        Tokenise: lambda questions: tokenizer.encode_batch([each.text for each in questions]),
        Encode: engine.encode_all,
        Decode: lambda questions: best_paths([each.tags for each in questions]),
        Relate: engine.relate_all,
    }
    return {
        number: answer
        for kind, some in kinds.items()
        for number, answer in zip(some, ways[kind](list(some.values())), strict=True)
    }
