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
    BatchJointModel,
    Decode,
    Encode,
    JointModel,
    Reading,
    Relate,
    Tokenise,
    alone,
    together,
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

Measure = Callable[[str], int]
"""How many tokens a model makes of a fragment of text."""

_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Window(TextSpan):
    """What a model is shown at once, and the part of it that no other window owns."""

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
    """The sentences of a text with the white space around them, the too long ones in parts."""
    starts = [sentence.start for sentence in sentences(text)]
    for start, end in pairwise([0, *starts[1:], len(text)]):
        cost = max(1, measure(text[start:end]))
        if cost <= limit:
            yield _Piece(start, end, cost, opens_sentence=True)
        else:
            yield from _words(text, start, end, measure, limit, overlap)


def _words(
    text: str, start: int, end: int, measure: Measure, limit: int, overlap: int
) -> Iterator[_Piece]:
    """The words of a long sentence; a word that is too long comes in small parts."""
    starts = [word.start() for word in _WORD.finditer(text, start, end)]
    for first, last in pairwise([start, *starts[1:], end]):
        cost = max(1, measure(text[first:last]))
        if cost <= limit:
            yield _Piece(first, last, cost, opens_sentence=first == start)
        else:
            most = max(1, (overlap or limit) // 4)
            for part in _halves(text, first, last, measure, most):
                yield _Piece(part.start, part.end, part.cost, opens_sentence=part.start == start)


def _halves(text: str, start: int, end: int, measure: Measure, most: int) -> Iterator[_Piece]:
    """A stretch of characters, halved until each part has at most `most` tokens."""
    cost = max(1, measure(text[start:end]))
    if cost <= most or end - start == 1:
        yield _Piece(start, end, cost, opens_sentence=False)
        return
    middle = (start + end) // 2
    yield from _halves(text, start, middle, measure, most)
    yield from _halves(text, middle, end, measure, most)


def _runs(
    text: str, pieces: list[_Piece], measure: Measure, limit: int, overlap: int
) -> Iterator[TextSpan]:
    """Which pieces each window holds: as many as fit, and always one more than before."""
    first, seen = 0, 0
    while seen < len(pieces):
        last = _fill(text, pieces, first, measure, limit)
        if last <= seen:
            first += 1
            continue
        yield TextSpan(first, last)
        seen = last
        first = _next_first(pieces, first, last, limit, overlap)


def _fill(text: str, pieces: list[_Piece], first: int, measure: Measure, limit: int) -> int:
    """The end of the longest run of pieces from `first` on that a window can hold.

    Tokens of the whole can be more than those of the parts, so the whole is measured as well.
    """
    last, total = first + 1, pieces[first].cost
    while last < len(pieces) and total + pieces[last].cost <= limit:
        total += pieces[last].cost
        last += 1
    while last - first > 1 and measure(text[pieces[first].start : pieces[last - 1].end]) > limit:
        last -= 1
    return last


def _next_first(pieces: list[_Piece], first: int, last: int, limit: int, overlap: int) -> int:
    """The piece that the next window begins with: the start of a sentence, if it can be.

    The window shares the pieces from there to `last`, and must have room for one more.
    """
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
    """Where one window's own part ends and the next one's begins, among what they share.

    At the start of a sentence, if one is shared, and as near the middle as can be.
    """
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


_HALF_PAIR = re.compile("[\ud800-\udfff]")
"""Halves of a character that JSON can smuggle in; a tokenizer cannot take them."""

_LEAST = np.float32(1e-9)

_FIELD = re.compile(r"[ \t]*\n\s*[^\n:]{1,60}:")
"""Before the next line of a form: its heading, and a colon."""

_SIDE_BY_SIDE = 1024
"""Texts whose windows a GPU is given together."""

MAX_CACHED_CHARS = 1_500_000
"""Characters of the texts whose readings are cached, at up to 80 bytes each."""


@dataclass(slots=True)
class _View:
    """What the encoder makes of one window.

    Of its `length` tokens the tokenizer has added the first `shift`. Starts and ends are the places
    in the text of those that it has not added.
    """

    window: Window
    length: int
    shift: int
    starts: Integers
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


Find = Callable[[str, _View, int], Reading[list[Entity]]]
"""The entities that begin in what a window owns, and not before the place where the last ended."""


class WindowedReader:
    """A joint reader, whatever runs it."""

    sure_of_phrases = True
    """A score is the chance that a whole phrase is right, and no mean over its words."""

    def __init__(
        self, manifest: Manifest, tokenizer: Any, engine: JointModel, threads: int | None
    ) -> None:
        self.manifest = manifest
        self.tokenizer = tokenizer
        self.engine = engine
        self.threads = threads
        self._cached = Memory(self._read, most=MAX_CACHED_CHARS, size=len)

    @property
    def reads_relations(self) -> bool:
        """It does."""
        return True

    def read(self, texts: Sequence[str]) -> list[Report]:
        """Entities with assertion, and relations, of each text."""
        return self._cached(texts)

    def complete(self, reports: Sequence[Report]) -> list[Report]:
        """The same entities with assertion and relations as this reader sees them."""
        return [self._complete(report) for report in reports]

    def _read(self, texts: Sequence[str]) -> list[Report]:
        if isinstance(self.engine, BatchJointModel):
            return self._read_together(texts, self.engine)
        threads = self.threads or cores()
        if len(texts) == 1 or threads == 1:
            return [self._driven(self._report(text, self._decode)) for text in texts]
        with ThreadPoolExecutor(threads) as pool:
            readings = (self._report(text, self._decode) for text in texts)
            return list(pool.map(self._driven, readings))

    def _read_together(self, texts: Sequence[str], engine: BatchJointModel) -> list[Report]:
        """Some texts side by side, so that memory stays flat."""
        return [
            report
            for first in range(0, len(texts), _SIDE_BY_SIDE)
            for some in [texts[first : first + _SIDE_BY_SIDE]]
            for report in together(
                [self._report(text, self._decode) for text in some], engine, self.tokenizer
            )
        ]

    def _driven(self, reading: Reading[Report]) -> Report:
        """The end of a reading whose questions are answered one by one."""
        return alone(reading, self.engine, self.tokenizer)

    def _complete(self, report: Report) -> Report:
        order = sorted(range(len(report.entities)), key=lambda i: report.entities[i].start)
        seen: list[int] = []
        unsaid = {"assertion": Assertion.PRESENT}
        completed = [entity.model_copy(update=unsaid) for entity in report.entities]

        def find(_: str, view: _View, __: int) -> Reading[list[Entity]]:
            """Put the assertion to the entities that begin in a window's own part."""
            yield from ()
            own = range(view.window.own_start, view.window.own_end)
            some = [i for i in order if completed[i].start in own]
            for i in some:
                update = {"assertion": _assertion(view, completed[i])}
                completed[i] = completed[i].model_copy(update=update)
            seen.extend(some)
            return [completed[i] for i in some]

        relations = self._driven(self._report(report.text, find)).relations
        return Report(
            text=report.text,
            entities=tuple(completed),
            relations=tuple(
                Relation(head=seen[r.head], tail=seen[r.tail], score=r.score) for r in relations
            ),
        )

    def _report(self, text: str, find: Find) -> Reading[Report]:
        """Walk over the windows; a window is linked when the next one has been read."""
        entities: list[Entity] = []
        related: dict[tuple[int, int], float] = {}
        previous: _View | None = None
        whole = _HALF_PAIR.sub("\ufffd", text)
        encoded = yield Tokenise(whole)
        for window, encoding, inner in self._windows(whole, encoded):
            view = yield from self._view(window, encoding, inner)
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
        """Each window with its tokens and the places of those that the tokenizer has not added."""

        @cache
        def measure(fragment: str) -> int:
            """Tokens of a fragment, without those at its ends."""
            if fragment == text:
                return int(encoded.special_tokens_mask.count(0))
            return len(self.tokenizer.encode(fragment, add_special_tokens=False).ids)

        for window in windows(text, measure, self.manifest.window, self.manifest.overlap):
            whole = window.end - window.start == len(text)
            encoding = encoded if whole else self.tokenizer.encode(window.of(text))
            if (inner := 1 - np.array(encoding.special_tokens_mask)).any():
                yield window, encoding, np.flatnonzero(inner)

    def _view(self, window: Window, encoding: Any, inner: Integers) -> Reading[_View]:
        tokens = np.array([encoding.ids], dtype=np.int64)
        encoded, tags, assertions = yield Encode(tokens)
        offsets = np.array(encoding.offsets, dtype=np.int64)[inner] + window.start
        return _View(
            window,
            tokens.shape[1],
            int(inner[0]),
            offsets[:, 0],
            offsets[:, 1],
            encoded,
            softmax(tags[0][inner]),
            softmax(assertions[0][inner]),
        )

    def _decode(self, text: str, view: _View, after: int) -> Reading[list[Entity]]:
        """The entities that the tags say."""
        path = yield Decode(np.log(view.tags + _LEAST))
        found: list[Entity] = []
        spans = [_within_fields(text, view, span) for span in spans_of(path)]
        for (first, last, kind), goes_on in [
            (piece, piece != pieces[-1]) for pieces in spans for piece in pieces
        ]:
            start, end = int(view.starts[first]), int(view.ends[last])
            owned = view.window.own_start <= start < view.window.own_end
            if not owned or start < after or end <= start:
                continue
            # The size of a tumour: no marker results in so many mm.
            is_size = kind is EntityType.RESULT and is_length(text[start:end])
            sure = np.prod(view.tags[range(first, last + 1), path[first : last + 1]])
            entity = Entity(
                text=text[start:end],
                start=start,
                end=end,
                type=EntityType.MEASUREMENT if is_size else kind,
                score=self.manifest.entity_curve(float(sure)),
            )
            assertion = _stated(text, entity) if goes_on else _assertion(view, entity)
            found.append(entity.model_copy(update={"assertion": assertion}))
            after = end
        return found

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
        pairs, probabilities = yield from self._pairs(window.of(text), view, shown)
        for (head, tail), probability in zip(pairs, probabilities, strict=True):
            place = inside[int(head)], inside[int(tail)]
            if place not in related or window.own_start <= shown[head].start < window.own_end:
                related[place] = float(probability)

    def _pairs(
        self, text: str, view: _View, entities: Sequence[Entity]
    ) -> Reading[tuple[Integers, Floats]]:
        """The pairs of entities that could be related, and how likely they are."""
        begin = view.window.start
        found = candidates(
            text, [Mention(e.start - begin, e.end - begin, e.type) for e in entities]
        )
        if not len(found.pairs):
            return found.pairs, np.zeros(0, dtype=np.float32)
        spans = [TokenSpan(*view.tokens(entity), entity.type) for entity in entities]
        shift, length = view.shift, len(view.starts)
        places = np.array([(0, s.first + shift, s.last + shift) for s in spans], dtype=np.int64)
        tags = np.zeros((1, view.length), dtype=np.int64)
        tags[0, shift : shift + length] = tags_of(spans, length)
        logits = yield Relate(view.encoded, tags, places, found.pairs, found.kinds, found.codes)
        shares = 1 / (1 + np.exp(-logits.clip(-30, 30)))
        return found.pairs, shares.astype(logits.dtype, copy=False)


def _within_fields(text: str, view: _View, span: TokenSpan) -> list[TokenSpan]:
    """A span of tokens, cut where the next line of a form begins: no name goes on there."""
    first, last, kind = span
    begins = [
        token
        for token in range(first + 1, last + 1)
        if _FIELD.match(text, int(view.ends[token - 1]))
    ]
    ends = pairwise([first, *begins, last + 1])
    return [TokenSpan(start, end - 1, kind) for start, end in ends]


def _stated(text: str, entity: Entity) -> Assertion:
    """The assertion of what the model took for the beginning of the next line."""
    denied = entity.type in ASSERTED and is_denied(text, entity.start, entity.end)
    return Assertion.ABSENT if denied else Assertion.PRESENT


def _assertion(view: _View, entity: Entity) -> Assertion:
    if entity.type not in ASSERTED:
        return Assertion.PRESENT
    first, last = view.tokens(entity)
    return ASSERTIONS[int(view.assertions[first : last + 1].mean(axis=0).argmax())]
