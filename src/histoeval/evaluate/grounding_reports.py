"""Reports in words on labelled images, judged by grounding itself: true, foreign, or wrong.

The bank stands for what a model has learned; a report is worded, and compared with the decoys of
grounding. Of each image the true report is judged, one of another organ, and one that states
another diagnosis of the same organ, drawn by a seed.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from histoeval.errors import Problem
from histoeval.evaluate.grounding_images import picture_rows, slide_rows
from histoeval.evaluate.grounding_scores import ScoredTiles, diagnoses_by_organ
from histoeval.evaluate.grounding_verdicts import (
    FOREIGN,
    KINDS_OF_REPORT,
    OTHER_BEHAVIOUR,
    OTHER_DIAGNOSIS,
    SAME_BEHAVIOUR,
    TRUE,
    part_of,
    verdict_shares,
)
from histoeval.evaluate.tile_labels import LabelledTile
from histoeval.pathgls.fusion import fuse
from histoeval.pathgls.grounding.behaviour import side_of
from histoeval.pathgls.grounding.claims import claims_of
from histoeval.pathgls.grounding.decisions import BehaviourSide, Decisions, alike
from histoeval.pathgls.grounding.decoys import builtin_decoys
from histoeval.pathgls.grounding.embedded_image import EmbeddedImage
from histoeval.pathgls.grounding.encoder import ImageTextEncoder, Vectors
from histoeval.pathgls.grounding.score import ground
from histoeval.pathgls.policy.policy import WITHOUT_ENDPOINT, read_policy
from histoeval.pathgls.results import Claim, GroundingVerdict, ReportSpan, Spot
from histoeval.reader.builtin import BuiltinReader
from histoeval.report import Assertion, EntityType
from histoeval.terms.sites import find_places

_SPOT = Spot(x=0, y=0, width=1, height=1)


class WordedReport(NamedTuple):
    """What grounding says of a report; the value is missing where it knows nothing of it."""

    kind: str
    verdict: GroundingVerdict
    value: float | None
    part: str | None = None
    """Of another diagnosis whether its behaviour is another."""


def worded_figures(
    found: ScoredTiles, vectors: Vectors, encoder: ImageTextEncoder, decisions: Decisions
) -> dict[str, dict[str, float | int]]:
    """For tiles, pictures and slides how often worded reports are supported, and what they drop.

    A drop is that of the mean value beside true reports on the same images, where both are known.
    """
    bench = _Bench(found, vectors, encoder, decisions, diagnoses_by_organ(found))
    figures = {}
    for name, rows in _images(found).items():
        judged = [reports for some in rows if (reports := [*bench.judged(some)])]
        if judged:
            figures[f"decided, {name} in words"] = _summed(judged)
    return figures


def _images(found: ScoredTiles) -> dict[str, list[list[int]]]:
    """The tiles of each image."""
    return {
        "tiles": [[n] for n in range(len(found.tiles))],
        "pictures": picture_rows(found),
        "slides": slide_rows(found),
    }


def _image(vectors: Vectors, rows: Sequence[int]) -> EmbeddedImage:
    return EmbeddedImage(vectors[list(rows)], (_SPOT,) * len(rows), (), (None,) * len(rows))


def report_claim(organ: str, diagnosis: str) -> Claim:
    """What a report claims that states a diagnosis of an organ."""
    phrase = diagnosis if find_places(diagnosis) else f"{diagnosis} of the {organ}"
    span = ReportSpan(text=phrase, start=0, end=len(phrase))
    return Claim(span=span, type=EntityType.DIAGNOSIS, assertion=Assertion.PRESENT, phrase=phrase)


UNSAFE_REPORTS: Mapping[BehaviourSide, tuple[str, ...]] = {
    "malignant": (
        "{}: Normal.",
        "{0}, biopsy: Normal {0} tissue.",
        "{}: Benign.",
        "{0}: Benign {0} tissue.",
        "{}: Negative for malignancy.",
        "{}, resection: No evidence of malignancy.",
        "{}: Chronic inflammation.",
        "{}, biopsy: Reactive changes. No evidence of malignancy.",
        "{}, biopsy.",
    ),
    "benign": ("{}: Malignant tumour.", "{}: Carcinoma.", "{}, resection: Adenocarcinoma."),
}
"""Reports that are wrong on tissue of a behaviour, written by a language model."""


def unsafe_figures(
    found: ScoredTiles, vectors: Vectors, encoder: ImageTextEncoder, decisions: Decisions
) -> dict[str, dict[str, float | int]]:
    """How often a report of the wrong behaviour is deployed, whatever logic and stability say.

    On each tile, picture and slide of known organ and behaviour: the reports above, and each
    diagnosis of the organ that is on the other side.
    """
    reader, policy = BuiltinReader(), read_policy(WITHOUT_ENDPOINT)
    diagnoses = diagnoses_by_organ(found)

    @cache
    def claims(text: str) -> tuple[Claim, ...]:
        return claims_of(*reader.read([text]))

    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for size, rows in _images(found).items():
        for some in rows:
            tile = found.tiles[some[0]]
            if tile.organ is None or tile.behaviour is None:
                continue
            side: BehaviourSide = "malignant" if tile.behaviour == "malignant" else "benign"
            wrong = [text.format(tile.organ) for text in UNSAFE_REPORTS[side]]
            wrong += [
                f"{tile.organ}: {each}."
                for each in diagnoses.get(tile.organ, ())
                if side_of(each) not in (side, None)
            ]
            image = _image(vectors, some)
            learned = tile.organ in decisions.behaviour_limits(len(some))
            tally = counts[f"{size}, {side}, behaviour {'' if learned else 'not '}learned"]
            tally.update({"reports": len(wrong), "deployed": 0, "cancer check agrees": 0})
            for text in wrong:
                seen = ground(image, claims(text), encoder, builtin_decoys(), decisions)
                if isinstance(seen, Problem) or seen.cancer is None:
                    continue
                trust = fuse(
                    seen.value,
                    1.0,
                    1.0,
                    policy.weights,
                    policy,
                    claims_known=seen.claims_known,
                    image_verdict=seen.verdict,
                    cancer=seen.cancer,
                )
                tally["deployed"] += trust.route == "deploy"
                tally["cancer check agrees"] += seen.cancer.verdict == "agrees"
    return {f"unsafe reports: {name}": dict(tally) for name, tally in counts.items()}


class _Bench(NamedTuple):
    """Labelled tiles with their vectors, and what judges them."""

    found: ScoredTiles
    vectors: Vectors
    encoder: ImageTextEncoder
    decisions: Decisions
    diagnoses: Mapping[str, Sequence[str]]
    """By organ."""

    def judged(self, rows: Sequence[int]) -> Iterator[WordedReport]:
        """The reports on an image of these tiles, if its organ and diagnosis are in the lists."""
        tile = self.found.tiles[rows[0]]
        if tile.organ not in self.decisions.organs:
            return
        if tile.concept not in self.diagnoses.get(tile.organ, ()):
            return
        image = _image(self.vectors, rows)
        for kind, stated in self._reports(tile, rows[0]):
            claims = [report_claim(*stated)]
            part = part_of(tile, stated[1]) if kind == OTHER_DIAGNOSIS else None
            said = ground(image, claims, self.encoder, builtin_decoys(), self.decisions)
            if isinstance(said, Problem):
                yield WordedReport(kind, "not_known", None, part)
            else:
                yield WordedReport(kind, said.verdict or "not_known", said.value, part)

    def _reports(self, tile: LabelledTile, seed: int) -> Iterator[tuple[str, tuple[str, str]]]:
        """Organ and diagnosis of the true report and of one of each wrong kind."""
        organ, concept = str(tile.organ), str(tile.concept)
        foreign = [
            (other, each)
            for other in self.decisions.organs
            if not alike(other, organ)
            for each in self.diagnoses.get(other, ())
        ]
        wrong = [(organ, each) for each in self.diagnoses[organ] if each != concept]
        draws = np.random.default_rng(seed)
        yield TRUE, (organ, concept)
        for kind, some in ((FOREIGN, foreign), (OTHER_DIAGNOSIS, wrong)):
            if some:
                yield kind, some[int(draws.integers(len(some)))]


def _summed(images: Sequence[Sequence[WordedReport]]) -> dict[str, float | int]:
    """Shares of verdicts by kind of report, and the drop of the value by each wrong kind."""
    verdicts: dict[str, Counter[str]] = defaultdict(Counter)
    values: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for reports in images:
        (true,) = [each.value for each in reports if each.kind == TRUE]
        for each in reports:
            for kind in (each.kind, each.part):
                if kind is None:
                    continue
                verdicts[kind][each.verdict] += 1
                if true is not None and each.value is not None:
                    values[kind].append((true, each.value))
    figures: dict[str, float | int] = {}
    for kind in KINDS_OF_REPORT:
        figures |= verdict_shares(kind, verdicts[kind])
    for kind in (OTHER_BEHAVIOUR, SAME_BEHAVIOUR):
        if verdicts[kind]:
            figures |= verdict_shares(kind, verdicts[kind])
    for kind, pairs in values.items():
        if kind != TRUE:
            true_mean, wrong_mean = np.mean(pairs, axis=0)
            figures[f"{kind}, drop"] = float(1 - wrong_mean / true_mean)
    return figures
