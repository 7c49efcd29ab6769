"""The package can be run as a module, where its script is not on the path."""

import subprocess
import sys


def test_python_m_histoeval_is_histoeval() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "histoeval", "--version"], capture_output=True, text=True, check=True
    )
    assert shown.stdout.split()[0].lower() == "histoeval"
