"""Reading with a joint model, window by window: its answers, put together to reports.

Each window is run by itself and without padding, so that what is found in a text depends on that
text alone, bit for bit. Texts are shared out among threads. A reading asks its questions to
whoever drives it (`reader/questions.py`), so that a GPU can answer those of many texts at once.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from histoeval.reader.links import Integers, Mention, candidates
from histoeval.reader.manifest import Manifest
from histoeval.reader.questions import (
    Decode,
    Encode,
    JointModel,
    Reading,
    Relate,
    Tokenise,
    answered,
)
from histoeval.reader.sentences import TextSpan, sentences
from histoeval.reader.tagging import (
    ASSERTED,
    ASSERTIONS,
    Floats,
    TokenSpan,
    softmax,
    spans_of,
    tags_of,
)
from histoeval.report import Assertion, Entity, EntityType, Relation, Report
from histoeval.runtime.memo import Memory
from histoeval.runtime.threads import cores
from histoeval.terms.assertion import is_denied
from histoeval.terms.values.measurements import is_length

Measure = Callable[[str], int]  # how many tokens a model makes of a fragment of text
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Window(TextSpan):
    """Text that a model is shown at once, and the part of it that no other window owns."""

    own_start: int
    own_end: int


@dataclass(frozen=True, slots=True)
class _Piece(TextSpan):
    """A sentence, or a part of one that is too long, with the white space that follows it."""

    cost: int
    opens_sentence: bool


def windows(text: str, measure: Measure, limit: int, overlap: int) -> list[Window]:
    """Windows of at most `limit` tokens, of which neighbours share about `overlap`.

    They begin and end where sentences do, unless a sentence is longer than the limit. What they
    own tiles the text. Text without a word has no windows. Only a single character that is more
    tokens than the limit makes a window that exceeds it.
    """
    if not 0 <= overlap < limit:
        raise ValueError(f"windows of {limit} tokens cannot overlap by {overlap}")
    if not text.strip():
        return []
    if measure(text) <= limit:
        return [Window(0, len(text), 0, len(text))]
    pieces = list(_pieces(text, measure, limit, overlap))
    runs = list(_runs(text, pieces, measure, limit, overlap))
    borders = [0, *_borders(pieces, runs), len(text)]
    return [
        Window(pieces[run.start].start, pieces[run.end - 1].end, own_start, own_end)
        for run, (own_start, own_end) in zip(runs, pairwise(borders), strict=True)
    ]


def within(entities: Sequence[Entity], window: Window) -> list[int]:
    """Positions of the entities that stand whole in a window; they come in order of their start."""
    first = bisect_left(entities, window.start, key=lambda entity: entity.start)
    last = bisect_right(entities, window.end, key=lambda entity: entity.start)
    return [i for i in range(first, last) if entities[i].end <= window.end]


def _pieces(text: str, measure: Measure, limit: int, overlap: int) -> Iterator[_Piece]:
    """Sentences with the white space around them; too long ones by words, or parts of words."""
    starts = [sentence.start for sentence in sentences(text)]
    for start, end in pairwise([0, *starts[1:], len(text)]):
        cost = max(1, measure(text[start:end]))
        if cost <= limit:
            yield _Piece(start, end, cost, opens_sentence=True)
            continue
        words = [word.start() for word in _WORD.finditer(text, start, end)]
        for first, last in pairwise([start, *words[1:], end]):
            cost = max(1, measure(text[first:last]))
            if cost <= limit:
                yield _Piece(first, last, cost, opens_sentence=first == start)
            else:
                most = max(1, (overlap or limit) // 4)
                for half_start, half_end, cost in _halves(text, first, last, measure, most):
                    yield _Piece(half_start, half_end, cost, opens_sentence=half_start == start)


def _halves(
    text: str, start: int, end: int, measure: Measure, most: int
) -> Iterator[tuple[int, int, int]]:
    """A stretch of characters, halved until each part has at most `most` tokens."""
    cost = max(1, measure(text[start:end]))
    if cost <= most or end - start == 1:
        yield start, end, cost
    else:
        middle = (start + end) // 2
        yield from _halves(text, start, middle, measure, most)
        yield from _halves(text, middle, end, measure, most)


def _runs(
    text: str, pieces: list[_Piece], measure: Measure, limit: int, overlap: int
) -> Iterator[TextSpan]:
    """Yield the pieces of each window: as many as fit, and always one more than before."""
    first, covered = 0, 0
    while covered < len(pieces):
        last, total = first + 1, pieces[first].cost
        while last < len(pieces) and total + pieces[last].cost <= limit:
            total += pieces[last].cost
            last += 1
        # tokens of the whole can be more than those of the parts, so it is measured as well
        start = pieces[first].start
        while last - first > 1 and measure(text[start : pieces[last - 1].end]) > limit:
            last -= 1
        if last <= covered:
            first += 1
            continue
        yield TextSpan(first, last)
        covered = last
        first = _next_first(pieces, first, last, limit, overlap)


def _next_first(pieces: list[_Piece], first: int, last: int, limit: int, overlap: int) -> int:
    """The piece that the next window begins with: the start of a sentence, if it can be."""
    if last == len(pieces):
        return last
    room = min(overlap, limit - pieces[last].cost)
    shared = last
    while shared - 1 > first and pieces[shared - 1].cost <= room:
        shared -= 1
        room -= pieces[shared].cost
    opening = (i for i in range(shared, last + 1) if pieces[i].opens_sentence)
    return next(opening, shared)


def _borders(pieces: list[_Piece], runs: list[TextSpan]) -> Iterator[int]:
    """Yield the borders between what windows own: a shared start of a sentence, near the middle."""
    previous = 0
    for run, following in pairwise(runs):
        shared = sum(piece.cost for piece in pieces[following.start : run.end])
        ranked: list[tuple[bool, int, int]] = []
        before = 0
        for i in range(following.start, run.end + 1):
            if i > previous:
                ranked.append((not pieces[i].opens_sentence, abs(2 * before - shared), i))
            before += pieces[i].cost
        previous = min(ranked)[2]
        yield pieces[previous].start


# halves of a character that JSON can smuggle in; a tokenizer cannot take them
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_LEAST = np.float32(1e-9)
# before the next line of a form: its heading, and a colon
_FIELD = re.compile(r"[ \t]*\n\s*[^\n:]{1,60}:")
_SIDE_BY_SIDE = 1024  # texts whose windows a GPU is given together
# characters of the texts whose readings are cached, at up to 80 bytes each
MAX_CACHED_CHARS = 1_500_000


@dataclass(slots=True)
class _View:
    window: Window
    length: int  # tokens, those that the tokenizer adds counted in
    shift: int  # tokens that it adds in front
    starts: Integers  # places in the text of the tokens that it does not add
    ends: Integers
    encoded: Any
    tags: Floats
    assertions: Floats

    def tokens(self, entity: Entity) -> tuple[int, int]:
        """The first and the last token that an entity touches, or the one beside it."""
        after = int(np.searchsorted(self.ends, entity.start, side="right"))
        first = min(after, len(self.starts) - 1)
        last = int(np.searchsorted(self.starts, entity.end, side="left")) - 1
        return first, max(first, last)


# the entities that begin in what a window owns, and not before the place where the last ended
Find = Callable[[str, _View, int], Reading[list[Entity]]]


class WindowedReader:
    sure_of_phrases = True  # a score is of a whole phrase, and no mean over its words

    def __init__(
        self, manifest: Manifest, tokenizer: Any, engine: JointModel, threads: int | None
    ) -> None:
        self.manifest = manifest
        self.tokenizer = tokenizer
        self.engine = engine
        self.threads = threads
        self._cached = Memory(self._read, most=MAX_CACHED_CHARS, size=len)

    reads_relations = True

    def read(self, texts: Sequence[str]) -> list[Report]:
        return self._cached(texts)

    def complete(self, reports: Sequence[Report]) -> list[Report]:
        return [self._complete(report) for report in reports]

    def _read(self, texts: Sequence[str]) -> list[Report]:
        """A GPU has some texts side by side, so that memory stays flat; a CPU one per thread."""

        def read(batch: Sequence[str]) -> list[Report]:
            readings = [self._report(text, self._decode) for text in batch]
            return answered(readings, self.engine, self.tokenizer)

        at_once = _SIDE_BY_SIDE if self.engine.takes_many else 1
        groups = [texts[first : first + at_once] for first in range(0, len(texts), at_once)]
        threads = 1 if self.engine.takes_many else self.threads or cores()
        if len(groups) == 1 or threads == 1:
            return [report for batch in groups for report in read(batch)]
        with ThreadPoolExecutor(threads) as pool:
            return [report for reports in pool.map(read, groups) for report in reports]

    def _complete(self, report: Report) -> Report:
        order = sorted(range(len(report.entities)), key=lambda i: report.entities[i].start)
        found_order: list[int] = []
        unsaid = {"assertion": Assertion.PRESENT}
        completed = [entity.model_copy(update=unsaid) for entity in report.entities]

        def find(_: str, view: _View, __: int) -> Reading[list[Entity]]:
            yield from ()
            own = range(view.window.own_start, view.window.own_end)
            owned = [i for i in order if completed[i].start in own]
            for i in owned:
                update = {"assertion": _assertion(view, completed[i])}
                completed[i] = completed[i].model_copy(update=update)
            found_order.extend(owned)
            return [completed[i] for i in owned]

        (linked,) = answered([self._report(report.text, find)], self.engine, self.tokenizer)
        return Report(
            text=report.text,
            entities=tuple(completed),
            relations=tuple(
                Relation(head=found_order[r.head], tail=found_order[r.tail], score=r.score)
                for r in linked.relations
            ),
        )

    def _report(self, text: str, find: Find) -> Reading[Report]:
        """Walk over the windows; a window is linked when the next one has been read."""
        entities: list[Entity] = []
        related: dict[tuple[int, int], float] = {}
        previous: _View | None = None
        cleaned = _HALF_PAIR.sub("\ufffd", text)
        encoded = yield Tokenise(cleaned)
        for window, encoding, inner in self._windows(cleaned, encoded):
            tokens = np.array([encoding.ids], dtype=np.int64)
            states, tags, assertions = yield Encode(tokens)
            offsets = np.array(encoding.offsets, dtype=np.int64)[inner] + window.start
            view = _View(
                window,
                tokens.shape[1],
                int(inner[0]),
                offsets[:, 0],
                offsets[:, 1],
                states,
                softmax(tags[0][inner]),
                softmax(assertions[0][inner]),
            )
            entities += yield from find(text, view, entities[-1].end if entities else 0)
            if previous is not None:
                yield from self._link(text, previous, entities, related)
            previous = view
        if previous is not None:
            yield from self._link(text, previous, entities, related)
        curve = self.manifest.relation_curve
        return Report(
            text=text,
            entities=tuple(entities),
            relations=tuple(
                Relation(head=head, tail=tail, score=curve(probability))
                for (head, tail), probability in sorted(related.items())
                if probability > 0.5
            ),
        )

    def _windows(self, text: str, encoded: Any) -> Iterator[tuple[Window, Any, Integers]]:
        """Yield each window, its tokens, and positions of those the tokenizer has not added."""

        @cache
        def measure(fragment: str) -> int:
            if fragment == text:
                return int(encoded.special_tokens_mask.count(0))
            return len(self.tokenizer.encode(fragment, add_special_tokens=False).ids)

        for window in windows(text, measure, self.manifest.window, self.manifest.overlap):
            is_whole_text = window.end - window.start == len(text)
            encoding = encoded if is_whole_text else self.tokenizer.encode(window.of(text))
            if (inner := 1 - np.array(encoding.special_tokens_mask)).any():
                yield window, encoding, np.flatnonzero(inner)

    def _decode(self, text: str, view: _View, after: int) -> Reading[list[Entity]]:
        path = yield Decode(np.log(view.tags + _LEAST))
        entities: list[Entity] = []
        for span in spans_of(path):
            # cut where the next line of a form begins: no name goes on there
            lines = [
                token
                for token in range(span.first + 1, span.last + 1)
                if _FIELD.match(text, int(view.ends[token - 1]))
            ]
            for first, beyond in pairwise([span.first, *lines, span.last + 1]):
                start, end = int(view.starts[first]), int(view.ends[beyond - 1])
                is_owned = view.window.own_start <= start < view.window.own_end
                if not is_owned or start < after or end <= start:
                    continue
                # the size of a tumour: no marker results in so many mm
                is_size = span.type is EntityType.RESULT and is_length(text[start:end])
                sure = np.prod(view.tags[range(first, beyond), path[first:beyond]])
                entity = Entity(
                    text=text[start:end],
                    start=start,
                    end=end,
                    type=EntityType.MEASUREMENT if is_size else span.type,
                    score=self.manifest.entity_curve(float(sure)),
                )
                if beyond > span.last:
                    assertion = _assertion(view, entity)
                else:  # the model took it for the beginning of the next line
                    is_absent = entity.type in ASSERTED and is_denied(text, start, end)
                    assertion = Assertion.ABSENT if is_absent else Assertion.PRESENT
                entities.append(entity.model_copy(update={"assertion": assertion}))
                after = end
        return entities

    def _link(
        self,
        text: str,
        view: _View,
        entities: Sequence[Entity],
        related: dict[tuple[int, int], float],
    ) -> Reading[None]:
        """Judge the pairs that a window shows; the window that owns the head has the last word."""
        window = view.window
        inside = within(entities, window)
        shown = [entities[i] for i in inside]
        linkable = candidates(
            window.of(text),
            [Mention(e.start - window.start, e.end - window.start, e.type) for e in shown],
        )
        if not len(linkable.pairs):
            return
        spans = [TokenSpan(*view.tokens(entity), entity.type) for entity in shown]
        shift, length = view.shift, len(view.starts)
        rows = np.array([(0, s.first + shift, s.last + shift) for s in spans], dtype=np.int64)
        tags = np.zeros((1, view.length), dtype=np.int64)
        tags[0, shift : shift + length] = tags_of(spans, length)
        logits = yield Relate(
            view.encoded, tags, rows, linkable.pairs, linkable.kinds, linkable.codes
        )
        shares = (1 / (1 + np.exp(-logits.clip(-30, 30)))).astype(logits.dtype, copy=False)
        for (head, tail), probability in zip(linkable.pairs, shares, strict=True):
            pair = inside[int(head)], inside[int(tail)]
            if pair not in related or window.own_start <= shown[head].start < window.own_end:
                related[pair] = float(probability)


def _assertion(view: _View, entity: Entity) -> Assertion:
    if entity.type not in ASSERTED:
        return Assertion.PRESENT
    first, last = view.tokens(entity)
    return ASSERTIONS[int(view.assertions[first : last + 1].mean(axis=0).argmax())]
