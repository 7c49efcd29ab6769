"""Pairs on what is seen and stained: findings, markers, genes, and morphology with diagnoses."""

import random
import re
from collections.abc import Sequence
from functools import cache

from histoeval.nli.entailer import Label
from histoeval.terms.catalogue import Behaviour, concepts, diagnosis_tree
from histoeval.terms.catalogue import table as terms_table
from histoeval.terms.findings import Finding, findings
from histoeval_research.train.nli.synthetic.diagnoses import ABOUT
from histoeval_research.train.nli.synthetic.topics import TopicPair
from histoeval_research.train.nli.synthetic.wordings import (
    Part,
    is_held_out,
    of_part,
    table,
    worded,
)

_NO_NOUN = re.compile(r"(ic|ed|al|ous|ar|ing|ive|ant|oid|ile)$")
"""How names of findings end that are no nouns, and so fit no sentence here."""


@cache
def _findings(part: Part) -> list[Finding]:
    return [
        finding
        for finding in findings().values()
        if "margin" not in finding.id
        and (part == "all" or is_held_out(finding.id) == (part == "dev"))
    ]


@cache
def _names(finding: Finding) -> tuple[str, ...]:
    fit = [n for n in finding.names if not _NO_NOUN.search(n) and len(n.split()) < 5]
    return tuple(fit[:5]) or (finding.name,)


def _lineage(finding: Finding) -> list[str]:
    line = [finding.id]
    while parent := findings()[line[-1]].parent:
        line.append(parent)
    return line


def draw_finding(chance: random.Random, part: Part, label: Label) -> TopicPair | None:
    """A finding affirmed or denied, and the same, a kind of it or another one."""
    frames = table("frames")["finding"]
    one = chance.choice(_findings(part))
    two = findings()[chance.choice(_lineage(one))]
    if label == "neutral" and chance.random() < 0.6:
        two = chance.choice(_findings(part))
    if chance.random() < 0.4:
        one, two = two, one
    how = chance.choice(["said", "said", "denied", "denied", "much", "little", "doubted"])
    question = chance.choice(["said", "denied", "much", "little"])
    if _finding_label(one, how, two, question) != label:
        return None
    premise = worded(frames[how], part, chance, f=chance.choice(_names(one)))
    if how in ("said", "denied") and chance.random() < 0.25:
        premise = _with_diagnosis(chance, part, one, how)
    hypothesis = worded(frames[question], part, chance, f=chance.choice(_names(two)))
    category = "finding" if one != two else "assertion"
    return TopicPair(premise, hypothesis, label, category, frozenset({one.id, two.id}))


def _finding_label(one: Finding, how: str, two: Finding, question: str) -> Label | None:
    """What one finding, affirmed or denied, implies of another; None where readers differ."""
    up, down = two.id in _lineage(one), one.id in _lineage(two)
    if not up and not down:
        return None if _share_words(one, two) else "neutral"
    if how == "doubted":
        return "neutral" if question in ("said", "denied") else None
    if question in ("much", "little") and how != "denied":
        return _amount_label(how, question) if one == two else None
    there, given = how != "denied", question != "denied"
    if there == given:
        return "entailment" if (up if there else down) else "neutral"
    return "contradiction" if (up if there else down) else "neutral"


def _amount_label(how: str, question: str) -> Label:
    """The label for amounts of one finding."""
    if how == "said":
        return "neutral"
    return "entailment" if how == question else "contradiction"


def _share_words(one: Finding, two: Finding) -> bool:
    words = [set(" ".join(f.names).lower().split()) for f in (one, two)]
    return bool({w for w in words[0] & words[1] if len(w) > 4})


def _with_diagnosis(chance: random.Random, part: Part, finding: Finding, how: str) -> str:
    frame = "with_diagnosis" if how == "said" else "without_diagnosis"
    pool = [c for c in concepts().values() if c.behaviour is Behaviour.MALIGNANT]
    diagnosis = chance.choice(pool).name
    words = table("frames")["finding"][frame]
    return worded(words, part, chance, f=chance.choice(_names(finding)), d=diagnosis)


