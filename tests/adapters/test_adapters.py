"""Adapters cost nothing to those who do not use them, and name the extra that is missing."""

import subprocess
import sys

import pytest

from histoeval.adapters import imported
from histoeval.errors import MissingDependency

TOOLS = ("evaluate", "datasets", "torchmetrics", "inspect_ai", "mlflow", "wandb", "pandas")


def test_importing_histoeval_and_its_command_imports_no_tool() -> None:
    program = (
        "import sys, histoeval, histoeval.api, histoeval.cli.main, histoeval.cli.log; "
        f"print([name for name in {TOOLS} if name in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "[]"


def test_a_tool_that_is_missing_is_named_with_its_extra() -> None:
    with pytest.raises(
        MissingDependency, match=r"needs no_such_tool: pip install 'histoeval\[x\]'"
    ):
        imported("no_such_tool", "x")
