"""Pages: what is shown is escaped, controls are visible, and nothing may be loaded or run."""

import re

from histoeval.table import ResultTable, markdown
from histoeval.view.html.page import render

EVIL = "a\u202eb\u2066\x1b[2J\x9b<script>alert(1)</script>"


def page() -> str:
    return render(
        "agreement.html",
        title=EVIL,
        facts=[EVIL],
        tables=[],
        notes=[EVIL],
        figures=[],
        signatures=[EVIL],
        command=EVIL,
    )


def test_no_control_character_reaches_a_page() -> None:
    text = page()
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    assert "a&lt;U+202E&gt;b&lt;U+2066&gt;␛[2J" in text
    assert "<script" not in text


def test_a_page_may_load_nothing_and_run_nothing() -> None:
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page())
    assert "default-src 'none'" in policy
    assert "script" not in policy
    assert "img-src data:" in policy


def test_markdown_shows_html_and_links_as_text() -> None:
    evil = "<script>x</script> ![a](http://evil) p <0.001"
    text = markdown(ResultTable(evil, ["name"], [[evil]]))
    assert "\\<script>x\\</script> ![a]\\(http://evil) p <0.001" in text
    assert not re.search(r"(?<!\\)<[a-z/]|\]\(", text)