@cache
def _markers(part: Part) -> list[tuple[str, ...]]:
    """Names of markers; those of every day stand there as often as all others."""
    rows = [
        (row["name"], *row["aliases"][:2])
        for row in terms_table("markers")["marker"]
        if row["kind"] == "ihc" and (part == "all" or is_held_out(row["name"]) == (part == "dev"))
    ]
    common = [row for row in rows if set(row) & set(table("frames")["marker"]["common"])]
    return rows + common * (len(rows) // max(1, len(common)))


def draw_marker(chance: random.Random, part: Part, label: Label) -> TopicPair | None:
    """A marker with its result, and the same, another result or another marker."""
    frames = table("frames")["marker"]
    one, other = chance.sample(_markers(part), 2)
    if one == other:
        return None
    how = chance.choice(
        ["positive", "positive", "negative", "negative", "strong", "weak", "undone"]
    )
    question = chance.choice(["positive", "positive", "negative", "negative", "strong", "weak"])
    two = other if label == "neutral" and chance.random() < 0.7 else one
    if _marker_label(how, question, same=one == two) != label:
        return None
    premise = worded(frames[how], part, chance, m=chance.choice(one))
    hypothesis = worded(frames[question], part, chance, m=chance.choice(two))
    return TopicPair(premise, hypothesis, label, "marker", frozenset({"marker"}))


def _marker_label(how: str, question: str, *, same: bool) -> Label:
    if not same or how == "undone":
        return "neutral"
    if how == question:
        return "entailment"
    if "negative" in (how, question):
        return "contradiction"
    if question == "positive":
        return "entailment"
    return "neutral" if how == "positive" else "contradiction"


def draw_panel(chance: random.Random, part: Part, label: Label) -> TopicPair | None:
    """A list of markers with their results, of which the hypothesis asks for one or two."""
    frames = table("frames")["marker"]
    rows = dict.fromkeys(chance.sample(_markers(part), chance.randint(4, 9)))
    some = [chance.choice(names) for names in rows]
    if len(some) < 3:
        return None
    cut = chance.randint(0, len(some) - 1)
    unknown, positive, negative = some[0], some[1 : cut + 1], some[cut + 1 :]
    frame = "lists" if positive and negative else "all_positive" if positive else "all_negative"
    premise = worded(
        frames[frame], part, chance, p=_listed(positive, "and"), q=_listed(negative, "nor")
    ).replace(" nor ", " nor " if "neither" in frame else chance.choice([" or ", " and "]))
    marker = chance.choice([unknown]) if label == "neutral" else chance.choice(some[1:])
    truth = "positive" if marker in positive else "negative"
    question = chance.choice(["positive", "negative"])
    if label != "neutral" and (question == truth) != (label == "entailment"):
        return None
    hypothesis = worded(frames[question], part, chance, m=marker)
    return TopicPair(premise, hypothesis, label, "marker", frozenset({"marker", "receptor status"}))


def _listed(names: Sequence[str], last: str) -> str:
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def draw_group(chance: random.Random, part: Part, label: Label) -> TopicPair | None:
    """Markers that together have a name, by their own names and by that one."""
    frames, group = table("frames")["marker"], table("frames")["groups"]
    name, *members = chance.choice(group["names"])
    other = chance.choice([row for row in group["names"] if row[0] != name])
    how, question = chance.choice(["positive", "negative"]), chance.choice(["positive", "negative"])
    if label != "neutral" and (how == question) != (label == "entailment"):
        return None
    words = {"p": " and ".join(members), "q": " and ".join(members)}
    listed = worded(frames[f"all_{how}"], part, chance, **words).replace("neither", "no")
    named = worded(group[question], part, chance, g=other[0] if label == "neutral" else name)
    pair = (listed, named)
    if chance.random() < 0.4 and label != "neutral":
        pair = (
            worded(group[how], part, chance, g=name),
            worded(frames[question], part, chance, m=chance.choice(members)),
        )
    return TopicPair(*pair, label, "marker", frozenset({"marker", "receptor status"}))


def draw_gene(chance: random.Random, part: Part, label: Label) -> TopicPair | None:
    """A gene that is altered or not."""
    frames = table("frames")[chance.choice(["gene", "fusion"])]
    one, other = chance.sample(of_part(frames["names"], part), 2)
    how, question = chance.choice(["altered", "normal"]), chance.choice(["altered", "normal"])
    two = other if label == "neutral" else one
    if label != "neutral" and (how == question) != (label == "entailment"):
        return None
    premise = worded(frames[how], part, chance, m=one)
    hypothesis = worded(frames[question], part, chance, m=two)
    if premise == hypothesis:
        return None
    return TopicPair(premise, hypothesis, label, "marker", frozenset({"gene"}))


def draw_morphology(chance: random.Random, part: Part, label: Label) -> TopicPair | None:
    """What is seen in a kind of disease, with diagnoses that it fits or excludes."""
    row = chance.choice(table("morphology")["feature"])
    tree = diagnosis_tree()
    kinds = [concepts()[i] for of in row["of"] for i in (of, *tree.descendants(of))]
    kinds = [c for c in kinds if part == "all" or is_held_out(c.id) == (part == "dev")]
    against = [concepts()[i] for of in row["against"] for i in (of, *tree.descendants(of))]
    against = [c for c in against if not any(tree.is_a(c.id, of) for of in row["of"])]
    if not kinds or not against:
        return None
    frames = table("frames")["diagnosis"]["said"]
    own = worded(frames, part, chance, d=chance.choice(chance.choice(kinds).names[:4]))
    if label == "contradiction":
        foreign = worded(frames, part, chance, d=chance.choice(chance.choice(against).names[:4]))
        seen = worded([*row["core"], *row["fits"]], part, chance)
        pair = chance.choice([(seen, foreign), (foreign, worded(row["core"], part, chance))])
    else:
        pair = own, worded(row["core" if label == "entailment" else "fits"], part, chance)
    return TopicPair(*pair, label, "morphology", ABOUT)


def draw_scene(chance: random.Random, part: Part, label: Label) -> TopicPair | None:
    """A description without a diagnosis, and a diagnosis that it fits or excludes."""
    content = table("morphology")
    row = chance.choice(content["scene"])
    seen = worded(row["says"], part, chance)
    frames = content["frames"]["said"]
    if label == "neutral":
        return TopicPair(
            seen, worded(table("frames")["outside"]["said"], part, chance), label, "outside", ABOUT
        )
    named = chance.choice(row["fits" if label == "entailment" else "excludes"])
    pair = seen, worded(frames, part, chance, d=named)
    turned = label == "contradiction" and chance.random() < 0.4
    return TopicPair(*(pair[::-1] if turned else pair), label, "morphology", ABOUT)
