"""A true report made ready to be edited: what it concludes, what it describes, where things go."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

from histoeval.reader.sections import PART, sections
from histoeval.reader.sentences import Sentence, sentences
from histoeval.report import Assertion, Entity, EntityType, Noun, Report
from histoeval.resources import load_toml
from histoeval.terms.catalogue import Behaviour, Concept, diagnosis_tree
from histoeval.terms.findings import Finding, find_findings, findings
from histoeval.terms.naming import main_concept

_SURE = 0.5
"""An entity that the reader is less sure of is not built on."""
_ARTICLE = re.compile(r"\b(an?)\s+$", re.IGNORECASE)
_NEAR = 12
"""So many characters before a word its article is looked for."""
_VOWEL = re.compile(r"[aeiou]", re.IGNORECASE)


class Change(Noun):
    """What was put in place of what, and where in the true report; an insertion is for nothing."""

    start: int
    before: str
    after: str


class NotApplicable(NamedTuple):
    """Why a report cannot be edited in a certain way."""

    reason: str


class FindingMention(NamedTuple):
    """A finding of the report that the catalogue knows."""

    entity: Entity
    finding: Finding
    denied: bool


class DiagnosisMade(NamedTuple):
    """A diagnosis that the report makes and the catalogue knows."""

    entity: Entity
    concept: Concept


@cache
def tables() -> dict[str, Any]:
    """The data of all edits."""
    return load_toml("histoeval_research/experiments/edits/data/edits.toml")


@dataclass(frozen=True)
class Original:
    """A report as it was read, and what edits need to know of it."""

    report: Report

    @property
    def text(self) -> str:
        """The words of the report."""
        return self.report.text

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """Its sentences, in order."""
        return tuple(sentences(self.text))

    @cached_property
    def has_parts(self) -> bool:
        """Whether it speaks of several specimens, so that a sentence must stay with its own."""
        return sum(section.kind == PART for section in sections(self.text)) > 1

    def of_type(self, kind: EntityType) -> list[Entity]:
        """The entities of a type that the reader is sure of."""
        return [e for e in self.report.entities if e.type is kind and e.score >= _SURE]

    @cached_property
    def diagnoses(self) -> tuple[DiagnosisMade, ...]:
        """Every diagnosis that is made and known, in the order of the text."""
        made = [e for e in self.of_type(EntityType.DIAGNOSIS) if e.assertion is Assertion.PRESENT]
        return tuple(
            DiagnosisMade(e, known) for e in made if (known := main_concept(e.text)) is not None
        )

    @cached_property
    def main(self) -> DiagnosisMade | None:
        """The diagnosis that the report comes to: of those in the conclusion, the worst and last.

        Where nothing says that it concludes, the worst and last of all. Words that say only that
        there is a tumour are none.
        """
        specific = [d for d in self.diagnoses if d.concept.behaviour is not Behaviour.UNSPECIFIED]
        concluded = [d for d in specific if self.concludes(d.entity)] or specific
        worst = list(Behaviour)

        def rank(d: DiagnosisMade) -> tuple[int, bool, int]:
            """The worst behaviour, then the more exact name, then the later place."""
            return worst.index(d.concept.behaviour), d.concept.generic, -d.entity.start

        return min(concluded, key=rank, default=None)

    @cached_property
    def mentions(self) -> tuple[DiagnosisMade, ...]:
        """Everything that names the main diagnosis, by a wider or a narrower word too."""
        if self.main is None:
            return ()
        tree, main = diagnosis_tree(), self.main.concept
        return tuple(
            each
            for each in self.diagnoses
            if (tree.is_a(main.id, each.concept.id) or tree.is_a(each.concept.id, main.id))
            and each.concept.behaviour is not Behaviour.UNSPECIFIED
        )

    @cached_property
    def seen(self) -> tuple[FindingMention, ...]:
        """Every finding that is known, affirmed or denied; each entity by its weightiest."""
        return tuple(self._seen())

    def _seen(self) -> Iterator[FindingMention]:
        for entity in self.of_type(EntityType.FINDING):
            found = find_findings(entity.text)
            if entity.assertion is Assertion.UNCERTAIN or not found:
                continue
            weightiest = max(found, key=lambda f: (findings()[f.id].importance, f.end - f.start))
            denied = (entity.assertion is Assertion.ABSENT) != weightiest.denied
            yield FindingMention(entity, findings()[weightiest.id], denied)

    @cached_property
    def spoken_of(self) -> frozenset[str]:
        """The ids of all findings that any of its words name, however it speaks of them."""
        return frozenset(f.id for s in self.sentences for f in find_findings(s.of(self.text)))

    def sentence_of(self, entity: Entity) -> Sentence | None:
        """The sentence in which an entity begins."""
        return self.sentence_at(entity.start)

    def sentence_at(self, place: int) -> Sentence | None:
        """The sentence that a place of the text is in."""
        found = bisect_right(self.sentences, place, key=lambda s: s.start) - 1
        return self.sentences[found] if found >= 0 and place < self.sentences[found].end else None

    def concludes(self, entity: Entity) -> bool:
        """Whether an entity stands in a sentence that says that it concludes."""
        sentence = self.sentence_of(entity)
        return sentence is not None and concludes(sentence.of(self.text))

    def is_linked(self, entity: Entity, kind: EntityType) -> bool:
        """Whether an entity is about something of a type, as invasion of a site."""
        return (entity.start, kind) in self._links

    @cached_property
    def _links(self) -> frozenset[tuple[int, EntityType]]:
        """Where entities begin that are linked, and to what types."""
        ends = [
            (self.report.entities[r.head], self.report.entities[r.tail])
            for r in self.report.relations
        ]
        return frozenset(
            (one.start, other.type) for a, b in ends for one, other in ((a, b), (b, a))
        )

    @cached_property
    def stances(self) -> frozenset[tuple[str, bool]]:
        """Every finding that is known, by id, and whether it is denied."""
        return frozenset((seen.finding.id, seen.denied) for seen in self.seen)

    def added(self, sentence: str, beside: Entity | None = None) -> Change:
        """A sentence put in: at the end; among several specimens behind what it is about."""
        owner = self.sentence_of(beside) if beside is not None and self.has_parts else None
        end = owner.end if owner is not None else len(self.text.rstrip())
        return self._behind(end, sentence)

    def described(self, sentence: str) -> Change:
        """A sentence put into the description: before the first that concludes, if that is late."""
        texts = [s.of(self.text) for s in self.sentences]
        first = next((i for i, each in enumerate(texts) if concludes(each)), len(texts))
        last = self.sentences[first - 1].end if first else len(self.text.rstrip())
        return self._behind(last, sentence)

    def _behind(self, end: int, sentence: str) -> Change:
        stop = "" if self.text[:end].rstrip()[-1:] in ".!?:;" else "."
        gap = "\n" if self.text[end : end + 1] in ("\n", "\r") else " "
        return Change(start=end, before="", after=f"{stop}{gap}{sentence}")

    def replaced(self, entity: Entity, words: str) -> Change:
        """Other words in place of an entity, in its own case, the article before them mended."""
        after = in_case_of(entity.text, words)
        start = entity.start
        article = _ARTICLE.search(self.text, max(0, start - _NEAR), start)
        if article is None:
            return Change(start=start, before=entity.text, after=after)
        before = self.text[article.start() : entity.end]
        if is_plural(words):
            after = in_case_of(article[1], words)
        else:
            right = in_case_of(article[1], "an" if _VOWEL.match(words) else "a")
            after = f"{right}{self.text[article.end(1) : start]}{after}"
        return Change(start=article.start(), before=before, after=after)


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
    """Words with a capital first, the others as they are."""
    return words[:1].upper() + words[1:]


def applied(text: str, changes: Sequence[Change]) -> str:
    """The text after all changes, which must not overlap."""
    done, at = [], 0
    for change in sorted(changes, key=lambda c: c.start):
        assert change.start >= at, "changes overlap"
        assert text.startswith(change.before, change.start), "a change is of other words"
        done += [text[at : change.start], change.after]
        at = change.start + len(change.before)
    return "".join([*done, text[at:]])
