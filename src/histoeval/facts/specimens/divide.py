"""The specimens of a report: which stretches of its text are about which of them.

Parts are labelled (`A.`, `2)`, `III:`, `Part 4`, `Specimen B -`, `#5`), or they are lines headed by
a site or a procedure. What stands under a label that comes again, in the microscopy or in an
addendum, belongs to the same part, and so does a sentence that refers to one ("positive in part
B"). All other text is common to the parts.
"""

from functools import lru_cache

from histoeval.facts.specimens.headings import headed_parts
from histoeval.facts.specimens.labels import labelled_parts
from histoeval.facts.specimens.references import written_labels
from histoeval.facts.specimens.text import SpecimenText, Stretch

_MAX_CHARS = 60_000  # A longer text is not divided


@lru_cache(maxsize=1 << 10)
def specimens_of_text(text: str) -> tuple[SpecimenText, ...]:
    """The parts that a report is written in; none where it has only one, or they are not clear."""
    if len(text) > _MAX_CHARS:
        return ()
    return labelled_parts(text) or headed_parts(text)


def label_places(text: str) -> tuple[Stretch, ...]:
    """Where the labels of the parts stand: before the parts, and in what refers to them.

    They say which part is meant, and nothing else: another report may call it otherwise.
    """
    parts = specimens_of_text(text)
    labels = {part.tag for part in parts if part.tag}
    if len(labels) < 2:
        return ()
    before = (stretch for part in parts for stretch in part.labels)
    return tuple(sorted({*before, *written_labels(text, labels)}))
