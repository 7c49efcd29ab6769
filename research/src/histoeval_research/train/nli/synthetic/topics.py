"""Pairs on questions that a report answers in one of a few ways: margins, grade, side, stage."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from histoeval.nli.entailer import Label
from histoeval_research.train.nli.synthetic.wordings import Part, of_part, table, worded


@dataclass(frozen=True, slots=True)
class TopicPair:
    """A pair before other sentences join its premise.

    `topics` are what it is about; `tone` is "malignant" where the premise speaks of a cancer, so
    that its margins and nodes can be mentioned too.
    """

    premise: str
    hypothesis: str
    label: Label
    category: str
    topics: frozenset[str]
    tone: str = "any"


Draw = Callable[[random.Random, Part, Label], TopicPair | None]
"""A pair with this label, or nothing where this time none can be made."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A question, its answers in several wordings, and which answers follow from which."""

    name: str
    category: str
    tone: str
    values: Mapping[str, tuple[str, ...]]
    subjects: tuple[str, ...] = ()
    entails: frozenset[tuple[str, str]] = frozenset()
    open: frozenset[tuple[str, str]] = frozenset()
    kin: frozenset[str] = frozenset()
    alone: bool = False

    def label(self, premise: str, hypothesis: str) -> Label:
        """What one answer says of another."""
        pair, turned = (premise, hypothesis), (hypothesis, premise)
        if premise == hypothesis or pair in self.entails:
            return "entailment"
        if turned in self.entails or pair in self.open or turned in self.open:
            return "neutral"
        return "contradiction"

    def say(self, value: str, subject: str, part: Part, chance: random.Random) -> str:
        """An answer as a statement."""
        return worded(self.values[value], part, chance, s=subject)

    def subject(self, part: Part, chance: random.Random) -> str:
        """Of whom or what it is asked; nothing where there is but one."""
        return chance.choice(of_part(self.subjects, part)) if self.subjects else ""


@cache
def topics() -> tuple[Topic, ...]:
    """All topics of the data files."""
    listed = tuple(_topic(row) for row in table("topics")["topic"])
    return listed + tuple(_antonyms(row) for row in table("antonyms")["row"])


def _topic(row: Mapping[str, object]) -> Topic:
    def pairs(key: str) -> frozenset[tuple[str, str]]:
        return frozenset((a, b) for a, b in row.get(key, ()))  # type: ignore[attr-defined]

    more = table("more").get(str(row["name"]), {})
    return Topic(
        name=str(row["name"]),
        category=str(row["category"]),
        tone=str(row["tone"]),
        values={name: (*worded, *more.get(name, ())) for name, worded in row["values"].items()},  # type: ignore[attr-defined]
        subjects=tuple(row.get("subjects", ())),  # type: ignore[arg-type]
        entails=pairs("entails"),
        open=pairs("open"),
        kin=frozenset(row.get("kin", ())),  # type: ignore[call-overload]
        alone=bool(row.get("alone", False)),
    )


def _antonyms(row: Mapping[str, Sequence[str]]) -> Topic:
    values = {
        str(number): tuple(text.replace("{x}", "{s}") for text in texts)
        for number, texts in enumerate(row["answers"])
    }
    name = f"{row['of'][0]}: {values['0'][0]}"
    return Topic(name, "antonym", "any", values, tuple(row["of"]), alone=True)


def draw_topic(chance: random.Random, part: Part, label: Label) -> TopicPair | None:
    """One answer, and the same, one that it says nothing of, or one that it excludes."""
    topic = chance.choice(topics())
    fit = [(a, b) for a in topic.values for b in topic.values if topic.label(a, b) == label]
    if not fit:
        return None
    premise, hypothesis = chance.choice(fit)
    subject = topic.subject(part, chance)
    return _drawn(
        topic,
        topic.say(premise, subject, part, chance),
        topic.say(hypothesis, subject, part, chance),
        label,
    )


def draw_other_subject(chance: random.Random, part: Part, label: Label) -> TopicPair | None:
    """Two subjects with answers of their own, of which the hypothesis asks for one, or a third."""
    topic = chance.choice([topic for topic in topics() if len(topic.subjects) > 5])
    several = of_part(topic.subjects, part)
    if len(several) < 3:
        return None
    one, two, three = chance.sample(several, 3)
    first, second = chance.choice(list(topic.values)), chance.choice(list(topic.values))
    question = chance.choice(list(topic.values))
    about, answer = chance.choice([(one, first), (two, second), (three, None)])
    if any(_overlap(about, other) for other in (one, two) if other != about):
        return None
    found: Label = "neutral" if answer is None else topic.label(answer, question)
    if found != label:
        return None
    sentences = [topic.say(first, one, part, chance), topic.say(second, two, part, chance)]
    chance.shuffle(sentences)
    kept = sentences if answer is not None or chance.random() < 0.5 else sentences[:1]
    return _drawn(
        topic,
        chance.choice([". ", "; ", ", "]).join(kept),
        topic.say(question, about, part, chance),
        label,
    )


