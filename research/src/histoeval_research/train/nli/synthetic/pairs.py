"""Premises and hypotheses of pathology with their labels, made from our own word lists.

Each pair is drawn as two statements of which it is known what one says of the other; then the
premise gets company: a report says many things, of which one matters. Everything follows from the
seed. Wordings and concepts of the part "dev" never stand in the part "train".
"""

import random
import re
from collections.abc import Iterator
from functools import cache
from typing import Annotated

from pydantic import Field

from histoeval.nli.entailer import LABELS, Label, LabelledPair
from histoeval.report import Noun
from histoeval.resources import resource_bytes
from histoeval_research.train.aligner.names import names_sha256
from histoeval_research.train.core.provenance import lists_sha256
from histoeval_research.train.nli.synthetic.diagnoses import ABOUT, draw_diagnosis, some_cancer
from histoeval_research.train.nli.synthetic.findings_and_markers import (
    draw_finding,
    draw_gene,
    draw_group,
    draw_marker,
    draw_morphology,
    draw_panel,
    draw_scene,
)
from histoeval_research.train.nli.synthetic.numbers import draw_nodes, draw_quantity
from histoeval_research.train.nli.synthetic.organs.pairs import organ_pairs
from histoeval_research.train.nli.synthetic.topics import (
    Draw,
    TopicPair,
    draw_other_subject,
    draw_sides,
    draw_topic,
    draw_two,
    draw_unasked,
    statement,
    topics,
)
from histoeval_research.train.nli.synthetic.wordings import (
    Part,
    is_held_out,
    of_part,
    sentences,
    table,
)

_TURNED = 0.3
"""Share of contradictions with premise and hypothesis exchanged: they contradict either way."""


def draw_written(chance: random.Random, part: Part, label: Label) -> TopicPair | None:
    """A written premise with one of its hypotheses; a fifth of the premises is for development."""
    row = chance.choice(table("written")["written"])
    if part != "all" and is_held_out(row["premise"]) != (part == "dev"):
        return None
    pair = row["premise"], chance.choice(row[label])
    turned = label == "contradiction" and chance.random() < _TURNED
    premise, hypothesis = (text.removesuffix(".") for text in (pair[::-1] if turned else pair))
    return TopicPair(premise, hypothesis, label, "written", _everything())


@cache
def _everything() -> frozenset[str]:
    """A curated premise may be about anything: only words without weight go with it."""
    return ABOUT | {topic.name for topic in topics()} | {"nodes", "marker", "gene"}


_DRAWS: tuple[tuple[Draw, float], ...] = (
    (draw_topic, 6),
    (draw_other_subject, 2),
    (draw_two, 1.5),
    (draw_unasked, 0.7),
    (draw_diagnosis, 6),
    (draw_finding, 3),
    (draw_marker, 1),
    (draw_panel, 1.2),
    (draw_gene, 0.5),
    (draw_morphology, 1),
    (draw_scene, 1.2),
    (draw_nodes, 1),
    (draw_quantity, 1.5),
    (draw_sides, 1.2),
    (draw_group, 0.4),
    (draw_written, 3),
)
_ALONE = 0.5
"""Share of premises that say nothing else."""
_MOST_COMPANY = 6
_REPEATS = 40
_OPENED = 0.08
_AMERICAN = 0.35
_OF_A_CANCER = frozenset({"synonym", "parent", "exclusive"})
"""Categories of pairs on diagnoses in whose premises margins and nodes may be mentioned."""
_LONG_WORD = re.compile(r"[a-z0-9-]{4,}")
_SAY_LITTLE = frozenset(sentences("say_little"))


class PairSettings(Noun):
    """How many pairs are made, and from which wordings."""

    count: Annotated[int, Field(ge=3)] = 200_000
    """Pairs without the wordings and concepts of the development set."""
    rest: Annotated[int, Field(ge=0)] = 0
    """Pairs with these: for a model that is shipped, once it is known how well it generalises."""
    organs: Annotated[int, Field(ge=0)] = 0
    """Pairs from the cards of organs, without those of the development set."""
    by_hand: Annotated[int, Field(ge=0)] = 0
    """How many times the pairs that language models wrote are learned from."""
    edits: Annotated[int, Field(ge=0)] = 0
    """How many times the pairs from reports that language models edited are learned from."""
    names: Annotated[int, Field(ge=0)] = 0
    """Pairs of names from the ontology."""
    companions: Annotated[int, Field(ge=0)] = 0
    """Pairs of sentences of one true report, which do not contradict each other."""
    statements: Annotated[int, Field(ge=0)] = 0
    """Pairs from the statements that language models wrote with others of known effect."""
    changed: Annotated[int, Field(ge=0)] = 0
    """Pairs from true reports of which one thing was changed."""
    strangers: Annotated[int, Field(ge=0)] = 0
    """Pairs of statements of two true reports, which do not entail each other."""
    dev: Annotated[int, Field(ge=3)] = 6_000
    """Pairs of the development set."""


