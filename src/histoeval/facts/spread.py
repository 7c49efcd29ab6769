"""Spread: which tumours a report calls metastatic, and where it says that they came from."""

import re
from collections.abc import Iterator

from histoeval.report import Assertion, Entity, EntityType
from histoeval.terms.assertion import is_denied
from histoeval.terms.catalogue import Behaviour, Concept, diagnosis_tree
from histoeval.terms.sites import find_sites, organ_of

_METASTASIS = "metastatic_neoplasm"
# What lies in a node or in a fluid only by having come there
_TRAVELS = ("carcinoma", "melanoma", "sarcoma")
_REACH = 60
_SPREAD = re.compile(
    r"\b(?:metasta\w+|secondary|secondaries|(?:subcapsular |tumou?r )?deposits?)\b", re.IGNORECASE
)
_SPREAD_BEFORE = re.compile(rf"{_SPREAD.pattern}[^.;:,\n]*$", re.IGNORECASE)
_SPREAD_AFTER = re.compile(
    r"[ ]{0,3}[,(]?[ ]{0,3}(?:metastatic\b|metasta(?:sis|ses)\b|deposits?\b|secondar(?:y|ies)\b)",
    re.IGNORECASE,
)
_PRIMARY = re.compile(r"\bprimary\b(?! (?:site|tumou?r))[^.;:,\n]{0,20}$", re.IGNORECASE)
_ELSEWHERE = re.compile(
    r"\b(?:lymph )?nodes?\b|\bLNs?\b|\blymphadenopathy\b|\beffusion\b|\bascit\w+|\bfluid\b|"
    r"\bpleural tap\b|\bcerebrospinal\b|\bCSF\b|\bbone marrow\b|\bmarrow\b",
    re.IGNORECASE,
)
_AFTER_SITE = re.compile(
    r"(?:[ ]+(?:serous|epithelial|ductal|glandular|gland|tract))?[ ]+(?:primary|origin|source|type|"
    r"as (?:the )?(?:source|origin|primary|most likely source))\b|"
    r"[ ]+(?:is |as )?(?:the )?(?:most |more )?(?:likely|probable|favou?red)"
    r"(?: source| origin| primary)?",
    re.IGNORECASE,
)
_BEFORE_SITE = re.compile(
    r"(?:\b(?:primary|origin|source|arising|originating)(?: site| tumou?r)?"
    r"(?:[ ]*:|[ ]+(?:in|from|of|is))|"
    r"\bmetasta\w+ from|\b(?:likely|probably|possibly|presumably|favou?r\w*|suggest\w*|support\w*)"
    r"(?: (?:of|from|to be|being))*|\blook to)(?:[ ]+(?:a|an|the))?[ ]+$",
    re.IGNORECASE,
)

_NUMBER = (
    r"(?:[1-9]\d?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|several|multiple)"
)
_POSITIVE = re.compile(
    rf"\bmetasta(?:sis|ses|tic)\b|\bdeposits?\b|\bp?N[1-3][abc]?\b|\bsecondar(?:y|ies)\b|"
    rf"\bnodes?,? (?:(?:is|are|were|was) )?(?:positive|involved)\b|\b(?:positive|involved) "
    rf"(?:lymph )?nodes?\b|\b{_NUMBER}(?: (?:out )?of (?:the )?|/)(?:\w{{1,30}}[ -]?){{1,3}}"
    rf"(?:lymph )?nodes?\b(?! (?:negative|free|clear))|\bnodes?\b[^.;]{{0,30}}\b{_NUMBER} "
    rf"(?:are |is )?(?:positive|involved)",
    re.IGNORECASE,
)
_TUMOUR = re.compile(
    r"\b(?:tumou?rs?|neoplasms?|cancer|carcinoma|malignan\w+|leuk\w+|lymphoma|response|"
    r"residual disease)\b",
    re.IGNORECASE,
)


def states_spread(text: str) -> bool:
    """True if a text affirms metastases, or nodes that are involved."""
    return any(not is_denied(text, *match.span()) for match in _POSITIVE.finditer(text))


def speaks_of_tumour(text: str) -> bool:
    """True if a text speaks of a tumour that it does not name, and does not deny."""
    return any(not is_denied(text, *match.span()) for match in _TUMOUR.finditer(text))


_STATEMENT = 400  # characters before a diagnosis in which its statement begins


def spread_of(concept: Concept | None, entity: Entity, text: str) -> str | None:
    """`metastatic` where a report says of a diagnosis that it came from elsewhere."""
    if concept is not None and concept.behaviour not in (
        Behaviour.MALIGNANT,
        Behaviour.UNSPECIFIED,
    ):
        return None
    before = text[max(0, entity.start - _REACH) : entity.start]
    says_so = (
        _SPREAD.search(entity.text)
        or _SPREAD_BEFORE.search(before)
        or _SPREAD_AFTER.match(text, entity.end)
    )
    return "metastatic" if says_so or _is_elsewhere(concept, entity, text) else None


def _is_elsewhere(concept: Concept | None, entity: Entity, text: str) -> bool:
    """True if a tumour that arises in some organ is found in a node or in a fluid."""
    tree = diagnosis_tree()
    if concept is None or not any(tree.is_a(concept.id, kind) for kind in _TRAVELS):
        return False
    statement = re.split(r"[.;\n]", text[max(0, entity.start - _STATEMENT) : entity.start])[-1]
    places = [m for m in find_sites(statement) if organ_of(m.id) != "lymph_node"]
    match = _ELSEWHERE.search(statement)
    return match is not None and not any(p.end <= match.start() - 25 for p in places)


def says_primary(entity: Entity, text: str) -> bool:
    """True if a report calls a diagnosis primary."""
    return bool(_PRIMARY.search(text[max(0, entity.start - 40) : entity.start]))


def origins(text: str) -> Iterator[tuple[Entity, str]]:
    """The organs from which a report says that a tumour came, with the words that say it."""
    for match in find_sites(text):
        before = text[max(0, match.start - _REACH) : match.start]
        lead = _BEFORE_SITE.search(re.split(r"[.;\n]", before)[-1])
        tail = _AFTER_SITE.match(text, match.end)
        if lead or tail:
            start, end = match.start, tail.end() if tail else match.end
            entity = Entity(
                text=text[start:end],
                start=start,
                end=end,
                type=EntityType.SITE,
                assertion=Assertion.PRESENT,
                score=0.5,
            )
            yield entity, match.id


def primary_of(concept: Concept) -> str:
    """Id of what a metastasis is one of: the first that it is and that is no metastasis."""
    tree = diagnosis_tree()
    if not tree.is_a(concept.id, _METASTASIS):
        return concept.id
    steps = tree.ancestors(concept.id)
    return next(
        (id_ for id_ in sorted(steps, key=steps.__getitem__) if not tree.is_a(id_, _METASTASIS)),
        concept.id,
    )
