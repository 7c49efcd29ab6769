"""A settings model is many options on the command line, and one object for the verb."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer
from typer.testing import CliRunner

from histoeval.cli.verb import help_text, verb
from histoeval.settings import Argument, Option


@dataclass(frozen=True)
class Fruit:
    apples: Annotated[int, Option("How many apples.", min=0)] = 1
    pear_kinds: Annotated[Sequence[str], Option("Which pears.", shell=list[str] | None)] = ()
    ripe: Annotated[bool, Option("Take what is not ripe.", name="--no-ripe")] = True
    python_only: int = 3


def shop() -> tuple[typer.Typer, list[tuple[str, Fruit, bool]]]:
    bought: list[tuple[str, Fruit, bool]] = []
    app = typer.Typer()

    @app.command()
    @verb
    def buy(place: str, fruit: Fruit = Fruit(), paid: bool = False) -> None:
        """Buy fruit."""
        bought.append((place, fruit, paid))

    return app, bought


def test_the_fields_of_a_model_are_options() -> None:
    app, bought = shop()
    words = ["market", "--apples", "3", "--pear-kinds", "a", "--pear-kinds", "b", "--paid"]
    words += ["--no-ripe"]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert bought == [("market", Fruit(3, ("a", "b"), ripe=False), True)]


def test_what_is_left_out_has_the_defaults_of_the_fields() -> None:
    app, bought = shop()
    assert CliRunner().invoke(app, ["market"]).exit_code == 0
    assert bought == [("market", Fruit(), False)]


def test_limits_and_help_of_a_field_hold() -> None:
    app, bought = shop()
    assert CliRunner().invoke(app, ["market", "--apples", "-1"]).exit_code == 2
    shown = CliRunner().invoke(app, ["--help"]).output
    assert "How many apples." in shown
    assert "Buy fruit." in shown
    assert bought == []


def test_a_model_may_hold_models_and_what_must_be_given() -> None:
    @dataclass(frozen=True)
    class Basket:
        owner: Annotated[str, Argument("Whose it is.")]
        fruit: Fruit = Fruit()

    carried: list[Basket] = []
    app = typer.Typer()

    def carry(basket: Basket) -> None:
        carried.append(basket)

    carry.__annotations__["basket"] = Basket
    app.command()(verb(carry))
    assert CliRunner().invoke(app, ["--apples", "3"]).exit_code == 2
    assert CliRunner().invoke(app, ["ann", "--apples", "3"]).exit_code == 0
    assert carried == [Basket("ann", Fruit(3))]


def test_paragraphs_of_help_are_one_line_each_but_for_examples() -> None:
    written = "Do\n    it.\n\n    More\n    words.\n\n    Examples:\n      do it\n      do that\n"
    assert help_text(written) == "Do it.\n\nMore words.\n\nExamples:\ndo it\ndo that"
