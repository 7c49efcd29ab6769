"""Requests, tokens and time; and their cost where a price is known."""

import tomllib
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import Field, ValidationError

from histoeval.errors import InputError, explain_validation
from histoeval.llm.chat import Reply
from histoeval.report import Noun
from histoeval.resources import resource_text

CHARACTERS_PER_TOKEN = 4.0
"""A guess, for rate limits and estimates, until a server has counted."""

LOOPBACK = ("localhost", "127.0.0.1", "::1", "")
"""Models on this machine have no price per token."""

Money = Annotated[float, Field(ge=0)]


class Price(Noun):
    """The price of a million tokens."""

    model: str
    """A name, or a pattern with * as in file names."""
    input: Money
    output: Money


class Prices(Noun):
    """A table of prices; the first row that matches a model counts."""

    currency: str = "USD"
    price: tuple[Price, ...] = ()

    def of(self, judge: str) -> Price | None:
        """The price of `model@endpoint`; None if it is unknown."""
        model, _, endpoint = judge.rpartition("@")
        for each in self.price:
            if fnmatchcase(model, each.model):
                return each
        host = urlsplit(endpoint).hostname or ""
        return Price(model=model, input=0, output=0) if host in LOOPBACK else None


def read_prices(path: Path | None = None) -> Prices:
    """The user's table, or that of this package."""
    try:
        text = resource_text("llm/data/prices.toml") if path is None else path.read_text("utf-8")
        return Prices.model_validate(tomllib.loads(text))
    except OSError as error:
        raise InputError(f"cannot read the prices {path}: {error.strerror or error}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"the prices {path} are not TOML: {error}") from error
    except ValidationError as error:
        fault = explain_validation(error)
        raise InputError(f"the prices {path} cannot be used: {fault}") from error


@dataclass
class Usage:
    """Requests to one model, and what they took."""

    requests: int = 0
    cached: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    uncounted: int = 0
    """Replies for which the server gave no token counts."""
    retries: int = 0
    seconds: float = 0.0

    def paid(self, reply: Reply) -> None:
        """Count a new reply."""
        self.requests += 1
        self.tokens_in += reply.tokens_in or 0
        self.tokens_out += reply.tokens_out or 0
        self.uncounted += reply.tokens_in is None

    def found(self, _reply: Reply) -> None:
        """Count a cached reply."""
        self.cached += 1

    def add(self, other: "Usage") -> None:
        """Take in what was counted elsewhere."""
        for name, count in vars(other).items():
            setattr(self, name, getattr(self, name) + count)

    def take(self) -> "Usage":
        """What was counted, and begin to count anew."""
        taken = replace(self)
        vars(self).update(vars(Usage()))
        return taken

    def cost(self, price: Price | None) -> float | None:
        """The cost, or None where the price or the tokens are unknown."""
        if price is None or (self.uncounted and (price.input or price.output)):
            return None
        return (self.tokens_in * price.input + self.tokens_out * price.output) / 1e6

    def summary(self, judge: str, prices: Prices) -> dict[str, Any]:
        """All of it, for usage.json."""
        return {
            "requests": self.requests,
            "cached": self.cached,
            "retries": self.retries,
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "replies_without_counts": self.uncounted,
            "seconds": round(self.seconds, 3),
            "cost": self.cost(prices.of(judge)),
            "currency": prices.currency,
        }
