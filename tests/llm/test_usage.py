"""What judging costs, before and after, with prices that people write down themselves."""

from pathlib import Path

import pytest

from histoeval.errors import InputError
from histoeval.judges.panel import JudgeSampling, estimate
from histoeval.judges.prompt import load_prompt
from histoeval.llm.chat import Reply
from histoeval.llm.usage import Price, Prices, Usage, read_prices
from tests.support.fake_server import Loopback
from tests.support.judge_pairs import bench_at, make_pair

RUBRIC = load_prompt("rubric4")
PRICES = Prices(
    price=(Price(model="big-2026", input=10, output=30), Price(model="big-*", input=1, output=4))
)


def test_the_first_row_that_fits_is_the_price_and_a_model_on_this_machine_costs_nothing() -> None:
    there, usage = "@https://api.example.com/v1", Usage(tokens_in=1_000_000, tokens_out=1_000_000)
    assert PRICES.of(f"big-2026{there}") == PRICES.price[0]
    assert PRICES.of(f"big-mini{there}") == PRICES.price[1]
    for model, cost in (("m@http://localhost:8000/v1", 0), ("m@local/abc", 0), (f"m{there}", None)):
        assert usage.cost(read_prices().of(model)) == cost
    assert usage.cost(PRICES.price[1]) == pytest.approx(5)


def test_tokens_that_a_server_does_not_count_leave_the_cost_unknown() -> None:
    usage = Usage()
    usage.add_reply(Reply(text="x", tokens_in=10, tokens_out=5))
    assert usage.cost(PRICES.price[0]) == pytest.approx((10 * 10 + 5 * 30) / 1e6)
    usage.add_reply(Reply(text="x"))
    assert usage.cost(PRICES.price[0]) is None
    assert usage.summary("big-2026@https://x/v1", PRICES)["replies_without_counts"] == 1


def test_prices_are_read_from_a_file_and_slips_are_named(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text('currency = "EUR"\n[[price]]\nmodel = "m"\ninput = 1\noutput = 2\n', "utf-8")
    assert read_prices(path) == Prices(currency="EUR", price=(Price(model="m", input=1, output=2),))
    path.write_text('[[price]]\nmodel = "m"\ninput = -1\noutput = 2\n', "utf-8")
    with pytest.raises(InputError, match=r"price\.0\.input"):
        read_prices(path)
    path.write_text("not toml", "utf-8")
    with pytest.raises(InputError, match="is not TOML"):
        read_prices(path)
    with pytest.raises(InputError, match="cannot read"):
        read_prices(tmp_path / "none.toml")


def test_an_estimate_counts_each_question_once_and_learns_from_replies(loopback: Loopback) -> None:
    pairs = [make_pair(number) for number in range(20)]
    bench = bench_at(loopback.url, manner=JudgeSampling(repeats=2), concurrency=4)
    (before,) = estimate(bench, RUBRIC, [*pairs, *pairs], Prices())
    assert (before.pairs, before.questions, before.cached, before.requests) == (40, 40, 0, 40)
    assert not before.measured
    assert before.seconds is None
    loopback.delay = 0.01
    bench.ask(RUBRIC, pairs[:10])
    (after,) = estimate(bench, RUBRIC, pairs, Prices())
    assert (after.cached, after.requests, after.measured) == (20, 20, True)
    assert after.tokens_in == pytest.approx(20 * 900, rel=0.05)
    assert after.tokens_out == 20 * 50
    assert (after.seconds or 0) >= 20 * 0.01 / 4
    assert len(loopback.calls) == 20
