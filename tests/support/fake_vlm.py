"""A vision model on this machine: the server of the judge's tests, with an eye for colours.

It reports by the colour of what it is shown (blue is a carcinoma, pink is benign) and gives way to
whatever its temper says: to a false history, to a change of stain, or to nothing.
"""

import base64
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from histoeval.errors import Problem
from histoeval.llm.access import RetryPolicy
from histoeval.llm.chat import Instruction
from histoeval.vlm.load import load_vlm
from histoeval.vlm.model import Ask, Vlm, VlmConfig
from tests.support.fake_server import Call, Fault, Loopback, serving
from tests.support.judge_fixtures import isolate

BENIGN = "Colon mucosa with regular glands. Diagnosis: hyperplastic polyp. No dysplasia."
MALIGNANT = "Colon with infiltrating atypical glands. Diagnosis: invasive adenocarcinoma."

Pixels = NDArray[np.uint8]


def words_of(call: Call) -> str:
    content = call.body["messages"][-1]["content"]
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "text")


def picture_of(call: Call) -> Pixels | None:
    content = call.body["messages"][-1]["content"]
    parts = [part for part in content if isinstance(part, dict)]
    urls = [part["image_url"]["url"] for part in parts if "image_url" in part]
    if not urls:
        return None
    data = base64.b64decode(urls[0].partition(",")[2])
    return np.asarray(Image.open(BytesIO(data)).convert("RGB"))


def steadfast(call: Call) -> str:
    picture = picture_of(call)
    if picture is None:
        return MALIGNANT if "adenocarcinoma" in words_of(call) else BENIGN
    red, _, blue = picture.reshape(-1, 3).mean(axis=0)
    return MALIGNANT if blue > 1.5 * red else BENIGN


def gullible(call: Call) -> str:
    return MALIGNANT if "high-grade invasive carcinoma" in words_of(call) else steadfast(call)


@contextmanager
def vision(
    say: Callable[[Call], str] = steadfast, fault: Fault = lambda call: None, delay: float = 0.0
) -> Iterator[Loopback]:
    with serving(Loopback(say=say, fault=fault, delay=delay)) as server:
        yield server


def subject_at(server: Loopback, **rest: Any) -> Vlm:
    rest.setdefault("patience", RetryPolicy(attempts=2, timeout_s=5))
    return load_vlm(VlmConfig(endpoint=server.url, model="eye", **rest))


def described(subject: Vlm, images: Sequence[bytes], instruction: Instruction) -> str | Problem:
    (answer,) = subject.describe_all([Ask(instruction, instruction.text.strip(), tuple(images))])
    return answer if isinstance(answer, Problem) else answer.text


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(tmp_path, monkeypatch)


def write_picture(path: Path, pixels: Pixels) -> Path:
    Image.fromarray(pixels).save(path)
    return path
