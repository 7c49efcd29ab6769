"""Studies and comparisons read back from the folders that `agree` and `compare` have written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from histoeval.agreement.panel import PANEL, Panel, panel_of_content
from histoeval.agreement.study import Study, StudyPlan
from histoeval.agreement.systems import Contest
from histoeval.errors import InputError
from histoeval.io.store import read_json
from histoeval.run.agree import Agreement
from histoeval.run.compare.compare import Comparison
from histoeval.run.compare.gate import Gate

_NO_PANEL = Panel((), (), {}, {})


def read_agreement(folder: Path) -> tuple[Agreement, str]:
    """The study in a folder, and the command that made it where that is known.

    Its panel is empty where an earlier version has not kept it.
    """
    content = read_json(folder / "agreement.json", folder)
    panel = folder / PANEL
    try:
        return Agreement(
            study=Study.model_validate(_fields(content, Study)),
            plan=StudyPlan.model_validate(content["settings"]),
            panel=panel_of_content(read_json(panel, folder)) if panel.is_file() else _NO_PANEL,
            about=content["sheet"],
            notes=tuple(content["notes"]),
            unavailable=content["unavailable"],
        ), content.get("command", "histoeval agree")
    except (KeyError, TypeError, ValidationError) as error:
        raise _damaged(folder / "agreement.json", "agree") from error


def read_comparison(folder: Path) -> Comparison:
    """The comparison in a folder."""
    content = read_json(folder / "comparison.json", folder)
    try:
        return Comparison(
            metric=content["metric"],
            signature=content["signature"],
            contest=Contest.model_validate(_fields(content, Contest)),
            apart=tuple(content["most_different"]),
            left_out=content["left_out"],
            settings=content["settings"],
            notes=tuple(content["notes"]),
            gate=_gate(content.get("gate")),
        )
    except (KeyError, TypeError, ValidationError) as error:
        raise _damaged(folder / "comparison.json", "compare") from error


def _gate(content: dict[str, Any] | None) -> Gate | None:
    return None if content is None else Gate.model_validate(_fields(content, Gate))


def _fields(content: dict[str, Any], noun: Any) -> dict[str, Any]:
    return {name: content[name] for name in noun.model_fields if name in content}


def _damaged(file: Path, verb: str) -> InputError:
    return InputError(
        f"{file} is damaged, or of another version: run the same `histoeval {verb}` command again"
    )
