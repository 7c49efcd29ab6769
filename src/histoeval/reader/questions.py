"""Questions of a reading to its model, and their answers: for one text, or many at once.

A reading is a generator that yields questions and is sent their answers. On a CPU it goes on by
itself. On a GPU the readings of many texts go on side by side, and their questions are answered
together: those of windows with as many tokens, so that nothing is padded.
"""

from collections import defaultdict
from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from histoeval.reader.links import Integers
from histoeval.reader.tagging import Floats, best_paths

R = TypeVar("R")


class Tokenise(NamedTuple):
    text: str


class Encode(NamedTuple):
    """A window for the encoder, which answers with tokens, and logits of tags and assertions."""

    tokens: Integers


class Decode(NamedTuple):
    tags: Floats


class Relate(NamedTuple):
    """The related pairs of entities, which are rows of (0, first token, last token)."""

    encoded: Any
    tags: Integers
    entities: Integers
    pairs: Integers
    kinds: Integers
    codes: Integers


Question: TypeAlias = Tokenise | Encode | Decode | Relate
Reading: TypeAlias = Generator[Question, Any, R]
# encoded tokens of a window, and logits of their tags and of their assertions
Encoded: TypeAlias = tuple[Any, Floats, Floats]


class JointModel(Protocol):
    @property
    def takes_many(self) -> bool:
        """True if several questions at once are answered faster than one by one."""

    def encode_all(self, questions: Sequence[Encode]) -> list[Encoded]:
        """The answer to each question."""

    def relate_all(self, questions: Sequence[Relate]) -> list[Floats]:
        """A logit for each pair of each question."""


def answered(readings: Sequence[Reading[R]], model: JointModel, tokenizer: Any) -> list[R]:
    """Answer every reading; in each round the questions of all are answered together."""

    def tokenise(questions: Sequence[Tokenise]) -> list[Any]:
        if len(questions) == 1:  # which needs none of the tokenizer's threads
            return [tokenizer.encode(questions[0].text)]
        encodings: list[Any] = tokenizer.encode_batch([question.text for question in questions])
        return encodings

    handlers: dict[type[Question], Callable[[list[Any]], Sequence[Any]]] = {
        Tokenise: tokenise,
        Encode: model.encode_all,
        Decode: lambda questions: best_paths([question.tags for question in questions]),
        Relate: model.relate_all,
    }
    ends: dict[int, R] = {}
    answers: dict[int, Any] = dict.fromkeys(range(len(readings)))
    while answers:
        questions_by_type: dict[type[Question], dict[int, Question]] = defaultdict(dict)
        for number, answer in answers.items():
            try:
                question = readings[number].send(answer)
                questions_by_type[type(question)][number] = question
            except StopIteration as end:
                ends[number] = end.value
        answers = {
            number: answer
            for kind, questions in questions_by_type.items()
            for number, answer in zip(questions, handlers[kind]([*questions.values()]), strict=True)
        }
    return [ends[number] for number in range(len(readings))]