def pairs_sha256() -> str:
    """A hash of all that pairs are made of."""
    lists = ["topics", "more", "antonyms", "frames", "morphology", "written", "organs"]
    lists += ["organ_frames", "unlearned", "sentences"]
    places = [f"synthetic/data/{name}.toml" for name in lists]
    written = ["llm_written.jsonl", "llm_edits.jsonl.gz", "llm_statements.jsonl.gz"]
    places += [f"data/{name}" for name in written]
    content = (resource_bytes(f"histoeval_research/train/nli/{place}") for place in places)
    return lists_sha256(*content, names_sha256().encode())


def pairs_of_organs(count: int, part: Part, seed: int) -> Iterator[LabelledPair]:
    """So many pairs from the cards of organs; some organs are for development only."""
    kept_back = frozenset(table("organ_frames")["kept_back"])
    for drawn in organ_pairs(count, seed, lambda organ: (organ in kept_back) == (part == "dev")):
        premise, hypothesis, label, category = drawn
        yield LabelledPair(premise=premise, hypothesis=hypothesis, label=label, category=category)


def pathology_pairs(count: int, part: Part, seed: int) -> Iterator[LabelledPair]:
    """So many different pairs, the three labels in turn."""
    chance = random.Random(f"{seed}/{part}")
    seen: set[tuple[str, str]] = set()
    while len(seen) < count:
        drawn = _draw(chance, part, LABELS[len(seen) % len(LABELS)])
        pair = LabelledPair(
            premise=_premise(drawn, part, chance),
            hypothesis=_closed(drawn.hypothesis, chance),
            label=drawn.label,
            category=drawn.category,
        )
        if (pair.premise, pair.hypothesis) not in seen:
            seen.add((pair.premise, pair.hypothesis))
            yield pair


def _draw(chance: random.Random, part: Part, label: Label) -> TopicPair:
    """A pair; a draw that often gives none is repeated, so that it is not underrepresented."""
    draws, weights = zip(*_DRAWS, strict=True)
    while True:
        draw: Draw = chance.choices(draws, weights)[0]
        for _ in range(_REPEATS):
            if drawn := draw(chance, part, label):
                return drawn


def _premise(drawn: TopicPair, part: Part, chance: random.Random) -> str:
    """The premise among other sentences of a report."""
    if chance.random() < _ALONE:
        return _closed(drawn.premise, chance)
    sentences = _company(drawn, part, chance)
    sentences.insert(chance.randint(0, len(sentences)), drawn.premise)
    style = table("frames")["style"]
    text = _joined(sentences, chance.choice(style["joins"]), chance)
    if chance.random() < 0.15:
        text = f"{chance.choice(style['heads'])} {text}"
    return _closed(text, chance)


def _joined(sentences: list[str], join: str, chance: random.Random) -> str:
    """Sentences after each other, at times as a numbered list."""
    if chance.random() < 0.1:
        return "\n".join(f"{number}. {text}" for number, text in enumerate(sentences, 1))
    return join.join(sentences)


def _company(drawn: TopicPair, part: Part, chance: random.Random) -> list[str]:
    """Statements that change nothing: on other topics, and in other words."""
    tone = "malignant" if drawn.category in _OF_A_CANCER else drawn.tone
    taken, avoided = _words(drawn.hypothesis), drawn.topics
    company = []
    for _ in range(chance.choice([1, 1, 2, 2, 3, 4, _MOST_COMPANY])):
        text, topics = _remark(chance, part, tone, avoided)
        avoided = avoided | topics
        if not _words(text) & taken:
            company.append(text)
    return company


def _remark(
    chance: random.Random, part: Part, tone: str, avoided: frozenset[str]
) -> tuple[str, frozenset[str]]:
    """A statement on a topic, a list of markers, a number, or words without weight."""
    by_chance = chance.random()
    if by_chance < 0.15 and tone == "malignant" and "diagnosis" not in avoided:
        return some_cancer(chance, part), frozenset({"diagnosis"})
    if by_chance < 0.6 and (found := statement(chance, part, tone, avoided)):
        return found
    draw = draw_panel if by_chance < 0.75 else draw_quantity if by_chance < 0.85 else draw_nodes
    drawn = draw(chance, part, "neutral")
    fits = drawn and (drawn.tone == "any" or tone == "malignant") and not drawn.topics & avoided
    if drawn and fits:
        return drawn.premise, drawn.topics
    return chance.choice(of_part(table("frames")["style"]["fillers"], part)), frozenset()


def _words(text: str) -> set[str]:
    return set(_LONG_WORD.findall(text.lower())) - _SAY_LITTLE


def _closed(text: str, chance: random.Random) -> str:
    """A text as a sentence or as a phrase, at times with an opening, or as Americans spell it."""
    style = table("frames")["style"]
    if chance.random() < _OPENED:
        text = chance.choice(style["openings"]) + text
    if chance.random() < _AMERICAN:
        for ours, theirs in style["american"]:
            text = text.replace(ours, theirs).replace(ours.capitalize(), theirs.capitalize())
    return text if chance.random() < 0.3 else text[:1].upper() + text[1:].rstrip(".") + "."
