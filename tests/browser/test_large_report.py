"""The page of 10,000 pairs stays usable: its limits are those of docs/report.md."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.report_page import in_tab, write_page
from tests.support.score_runs import make_score_run

if TYPE_CHECKING:
    from playwright.sync_api import Page

PAIRS = 10_000


@pytest.mark.alone
@pytest.mark.release
def test_ten_thousand_pairs_are_shown_and_filtered_in_time(tmp_path: Path, page: Page) -> None:
    run = make_score_run(tmp_path, copies=PAIRS // 8)
    written = write_page(run)
    assert written.seconds < 20
    assert written.file.stat().st_size < 25_000_000
    found = in_tab(page, written.file)
    assert found["first paint"] < 2_000
    assert found["slowest filter"] < 200
