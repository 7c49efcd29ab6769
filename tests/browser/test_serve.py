"""Every page of the server opens in a browser, without errors and without barriers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_the_list_of_runs_opens(
    page: Page, serving: Callable[..., str], axe: Callable[[Page], list[str]], tmp_path: Path
) -> None:
    run = tmp_path / "mine"
    run.mkdir()
    for name in ("run.json", "scores.jsonl", "summary.json"):
        (run / name).write_text("{}", "utf-8")
    page.goto(serving(tmp_path))
    assert "token" not in page.url
    assert page.get_by_role("cell", name="mine").is_visible()
    assert axe(page) == []
