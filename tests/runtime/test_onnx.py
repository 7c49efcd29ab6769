"""The library that runs the shipped models stays silent and single-threaded."""

import subprocess
import sys

import pytest


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads as Linux lists them")
def test_onnxruntime_starts_no_thread_that_sends_usage_data() -> None:
    program = (
        "import os; os.environ['OPENBLAS_NUM_THREADS'] = '1'\n"
        "from histoeval.resources import resource_path\n"
        "from histoeval.runtime.onnx import Session\n"
        "Session(resource_path('models/reader') / 'linker.onnx')._open()\n"
        "print(os.environ['ORT_DISABLE_TELEMETRY'], len(os.listdir('/proc/self/task')))\n"
    )
    found = subprocess.check_output([sys.executable, "-c", program], text=True)
    assert found.split() == ["1", "1"]


@pytest.mark.skipif(sys.platform != "linux", reason="reads memory as Linux tells it")
def test_what_was_needed_to_open_a_model_is_not_kept() -> None:
    program = (
        "import ctypes, pathlib\n"
        "from histoeval.resources import resource_path\n"
        "from histoeval.runtime.onnx import Session\n"
        "def resident():\n"
        "    status = pathlib.Path('/proc/self/status').read_text('utf-8')\n"
        "    return int(status.partition('VmRSS:')[2].split()[0]) // 1024\n"
        "session = Session(resource_path('models/reader') / 'encoder.onnx')._open()\n"
        "before = resident()\n"
        "getattr(ctypes.CDLL(None), 'malloc_trim', int)(0)\n"
        "print(before - resident())\n"
    )
    found = subprocess.check_output([sys.executable, "-c", program], text=True)
    assert int(found) < 20, "MB"
