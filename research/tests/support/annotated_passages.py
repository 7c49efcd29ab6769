"""Passages for tests: one written by hand, and any that can be."""

from __future__ import annotations

from hypothesis import strategies as st

from histoeval.report import RELATION_TYPES, Assertion, Entity, EntityType, Relation, Report
from histoeval_research.corpus import AnnotatedPassage

TEXT = "Left breast 😀: invasive carcinoma, grade 2.\nER is 90% positive; no necrosis."


def entity(
    text: str, what: str, kind: EntityType, assertion: Assertion = Assertion.PRESENT
) -> Entity:
    start = text.index(what)
    return Entity(text=what, start=start, end=start + len(what), type=kind, assertion=assertion)


ENTITIES = (
    entity(TEXT, "Left breast", EntityType.SITE),
    entity(TEXT, "invasive carcinoma", EntityType.DIAGNOSIS),
    entity(TEXT, "grade 2", EntityType.GRADE),
    entity(TEXT, "ER", EntityType.MARKER),
    entity(TEXT, "90%", EntityType.RESULT),
    entity(TEXT, "positive", EntityType.RESULT),
    entity(TEXT, "necrosis", EntityType.FINDING, Assertion.ABSENT),
)
RELATIONS = tuple(Relation(head=head, tail=tail) for head, tail in [(1, 0), (1, 2), (3, 4), (3, 5)])
REPORT = Report(text=TEXT, entities=ENTITIES, relations=RELATIONS)
PASSAGE = AnnotatedPassage(id="p1", source="written", report_id="case-1", content=REPORT)

WORDS = st.sampled_from(
    ["carcinoma", "ER", "3+", "Ki-67", "😀", "naïve", "pT2", "_", "\U0001d4b3y", "."]
)
SURE = st.just(1.0)
GAPS = st.sampled_from([" ", "  ", "\n", "\r\n", "\t", "\u2028"])


@st.composite
def passages(draw: st.DrawFn, scores: st.SearchStrategy[float] = SURE) -> AnnotatedPassage:
    """A text of words and gaps, entities that begin and end in words, and possible relations."""
    words = draw(st.lists(st.tuples(WORDS, GAPS), min_size=1, max_size=12))
    text = "".join(word + gap for word, gap in words)
    places = [place for place, sign in enumerate(text) if not sign.isspace()]
    spans = draw(st.lists(st.tuples(st.sampled_from(places), st.sampled_from(places)), max_size=5))
    entities = [
        Entity(
            text=text[min(span) : max(span) + 1],
            start=min(span),
            end=max(span) + 1,
            type=draw(st.sampled_from(EntityType)),
            assertion=draw(st.sampled_from(Assertion)),
            score=draw(scores),
        )
        for span in spans
    ]
    possible = [
        (head, tail)
        for head, one in enumerate(entities)
        for tail, other in enumerate(entities)
        if (one.type, other.type) in RELATION_TYPES
    ]
    chosen = draw(st.lists(st.sampled_from(possible), unique=True)) if possible else []
    content = Report(
        text=text,
        entities=tuple(entities),
        relations=tuple(Relation(head=head, tail=tail) for head, tail in chosen),
    )
    names = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1)
    return AnnotatedPassage(
        id=draw(names), source=draw(names), report_id=draw(names), content=content
    )
