"""Weights as int8 and products in float32: small files that answer alike on every processor."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

pytest.importorskip("torch")

from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import matmul_nbits_quantizer

from histoeval.reader.manifest import hash_of
from histoeval_research.train.core.onnx_int8 import write_graph
from histoeval_research.train.core.weight_only import convert_folder, weight_only_int8

pytestmark = pytest.mark.heavy

WIDTH, HEIGHT, ROWS = 256, 64, 400


def two_products(width: int = WIDTH) -> Any:
    """An embedding of 400 rows, a product with a large matrix, and one with a small one."""
    random = np.random.default_rng(3)
    weights = {
        "rows": random.normal(size=(ROWS, width)).astype(np.float32),
        "large": random.normal(size=(width, HEIGHT)).astype(np.float32),
        "small": random.normal(size=(HEIGHT, 3)).astype(np.float32),
    }
    nodes = [
        helper.make_node("Gather", ["rows", "tokens"], ["embedded"]),
        helper.make_node("MatMul", ["embedded", "large"], ["hidden"]),
        helper.make_node("MatMul", ["hidden", "small"], ["logits"]),
    ]
    graph = helper.make_graph(
        nodes,
        "two products",
        [helper.make_tensor_value_info("tokens", TensorProto.INT64, ["length"])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["length", 3])],
        [numpy_helper.from_array(values, name) for name, values in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def answers(model: Any) -> Any:
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"tokens": np.arange(0, ROWS, 7)})[0]


def operators(model: Any) -> set[str]:
    return {node.op_type for node in model.graph.node}


def test_a_rounded_model_answers_nearly_as_the_whole_one_and_is_a_quarter_of_its_size() -> None:
    whole = two_products()
    rounded = weight_only_int8(whole)
    onnx.checker.check_model(rounded)
    assert rounded.ByteSize() < 0.3 * whole.ByteSize()
    assert np.abs(answers(rounded) - answers(whole)).max() < 0.03 * np.abs(answers(whole)).max()


def test_rounding_twice_changes_nothing_and_the_model_given_is_left_as_it_was() -> None:
    whole = two_products()
    before = whole.SerializeToString()
    once = weight_only_int8(whole)
    assert whole.SerializeToString() == before
    assert weight_only_int8(once).SerializeToString() == once.SerializeToString()


def in_int8(model: Any) -> Any:
    """The model with products as older folders have them, which round what they multiply."""
    settings = matmul_nbits_quantizer.DefaultWeightOnlyQuantConfig(
        block_size=128, is_symmetric=True, accuracy_level=4, bits=8
    )
    work = matmul_nbits_quantizer.MatMulNBitsQuantizer(model, algo_config=settings)
    work.process()
    return work.model.model


@pytest.mark.parametrize("width", [256, 192, 96])
def test_a_model_with_rounded_activations_keeps_its_weights(width: int) -> None:
    fast = in_int8(two_products(width))
    assert "MatMulNBits" in operators(fast)
    unfolded = weight_only_int8(fast)
    assert "MatMulNBits" not in operators(unfolded)
    assert {opset.domain for opset in unfolded.opset_import} == {""}
    expected = answers(fast)
    assert answers(unfolded) == pytest.approx(expected, abs=0.03 * float(np.abs(expected).max()))


def test_the_exporter_writes_products_of_float32(tmp_path: Path) -> None:
    write_graph(two_products(), tmp_path / "float.onnx", rounded=True)
    assert operators(onnx.load(tmp_path / "float.onnx")) == {
        "Cast",
        "Mul",
        "Reshape",
        "Gather",
        "MatMul",
    }


def test_a_folder_is_converted_with_its_manifest(tmp_path: Path) -> None:
    onnx.save(in_int8(two_products()), tmp_path / "encoder.onnx")
    manifest = {"name": "tiny", "files": {"encoder.onnx": hash_of(tmp_path / "encoder.onnx")}}
    (tmp_path / "tiny.json").write_text(json.dumps(manifest))
    (tmp_path / "results.json").write_text("{}")
    convert_folder(tmp_path)
    files = json.loads((tmp_path / "tiny.json").read_text())["files"]
    assert files == {"encoder.onnx": hash_of(tmp_path / "encoder.onnx")}
    assert "MatMulNBits" not in operators(onnx.load(tmp_path / "encoder.onnx"))
