"""Score, Signature and the Metric protocol: the nouns of everything that compares two reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NoReturn, Protocol, runtime_checkable

from pydantic import AfterValidator, FiniteFloat

from histoeval.errors import Problem
from histoeval.notebook import notebook_html
from histoeval.report import Noun, Pair
from histoeval.version import __version__


class FrozenDict(dict[str, Any]):
    """A mapping that cannot be changed; it can be compared, pickled and written as JSON."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("part of a score cannot be changed; make a new one")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, Any]]]:
        return FrozenDict, (dict(self),)


def frozen(value: Any) -> Any:
    """Return a JSON value that cannot be changed: lists as tuples, mappings as `FrozenDict`."""
    if isinstance(value, Mapping):
        return FrozenDict({str(key): frozen(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return tuple(frozen(item) for item in value)
    return value


Numbers = Annotated[Mapping[str, FiniteFloat], AfterValidator(FrozenDict)]
Settings = Annotated[Mapping[str, str], AfterValidator(FrozenDict)]
Evidence = Annotated[Mapping[str, Any], AfterValidator(frozen)]


class Signature(Noun):
    """Everything that a number depends on; as text, one line."""

    metric: str
    settings: Settings = FrozenDict()
    version: str = __version__
    bounds: tuple[FiniteFloat | None, FiniteFloat | None] | None = None
    """The lowest and the highest value, None where there is no limit; not part of the line."""

    def __str__(self) -> str:
        settings = [f"{name}:{value}" for name, value in self.settings.items()]
        return "|".join([self.metric, *settings, f"histoeval:{self.version}"])


class _Valued(Noun):
    """A value with its signature, which can be printed, shown in a notebook, and computed with."""

    value: FiniteFloat
    signature: Signature

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        limits = self.signature.bounds
        scale = "" if limits is None else f" ({_limit(limits[0], '-')} to {_limit(limits[1])})"
        return f"{self.signature.metric} = {self.value:.3f}{scale}"

    def _repr_html_(self) -> str:
        return notebook_html(self, str(self))


class Score(_Valued):
    """The answer of one metric for one pair.

    `parts` are named numbers behind the value. `evidence` is what a person can check. `counts`
    are what the value was counted from; summed over pairs they give the corpus value of a metric
    that has one of its own, and they are empty where that is the mean.
    """

    parts: Numbers = FrozenDict()
    evidence: Evidence = FrozenDict()
    counts: tuple[FiniteFloat, ...] = ()
    pair: Pair | None = None
    """The texts, where one pair was scored alone; a notebook shows them with their marks."""


class PartCost(Noun):
    """The cost of one part: how much it lowers the best score."""

    part: str
    value: FiniteFloat
    weight: FiniteFloat
    """The share of all weights that this part has a hand in."""
    cost: FiniteFloat
    """The costs of all parts add up to the best score less this one."""


class Explanation(Score):
    """A score with what each part and each error costs; printed, a few lines of text.

    Every error in `evidence["errors"]` of a metric that can tell has `without`: the score if this
    error alone were not counted. Errors overlap, so what they cost need not add up.
    """

    breakdown: tuple[PartCost, ...] = ()
    """The parts that cost something; empty for a metric that is no sum of parts."""

    def __str__(self) -> str:
        lines = [super().__str__()]
        if self.breakdown:
            width = max(len(part.part) for part in self.breakdown)
            lines += [
                f"  {part.part:{width}}  {part.value:.2f}  costs {part.cost:.3f}"
                for part in self.breakdown
            ]
        for error in self.evidence.get("errors", ()):
            if isinstance(error, Mapping) and "message" in error:
                line = " ".join(str(error["message"]).split())
                lines.append(f"  {line}{self.gain(error)}")
        return "\n".join(lines)

    def gain(self, error: Mapping[str, Any]) -> str:
        """Describe the score without an error; empty if it is not known."""
        if (without := error.get("without")) is None:
            return ""
        return f"; without this error: {without:.3f} ({without - self.value:+.3f})"


class CorpusScore(_Valued):
    """The answer of one metric for a corpus, with the answer for each of its pairs."""

    mean: FiniteFloat
    """Over the pairs that have a score."""
    scores: tuple[Score | Problem, ...]

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The reasons for missing scores; pairs without a score do not count."""
        return tuple(answer for answer in self.scores if isinstance(answer, Problem))


def _limit(bound: float | None, sign: str = "") -> str:
    return f"{sign}infinity" if bound is None else f"{bound:g}"


@runtime_checkable
class Metric(Protocol):
    """The interface of every metric; `histoeval.metrics.base` implements most of it."""

    @property
    def name(self) -> str:
        """Its name in results: its specification."""

    @property
    def higher_is_better(self) -> bool:
        """True if a higher value is better."""

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest value."""

    @property
    def signature(self) -> Signature:
        """Everything that a number of this metric depends on."""

    def unavailable_reason(self) -> str | None:
        """The reason that it cannot run on this machine, for a person to read; None if it can."""

    def __call__(self, reference: str, candidate: str) -> Score:
        """Score one pair; raise a `HistoEvalError` if it has no score."""

    def score(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        """Return one answer per pair, in the order of the pairs."""

    def compute(
        self,
        *,
        predictions: str | Sequence[str] | None = None,
        references: str | Sequence[str] | None = None,
    ) -> CorpusScore:
        """Score a corpus; without arguments, the pairs that `update` has collected."""

    def update(self, candidates: str | Sequence[str], references: str | Sequence[str]) -> None:
        """Collect pairs for `compute()`."""

    def reset(self) -> None:
        """Forget what `update` has collected."""

    def corpus_value(self, mean: float, counts: Sequence[float]) -> float:
        """Compute the value of a whole corpus, from the mean over pairs or their summed counts."""
