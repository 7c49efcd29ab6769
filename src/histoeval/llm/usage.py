"""Requests, tokens and time; and their cost where a price is known."""

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import Field

from histoeval.io.settings_files import read_model, read_toml
from histoeval.llm.chat import Reply
from histoeval.report import Noun
from histoeval.resources import resource_path

CHARACTERS_PER_TOKEN = 4.0  # a guess, for rate limits and estimates, until a server has counted
LOOPBACK = ("localhost", "127.0.0.1", "::1", "")  # models on this machine have no price per token

Money = Annotated[float, Field(ge=0)]


class Price(Noun):
    model: str  # a name, or a pattern with * as in file names
    input: Money
    output: Money


class Prices(Noun):
    """A table of prices; the first row that matches a model counts."""

    currency: str = "USD"
    price: tuple[Price, ...] = ()

    def of(self, judge: str) -> Price | None:
        model, _, endpoint = judge.rpartition("@")
        for price in self.price:
            if fnmatchcase(model, price.model):
                return price
        host = urlsplit(endpoint).hostname or ""
        return Price(model=model, input=0, output=0) if host in LOOPBACK else None


def read_prices(path: Path | None = None) -> Prices:
    file = path or resource_path("llm/data/prices.toml")
    return read_model(file, Prices, "the prices", read_toml)


@dataclass
class Usage:
    requests: int = 0
    cached: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    uncounted: int = 0  # replies for which the server gave no token counts
    retries: int = 0
    seconds: float = 0.0

    def add_reply(self, reply: Reply) -> None:
        self.requests += 1
        self.tokens_in += reply.tokens_in or 0
        self.tokens_out += reply.tokens_out or 0
        self.uncounted += reply.tokens_in is None

    def add(self, usage: "Usage") -> None:
        for name, count in vars(usage).items():
            setattr(self, name, getattr(self, name) + count)

    def take(self) -> "Usage":
        snapshot = replace(self)
        vars(self).update(vars(Usage()))
        return snapshot

    def cost(self, price: Price | None) -> float | None:
        if price is None or (self.uncounted and (price.input or price.output)):
            return None
        return (self.tokens_in * price.input + self.tokens_out * price.output) / 1e6

    def summary(self, judge: str, prices: Prices) -> dict[str, Any]:
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
