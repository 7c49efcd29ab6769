"""A true report made ready to be edited: what it concludes, what it describes, where things go."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple, TypeVar

from histoeval.reader.sections import PART, sections
from histoeval.reader.sentences import Sentence, sentences
from histoeval.report import Assertion, Entity, EntityType, Noun, Report
from histoeval.resources import load_toml
from histoeval.terms.catalogue import Behaviour, Concept, diagnosis_tree
from histoeval.terms.findings import Finding, find_findings, findings
from histoeval.terms.naming import main_concept

T = TypeVar("T")

SURE = 0.5  # an entity that the reader is less sure of is not built on
_ARTICLE = re.compile(r"\b(an?)\s+$", re.IGNORECASE)  # "a " before "carcinoma"
_ARTICLE_REACH = 12  # so many characters before a word its article is looked for
_VOWEL = re.compile(r"[aeiou]", re.IGNORECASE)


class Change(Noun):
    """`after` in place of `before` at `start` of the true report; an insertion has no `before`."""

    start: int
    before: str
    after: str

    @property
    def end(self) -> int:
        return self.start + len(self.before)


class NotApplicable(Exception):  # noqa: N818 - no error: this report cannot be edited in this way
    """The reason why a report cannot be edited in a certain way."""


class FindingMention(NamedTuple):
    entity: Entity
    finding: Finding
    is_denied: bool


class DiagnosisMention(NamedTuple):
    entity: Entity
    concept: Concept


@cache
def tables() -> dict[str, Any]:
    return load_toml("histoeval_research/experiments/edits/data/edits.toml")


def demand(candidates: Sequence[T], reason: str) -> Sequence[T]:
    if not candidates:
        raise NotApplicable(reason)
    return candidates


@dataclass(frozen=True)
class Original:
    """A report as it was read, and what edits need to know of it."""

    report: Report

    @property
    def text(self) -> str:
        return self.report.text

    @cached_property
    def sentences(self) -> Sequence[Sentence]:
        return sentences(self.text)

    @cached_property
    def has_parts(self) -> bool:
        """Whether it speaks of several specimens, so that a sentence must stay with its own."""
        return sum(section.kind == PART for section in sections(self.text)) > 1

    def of_type(self, kind: EntityType) -> list[Entity]:
        return [e for e in self.report.entities if e.type is kind and e.score >= SURE]

    @cached_property
    def diagnoses(self) -> list[DiagnosisMention]:
        """Every diagnosis that is made and known, in the order of the text."""
        return [
            DiagnosisMention(entity, concept)
            for entity in self.of_type(EntityType.DIAGNOSIS)
            if entity.assertion is Assertion.PRESENT
            and (concept := main_concept(entity.text)) is not None
        ]

    @cached_property
    def main(self) -> DiagnosisMention | None:
        """The main diagnosis: of those in the conclusion, the worst and last."""
        # Where nothing says that it concludes, the worst and last of all. Words that say only that
        # there is a tumour are none.
        specific = [d for d in self.diagnoses if d.concept.behaviour is not Behaviour.UNSPECIFIED]
        concluded = [d for d in specific if self.concludes(d.entity)] or specific
        worst_first = list(Behaviour)
        return min(
            concluded,
            key=lambda d: (
                worst_first.index(d.concept.behaviour),
                d.concept.generic,
                -d.entity.start,
            ),
            default=None,
        )

    @property
    def diagnosis(self) -> DiagnosisMention:
        if self.main is None:
            raise NotApplicable("it makes no known diagnosis")
        return self.main

    @property
    def malignancy(self) -> DiagnosisMention:
        if self.main is None or self.main.concept.behaviour is not Behaviour.MALIGNANT:
            raise NotApplicable("it makes no malignant diagnosis")
        return self.main

    @cached_property
    def mentions(self) -> list[DiagnosisMention]:
        """Everything that names the main diagnosis, by a wider or a narrower word too."""
        if self.main is None:
            return []
        tree, main = diagnosis_tree(), self.main.concept.id
        return [
            mention
            for mention in self.diagnoses
            if (tree.is_a(main, mention.concept.id) or tree.is_a(mention.concept.id, main))
            and mention.concept.behaviour is not Behaviour.UNSPECIFIED
        ]

    @cached_property
    def seen(self) -> list[FindingMention]:
        """Every finding that is known, affirmed or denied; each entity by its weightiest."""
        mentions = []
        for entity in self.of_type(EntityType.FINDING):
            named = find_findings(entity.text)
            if named and entity.assertion is not Assertion.UNCERTAIN:
                main = max(named, key=lambda f: (findings()[f.id].importance, f.end - f.start))
                is_denied = (entity.assertion is Assertion.ABSENT) != main.denied
                mentions.append(FindingMention(entity, findings()[main.id], is_denied))
        return mentions

    @cached_property
    def spoken_of(self) -> frozenset[str]:
        """The ids of all findings that any of its words name, however it speaks of them."""
        return frozenset(f.id for s in self.sentences for f in find_findings(s.of(self.text)))

    @cached_property
    def stances(self) -> frozenset[tuple[str, bool]]:
        """Every finding that is known, by id, and whether it is denied."""
        return frozenset((seen.finding.id, seen.is_denied) for seen in self.seen)

    @cached_property
    def links(self) -> frozenset[tuple[int, EntityType]]:
        """Where entities begin that are linked, and to what type."""
        entities = self.report.entities
        pairs = [(entities[r.head], entities[r.tail]) for r in self.report.relations]
        pairs += [(tail, head) for head, tail in pairs]
        return frozenset((one.start, other.type) for one, other in pairs)

    def sentence_at(self, place: int) -> Sentence | None:
        number = bisect_right(self.sentences, place, key=lambda s: s.start) - 1
        is_within = number >= 0 and place < self.sentences[number].end
        return self.sentences[number] if is_within else None

    def concludes(self, entity: Entity) -> bool:
        sentence = self.sentence_at(entity.start)
        return sentence is not None and concludes(sentence.of(self.text))

    def added(self, sentence: str, beside: Entity | None = None) -> Change:
        """A sentence put in: at the end; among several specimens behind what it is about."""
        owner = self.sentence_at(beside.start) if beside is not None and self.has_parts else None
        return self._insert(sentence, owner.end if owner else len(self.text.rstrip()))

    def described(self, sentence: str) -> Change:
        """A sentence put into the description: before the first that concludes, if that is late."""
        texts = [s.of(self.text) for s in self.sentences]
        first = next((i for i, text in enumerate(texts) if concludes(text)), len(texts))
        end = self.sentences[first - 1].end if first else len(self.text.rstrip())
        return self._insert(sentence, end)

    def _insert(self, sentence: str, place: int) -> Change:
        stop = "" if self.text[:place].rstrip()[-1:] in ".!?:;" else "."
        gap = "\n" if self.text[place : place + 1] in ("\n", "\r") else " "
        return Change(start=place, before="", after=f"{stop}{gap}{sentence}")

    def replaced(self, entity: Entity, words: str) -> Change:
        """Other words in place of an entity, in its own case, the article before them mended."""
        after = in_case_of(entity.text, words)
        start = entity.start
        article = _ARTICLE.search(self.text, max(0, start - _ARTICLE_REACH), start)
        if article is None:
            return Change(start=start, before=entity.text, after=after)
        before = self.text[article.start() : entity.end]
        if is_plural(words):
            after = in_case_of(article[1], words)
        else:
            right = in_case_of(article[1], "an" if _VOWEL.match(words) else "a")
            after = f"{right}{self.text[article.end(1) : start]}{after}"
        return Change(start=article.start(), before=before, after=after)

    def renamed(self, name: str) -> list[Change]:
        return [self.replaced(mention.entity, name) for mention in self.mentions]


def concludes(sentence: str) -> bool:
    """Whether a sentence says that it gives a conclusion."""
    text = sentence.casefold()
    return any(word in text for word in tables()["order"]["concluding"])


def in_case_of(model: str, words: str) -> str:
    """Words typed as the ones that they replace: in capitals, or with a capital first."""
    letters = [c for c in model if c.isalpha()]
    if len(letters) > 3 and all(c.isupper() for c in letters):
        return words.upper()
    return capitalised(words) if model[:1].isupper() else words


def is_plural(words: str) -> bool:
    """Whether words are of more than one thing, as far as their last letter tells."""
    last = words.rsplit(maxsplit=1)[-1].casefold() if words.split() else ""
    return last.endswith(("s", "i", "ae")) and not last.endswith(("ss", "is", "us"))


def capitalised(words: str) -> str:
    return words[:1].upper() + words[1:]


def apart(changes: Sequence[Change]) -> list[Change]:
    """Those of the changes that do not overlap one before them in the list."""
    kept: list[Change] = []
    taken: list[tuple[int, int]] = []
    for change in changes:
        at = bisect_left(taken, (change.start, change.end))
        ends_before_next = at == len(taken) or change.end <= taken[at][0]
        if ends_before_next and (at == 0 or taken[at - 1][1] <= change.start):
            taken.insert(at, (change.start, change.end))
            kept.append(change)
    return kept


def applied(text: str, changes: Sequence[Change]) -> str:
    """The text after all changes, which must not overlap."""
    pieces, at = [], 0
    for change in sorted(changes, key=lambda c: c.start):
        assert change.start >= at, "changes overlap"
        assert text.startswith(change.before, change.start), "a change is of other words"
        pieces += [text[at : change.start], change.after]
        at = change.end
    return "".join([*pieces, text[at:]])
