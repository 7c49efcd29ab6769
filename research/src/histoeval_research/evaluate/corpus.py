"""What a corpus holds, how it is split, and how far two annotators of it agree."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import permutations

from histoeval.errors import MissingDependency, ModelError, SettingError, pip_install
from histoeval.report import RELATION_TYPES, Assertion, EntityType
from histoeval_research.corpus import AnnotatedPassage
from histoeval_research.evaluate.matches import (
    NONE,
    Matches,
    Tally,
    assertion_matches,
    exact_matches,
    hare_matches,
    merge,
    overlap_matches,
    relation_matches,
    relation_matches_between_shared,
    total,
)


@dataclass
class AnnotatorAgreement:
    """What two annotators agree on."""

    # `assertion` counts diagnoses and findings that both marked alike: how many, and for how many
    # the assertion is the same too. `relations_between_agreed` looks only at relations both of
    # whose entities the other side has too, `relations` at all of them.

    passages: int = 0
    only_one: list[str] = field(default_factory=list)
    only_other: list[str] = field(default_factory=list)
    other_text: list[str] = field(default_factory=list)
    exact: Tally = field(default_factory=dict)
    all_exact: Matches = NONE
    hare_exact: Matches = NONE
    overlap: Matches = NONE
    relations: Matches = NONE
    relations_between_agreed: Matches = NONE
    asserted: int = 0
    asserted_alike: int = 0

    @property
    def assertion(self) -> float | None:
        return self.asserted_alike / self.asserted if self.asserted else None


def annotator_agreement(
    one: Iterable[AnnotatedPassage], other: Iterable[AnnotatedPassage]
) -> AnnotatorAgreement:
    agreement = AnnotatorAgreement()
    others = {passage.id: passage for passage in other}
    for passage in one:
        match = others.pop(passage.id, None)
        if match is None:
            agreement.only_one.append(passage.id)
        elif match.text != passage.text:
            agreement.other_text.append(passage.id)
        else:
            pair = passage.content, match.content
            exact, assertions = exact_matches(*pair), total(assertion_matches(*pair))
            agreement.passages += 1
            agreement.exact = merge(agreement.exact, exact)
            agreement.all_exact += total(exact)
            agreement.hare_exact += total(hare_matches(*pair))
            agreement.overlap += total(overlap_matches(*pair))
            agreement.asserted += assertions.one
            agreement.asserted_alike += assertions.shared_one
            agreement.relations += total(relation_matches(*pair))
            agreement.relations_between_agreed += total(relation_matches_between_shared(*pair))
    agreement.only_other.extend(others)
    return agreement


# The rows of the paper's table 1, and which of our types each stands for.
HARE_NAMES: Mapping[str, frozenset[EntityType]] = {
    "IHC Markers": frozenset({EntityType.MARKER}),
    "IHC Modifier": frozenset({EntityType.RESULT}),
    "Pathological Diagnosis": frozenset({EntityType.DIAGNOSIS}),
    "Anatomical Site": frozenset({EntityType.SITE}),
    "Diagnosis Descriptor": frozenset({EntityType.DESCRIPTOR, EntityType.GRADE}),
}


@dataclass
class Counts:
    """What is in some passages."""

    # `tokens` counts each passage once, `relation_tokens` once for every relation and
    # `candidate_tokens` once for every pair of entities that might have been related and is not:
    # the samples of the paper's relation model, from which negatives are drawn.

    passages: int = 0
    tokens: int = 0
    entities: Counter[EntityType] = field(default_factory=Counter)
    assertions: Counter[tuple[EntityType, Assertion]] = field(default_factory=Counter)
    relations: Counter[tuple[EntityType, EntityType]] = field(default_factory=Counter)
    relation_tokens: int = 0
    candidates: int = 0
    candidate_tokens: int = 0
    reports: set[str] = field(default_factory=set)

    @property
    def hare_entities(self) -> dict[str, int]:
        return {
            name: sum(self.entities[kind] for kind in kinds) for name, kinds in HARE_NAMES.items()
        }

    def add(self, passage: AnnotatedPassage, tokens: int) -> None:
        report = passage.content
        related = {(relation.head, relation.tail) for relation in report.relations}
        possible = sum(
            (head.type, tail.type) in RELATION_TYPES
            for head, tail in permutations(report.entities, 2)
        )
        self.passages += 1
        self.tokens += tokens
        self.reports.add(passage.report_id)
        self.entities.update(entity.type for entity in report.entities)
        self.assertions.update((entity.type, entity.assertion) for entity in report.entities)
        self.relations.update(report.relation_type(relation) for relation in report.relations)
        self.relation_tokens += tokens * len(report.relations)
        self.candidates += possible - len(related)
        self.candidate_tokens += tokens * (possible - len(related))


@dataclass
class Statistics:
    total: Counts = field(default_factory=Counts)
    sources: dict[str, Counts] = field(default_factory=dict)


def count_words(text: str) -> int:
    return len(text.split())


def token_counter(tokenizer: str) -> Callable[[str], int]:
    """A way to count the tokens that a model sees: a hub name, or a folder."""
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise MissingDependency(
            "transformers is not installed: tokens of models need the extra [train]; "
            f"run: {pip_install('train')}"
        ) from error
    try:
        loaded = AutoTokenizer.from_pretrained(tokenizer)
    except (OSError, ValueError) as error:
        raise ModelError(f"the tokenizer {tokenizer} cannot be loaded: {error}") from error
    return lambda text: len(loaded(text, add_special_tokens=False, verbose=False)["input_ids"])


def corpus_statistics(
    passages: Iterable[AnnotatedPassage], count_tokens: Callable[[str], int] = count_words
) -> Statistics:
    """Tables 1 and 3 of the paper, for any corpus, in one pass."""
    statistics = Statistics()
    for passage in passages:
        tokens = count_tokens(passage.text)
        statistics.total.add(passage, tokens)
        statistics.sources.setdefault(passage.source, Counts()).add(passage, tokens)
    return statistics


def split_by_report(
    passages: Iterable[AnnotatedPassage], shares: Mapping[str, float], seed: int = 0
) -> dict[str, list[AnnotatedPassage]]:
    """The passages in parts of these shares; all passages of a report go to one part."""
    # Reports are taken source by source, in an order that the seed and their ids decide and the
    # order of the passages does not; each goes to the part that lacks most. So every source is
    # spread over the parts as evenly as its reports allow. Parts keep the order of the passages.
    if any(share < 0 for share in shares.values()) or abs(sum(shares.values()) - 1) > 1e-6:
        listed = ", ".join(f"{name} {share:g}" for name, share in shares.items())
        raise SettingError(f"the shares must add up to 1, and these do not: {listed}")
    kept = list(passages)
    sizes = Counter(passage.report_id for passage in kept)
    sources: defaultdict[str, set[str]] = defaultdict(set)
    for passage in kept:
        sources[passage.report_id].add(passage.source)

    def turn(report: str) -> tuple[list[str], bytes]:
        return sorted(sources[report]), hashlib.sha256(f"{seed}\n{report}".encode()).digest()

    lacking = {name: 0.0 for name, share in shares.items() if share}
    part_of: dict[str, str] = {}
    for report in sorted(sizes, key=turn):
        for name in lacking:
            lacking[name] += shares[name] * sizes[report]
        part_of[report] = max(lacking, key=lacking.__getitem__)
        lacking[part_of[report]] -= sizes[report]
    parts: dict[str, list[AnnotatedPassage]] = {name: [] for name in shares}
    for passage in kept:
        parts[part_of[passage.report_id]].append(passage)
    return parts
