"""A gate for other programs: Markdown for a pull request, JUnit XML for a CI job."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

from histoeval.console import visible
from histoeval.run.compare.compare import Comparison
from histoeval.run.compare.gate import Gate
from histoeval.table import markdown, markdown_text
from histoeval.version import __version__
from histoeval.view.terminal.gate import WORST, evidence, gate_tables, verdict

MOST_TESTS = 200
"""Cases that JUnit lists at most."""

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ADDRESSED = re.compile(r"@(?=\w)")


def gate_markdown(found: Comparison, gate: Gate, most: int = WORST) -> str:
    """The outcome, the tables, and the notes, for a comment on a pull request.

    Nothing in a report can become markup, a link, or a mention of somebody.
    """
    tables = list(gate_tables(gate, most))
    if gate.conditions:
        tables[0] = tables[0]._replace(title="Conditions")
    notes = [f"- {markdown_text(note)}" for note in dict.fromkeys([*found.notes, *gate.notes])]
    content = "\n\n".join([*map(markdown, tables), *notes])
    head = f"## {'✅' if gate.passed else '❌'} {verdict(gate)}"
    made = f"`{found.signature.replace('`', '')}`, compared by histoeval {__version__}"
    return visible("\n\n".join([head, _ADDRESSED.sub("@<!-- -->", content), made])) + "\n"


def gate_junit(gate: Gate) -> str:
    """A test for each condition, and one for each case that got worse.

    A case fails where a condition that failed is about it; otherwise it passes, and its output
    says what got worse.
    """
    root = ET.Element("testsuites", name="histoeval compare")
    _suite(root, "conditions", _condition_tests(gate))
    _suite(root, "cases that got worse", _case_tests(gate))
    for total in ("tests", "failures"):
        root.set(total, str(sum(int(suite.get(total, "0")) for suite in root)))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(root: ET.Element, name: str, tests: Iterator[ET.Element]) -> None:
    suite = ET.SubElement(root, "testsuite", name=name)
    suite.extend(tests)
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", "0")
    suite.set("skipped", "0")


def _condition_tests(gate: Gate) -> Iterator[ET.Element]:
    for each in gate.conditions:
        cases = "".join(f"\n{case}" for case in each.cases[:MOST_TESTS])
        found = f"{each.system}: {each.found}"
        yield _test(
            "histoeval.gate", f"{each.system}: fail if {each.condition}", each.failed, found, cases
        )


def _case_tests(gate: Gate) -> Iterator[ET.Element]:
    blamed = {(each.system, case) for each in gate.failed for case in each.cases}
    for case in gate.worse[:MOST_TESTS]:
        after = "no score" if case.after is None else f"{case.after:.4f}"
        found = f"{gate.metric}: {case.before:.4f} -> {after}"
        is_blamed = (case.system, case.id) in blamed
        yield _test(
            f"histoeval.case.{case.system}", case.id, is_blamed, found, f"\n{evidence(case)}"
        )


def _test(group: str, name: str, failed: bool, found: str, more: str) -> ET.Element:
    test = ET.Element("testcase", classname=_xml(group), name=_xml(name), time="0")
    if failed:
        failure = ET.SubElement(test, "failure", message=_xml(found), type="gate")
        failure.text = _xml(found + more)
    else:
        ET.SubElement(test, "system-out").text = _xml(found + more)
    return test


def _xml(text: str) -> str:
    """Text that XML can hold: symbols for control characters, and for what is no character."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", visible(text))