def draw_sides(chance: random.Random, part: Part, label: Label) -> TopicPair | None:
    """Two organs or specimens, each normal or diseased; the hypothesis asks for one of them."""
    frames = table("frames")["sides"]
    names = chance.choice(of_part(frames["names"], part)).split(" and ")
    chance.shuffle(names)
    states = [chance.choice(["normal", "diseased"]) for _ in names]
    given = [worded(frames[s], part, chance, o=n) for n, s in zip(names, states, strict=True)]
    question = chance.choice(["normal", "diseased"])
    if label == "neutral":
        given, about = given[:1], names[1]
    else:
        about = names[0]
        if (question == states[0]) != (label == "entailment"):
            return None
        if chance.random() < 0.4:
            given = given[:1]
    chance.shuffle(given)
    hypothesis = worded(frames[question], part, chance, o=about)
    premise = chance.choice([". ", "; ", ", ", "\n"]).join(given)
    if premise == hypothesis:
        return None
    return TopicPair(
        premise, hypothesis, label, "other specimen", frozenset(t.name for t in topics())
    )


def draw_two(chance: random.Random, part: Part, label: Label) -> TopicPair | None:
    """Two topics in the premise, and a hypothesis on both, or on one and on a third."""
    fit = [topic for topic in topics() if not topic.alone]
    some = chance.sample(fit, 3)
    if any(a.name in b.kin or a.category == b.category for a in some for b in some if a != b):
        return None
    answers = [chance.choice(list(topic.values)) for topic in some]
    subjects = [topic.subject(part, chance) for topic in some]
    premise = [some[i].say(answers[i], subjects[i], part, chance) for i in (0, 1)]
    question = chance.sample((0, 1, 2), 2) if chance.random() < 0.7 else [chance.randrange(2)]
    labels: list[Label] = []
    hypothesis = []
    for i in question:
        value = chance.choice([answers[i], chance.choice(list(some[i].values))])
        labels.append("neutral" if i == 2 else some[i].label(answers[i], value))
        hypothesis.append(some[i].say(value, subjects[i], part, chance))
    if combined(labels) != label:
        return None
    tone = "malignant" if any(topic.tone == "malignant" for topic in some) else "any"
    return TopicPair(
        ". ".join(premise),
        chance.choice([". ", " and ", "; ", ", and "]).join(hypothesis),
        label,
        "several",
        frozenset(name for topic in some for name in (topic.name, *topic.kin)),
        tone,
    )


def draw_unasked(chance: random.Random, part: Part, label: Label) -> TopicPair | None:
    """A topic in the premise and another in the hypothesis, which says nothing of it."""
    if label != "neutral":
        return None
    one, two = chance.sample([topic for topic in topics() if not topic.alone], 2)
    if one.name in two.kin or two.name in one.kin or one.category == two.category:
        return None
    sentences = [
        topic.say(chance.choice(list(topic.values)), topic.subject(part, chance), part, chance)
        for topic in (one, two)
    ]
    about = frozenset({one.name, two.name, *one.kin, *two.kin})
    return TopicPair(sentences[0], sentences[1], label, "unasked", about, one.tone)


def combined(labels: Sequence[Label]) -> Label:
    """What a premise says of statements that are made together."""
    if "contradiction" in labels:
        return "contradiction"
    return "neutral" if "neutral" in labels else "entailment"


def statement(
    chance: random.Random, part: Part, tone: str, avoided: frozenset[str]
) -> tuple[str, frozenset[str]] | None:
    """Something that a report may say besides, and on which topics; nothing if all are avoided."""
    fit = [
        topic
        for topic in topics()
        if not topic.alone
        and topic.name not in avoided
        and not topic.kin & avoided
        and (topic.tone == "any" or tone == "malignant")
    ]
    if not fit:
        return None
    topic = chance.choice(fit)
    value = chance.choice(list(topic.values))
    return topic.say(value, topic.subject(part, chance), part, chance), frozenset({topic.name})


def _overlap(a: str, b: str) -> bool:
    return bool(set(a.split()[:-1]) & set(b.split()[:-1])) or a in b or b in a


def _drawn(topic: Topic, premise: str, hypothesis: str, label: Label) -> TopicPair | None:
    if premise == hypothesis:
        return None
    about = frozenset({topic.name, *topic.kin})
    return TopicPair(premise, hypothesis, label, topic.category, about, topic.tone)
