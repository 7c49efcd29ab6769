"""An is-a graph: what every thing is a kind of, and how far apart two things are."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

_PER_STEP = 0.85  # how close a thing is to what it is a kind of, for each step between them


class Tree:
    """Things by id, each with its parents: the first gives its lineage, the others also hold.

    A thing is its own ancestor at no step. Ids that are not in the tree raise `KeyError`.
    """

    def __init__(self, parents: Mapping[str, Sequence[str]]) -> None:
        self._parents = {id_: tuple(above) for id_, above in parents.items()}
        self._children: dict[str, list[str]] = {id_: [] for id_ in parents}
        for id_, above in self._parents.items():
            for parent in above:
                if parent not in self._parents:
                    raise ValueError(f"{id_} has the parent {parent}, which does not exist")
                self._children[parent].append(id_)
        self._refuse_circles()
        self.ancestors = lru_cache(maxsize=None)(self._ancestors)
        self.closeness = lru_cache(maxsize=1 << 16)(self._closeness)

    def _refuse_circles(self) -> None:
        """A thing whose parents are all settled is settled; in a circle none ever is."""
        waiting = {id_: len(above) for id_, above in self._parents.items()}
        settled = [id_ for id_, parents in waiting.items() if not parents]
        for id_ in settled:
            for child in self._children[id_]:
                waiting[child] -= 1
                if not waiting[child]:
                    settled.append(child)
        if len(settled) < len(self._parents):
            rest = sorted(set(self._parents) - set(settled))
            raise ValueError(f"a kind of itself, or below one that is: {', '.join(rest)}")

    def _ancestors(self, id_: str) -> Mapping[str, int]:
        """All that a thing is, itself included, with the fewest steps up to each."""
        steps, level = {id_: 0}, [id_]
        while level:
            above = [p for child in level for p in self._parents[child] if p not in steps]
            distance = steps[level[0]] + 1
            level = list(dict.fromkeys(above))
            steps.update(dict.fromkeys(level, distance))
        return steps

    def lineage(self, id_: str) -> tuple[str, ...]:
        line = [id_]
        while self._parents[line[-1]]:
            line.append(self._parents[line[-1]][0])
        return tuple(line)

    def children(self, id_: str) -> tuple[str, ...]:
        return tuple(self._children[id_])

    def descendants(self, id_: str) -> tuple[str, ...]:
        """All that is a kind of a thing, without itself, the nearer ones first."""
        seen = {id_: None}
        for descendant in (queue := [id_]):
            new = [child for child in self._children[descendant] if child not in seen]
            seen.update(dict.fromkeys(new))
            queue.extend(new)
        return tuple(seen)[1:]

    def depth(self, id_: str) -> int:
        return len(self.lineage(id_)) - 1

    def is_a(self, a: str, b: str) -> bool:
        """True if a is b, or a kind of it."""
        return b in self.ancestors(a)

    def are_kin(self, a: str, b: str) -> bool:
        return self.is_a(a, b) or self.is_a(b, a)

    def distance(self, a: str, b: str) -> int | None:
        """The fewest steps from a to b over something that both are; nothing if there is none."""
        up_a, up_b = self.ancestors(a), self.ancestors(b)
        return min((up_a[c] + up_b[c] for c in up_a if c in up_b), default=None)

    def _closeness(self, a: str, b: str) -> float:
        """Share of what they are that two things have in common, from 0 to 1.

        As Wu and Palmer have it: twice the depth of the common ancestor, over that and the steps
        to it, for the ancestor that gives most; a root counts for nothing. A thing and what it is
        a kind of are at least 0.85 close for one step, 0.85 ** n for n.
        """
        up_a, up_b = self.ancestors(a), self.ancestors(b)
        if a == b:
            return 1.0
        line = _PER_STEP ** up_a[b] if b in up_a else _PER_STEP ** up_b[a] if a in up_b else 0.0
        shared = ((2 * self.depth(c), up_a[c] + up_b[c]) for c in up_a if c in up_b)
        return max([line, *(twice / (twice + steps) for twice, steps in shared)])
