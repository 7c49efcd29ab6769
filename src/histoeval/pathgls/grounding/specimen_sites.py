"""Where a specimen was taken from, among all sites that a report names.

A report also names organs that its image does not show: those of the patient's history, those from
which a tumour came, those that something only looks like, and those that it denies.
"""

from histoeval.facts.specimens.text import only, outside
from histoeval.facts.spread import origins
from histoeval.reader.sections import sections
from histoeval.report import Assertion, Entity, EntityType, Report
from histoeval.terms.assertion import before, clause_before, has_wording, is_denied
from histoeval.terms.sites import is_place

_CLINICAL = "clinical"
_SEEN = (EntityType.DIAGNOSIS, EntityType.FINDING, EntityType.SITE)


def of_specimen(report: Report) -> Report:
    """A report without what it tells of the patient's history, and where a tumour came from.

    History stands after words for it, or in a section of its own; "breast primary" is no diagnosis.
    """
    came = [entity for entity, _ in origins(report.text)]
    dropped = [
        (each.start, each.end)
        for each in report.entities
        if each.type in _SEEN
        if has_wording("history", clause_before(report.text, each.start))
        or (each.type == EntityType.DIAGNOSIS and any(_holds(origin, each) for origin in came))
    ]
    told = [(each.start, each.end) for each in sections(report.text) if each.kind == _CLINICAL]
    kept = only(report, outside([*dropped, *told], len(report.text)))
    if not any(each.type in _SEEN for each in kept.entities):
        # All of a short report may stand under such a heading.
        kept = only(report, outside(dropped, len(report.text)))
    return kept


def specimen_sites(report: Report) -> frozenset[int]:
    """The entities, by number, that name a place of the specimen.

    Where a tumour came from is one only if no other place is named, and no spread.
    """
    came = [entity for entity, _ in origins(report.text)]
    named = [n for n, each in enumerate(report.entities) if _names_place(each, report.text)]
    sure = [n for n in named if not any(_overlap(report.entities[n], origin) for origin in came)]
    if sure or has_wording("metastatic", report.text):
        return frozenset(sure)
    return frozenset(named)


def _names_place(entity: Entity, text: str) -> bool:
    """Whether a site is where something is, and not denied: no colonic mucosa."""
    if entity.type != EntityType.SITE or entity.assertion != Assertion.PRESENT:
        return False
    if not is_place(text, entity.start, entity.end):
        return False
    # At the beginning of a statement it is a heading; what is denied in a place is not the place.
    lead = before(text, entity.start).split()
    return not lead or "in" in lead or not is_denied(text, entity.start, entity.end)


def _holds(one: Entity, other: Entity) -> bool:
    return one.start <= other.start and other.end <= one.end


def _overlap(one: Entity, other: Entity) -> bool:
    return one.start < other.end and other.start < one.end
