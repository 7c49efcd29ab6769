from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray

torch = pytest.importorskip("torch")

from histoeval.errors import MissingDependency, ModelError, SettingError
from histoeval.resources import resource_path
from histoeval.runtime.batching import padded
from histoeval.runtime.onnx import open_session, runner
from histoeval.runtime.torch_graph import TorchSession

pytestmark = pytest.mark.heavy

Inputs = dict[str, NDArray[Any]]
COUNT = 3


def tokens(length: int) -> NDArray[np.int64]:
    return np.random.default_rng(length).integers(5, 900, (COUNT, length))


def pixels() -> NDArray[np.float32]:
    return np.random.default_rng(0).standard_normal((COUNT, 3, 224, 224), dtype=np.float32)


GRAPHS: dict[str, Callable[[], Inputs]] = {
    "reader/encoder": lambda: {"tokens": tokens(37)},
    "aligner/encoder": lambda: {"tokens": tokens(9)},
    "nli/encoder": lambda: {
        "tokens": tokens(30),
        "kinds": np.repeat([[0] * 20 + [1] * 10], COUNT, axis=0),
    },
    "grounding/text": lambda: {"tokens": tokens(9)},
    "grounding/image": lambda: {"pixels": pixels()},
}


@pytest.mark.parametrize("name", GRAPHS)
def test_torch_runs_a_shipped_graph_on_several_texts_as_onnxruntime_on_each(name: str) -> None:
    path = resource_path(f"models/{name}.onnx")
    inputs, oracle = GRAPHS[name](), open_session(path)
    alone = [
        oracle.run(None, {key: rows[n : n + 1] for key, rows in inputs.items()})
        for n in range(COUNT)
    ]
    for found, expected in zip(
        TorchSession(path, "cpu").run(None, inputs), zip(*alone, strict=True), strict=True
    ):
        np.testing.assert_allclose(found, np.concatenate(expected), atol=5e-5)


@pytest.mark.parametrize("name", [name for name in GRAPHS if name != "grounding/image"])
def test_padding_changes_no_row(name: str) -> None:
    path = resource_path(f"models/{name}.onnx")
    lengths, inputs, oracle = [5, 31, 12], {}, open_session(path)
    for key in GRAPHS[name]():
        most = 2 if key == "kinds" else 900
        draw = np.random.default_rng(most)
        inputs[key] = [draw.integers(0, most, length) for length in lengths]
    whole = {key: padded(rows) for key, rows in inputs.items()}
    outputs = TorchSession(path, "cpu").start(whole, lengths)
    for row, length in enumerate(lengths):
        alone = oracle.run(None, {key: rows[row][None] for key, rows in inputs.items()})
        for found, expected in zip(outputs.values(), alone, strict=True):
            own = found[row][:length] if found.shape[1:2] == (max(lengths),) else found[row]
            np.testing.assert_allclose(own, expected[0], atol=5e-5)


@pytest.mark.parametrize("name", GRAPHS)
def test_nothing_is_read_back_from_the_device_while_a_graph_runs(name: str) -> None:
    """A meta device has no numbers, so that whoever waits for one, or mixes devices, fails."""
    session, inputs = TorchSession(resource_path(f"models/{name}.onnx"), "meta"), GRAPHS[name]()
    lengths = None if "pixels" in inputs else [inputs["tokens"].shape[1], *range(2, COUNT + 1)]
    for given in (None, lengths):
        found = session.start(inputs, given)
        assert all(output.is_meta and len(output) == COUNT for output in found.values())


def test_outputs_can_be_chosen_by_name() -> None:
    session = TorchSession(resource_path("models/reader/encoder.onnx"), "cpu")
    (found,) = session.run(["assertions"], {"tokens": tokens(5)})
    assert found.shape == (COUNT, 5, 3)


def test_a_graph_with_another_operator_and_a_file_that_is_none_are_refused(
    tmp_path: Path,
) -> None:
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Sin", ["x"], ["y"])], "g", [info("x", 1, [1])], [info("y", 1, [1])]
    )
    onnx.save(onnx.helper.make_model(graph), str(tmp_path / "graph.onnx"))
    with pytest.raises(ModelError, match="its operator Sin is not known here"):
        TorchSession(tmp_path / "graph.onnx", "cpu")
    (tmp_path / "graph.onnx").write_bytes(b"no graph")
    with pytest.raises(ModelError, match="cannot be loaded"):
        TorchSession(tmp_path / "graph.onnx", "cpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_device_that_is_not_there_is_refused_by_name() -> None:
    with pytest.raises(SettingError, match="the device 'cuda' cannot be used here"):
        open_session(resource_path("models/aligner/encoder.onnx"), "cuda")


def test_a_device_without_the_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("histoeval.runtime.onnx.find_spec", lambda _: None)
    with pytest.raises(MissingDependency, match=r"torch and onnx not installed.*\[hf\]"):
        open_session(resource_path("models/aligner/encoder.onnx"), "cuda")


@pytest.mark.parametrize("build", ["2.13.0", "2.13.0+cpu", "2.13.0+cu130"])
def test_what_runs_a_model_is_part_of_its_identity_and_not_where_it_was_got_from(
    build: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert runner(None) == runner("cpu") == f"onnxruntime{onnxruntime.__version__}"
    monkeypatch.setattr("histoeval.runtime.onnx.version", {"torch": build}.__getitem__)
    assert runner("cuda:1") == runner("cuda") == "torch2.13.0-cuda"
