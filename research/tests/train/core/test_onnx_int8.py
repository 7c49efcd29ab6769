"""Weights as int8 and products in float32: small files that answer alike on every processor."""

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

pytest.importorskip("torch")

from onnx import TensorProto, helper, numpy_helper

from histoeval_research.train.core.onnx_int8 import weight_only_int8

pytestmark = pytest.mark.heavy

WIDTH, HEIGHT, ROWS = 256, 64, 400


@pytest.fixture
def whole() -> Any:
    """An embedding of 400 rows, a product with a large matrix, and one with a small one."""
    random = np.random.default_rng(3)
    weights = {
        "rows": random.normal(size=(ROWS, WIDTH)).astype(np.float32),
        "large": random.normal(size=(WIDTH, HEIGHT)).astype(np.float32),
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


def test_a_rounded_model_answers_nearly_as_the_whole_one_and_is_a_quarter_of_its_size(
    whole: Any,
) -> None:
    rounded = weight_only_int8(whole)
    onnx.checker.check_model(rounded)
    assert rounded.ByteSize() < 0.3 * whole.ByteSize()
    assert np.abs(answers(rounded) - answers(whole)).max() < 0.03 * np.abs(answers(whole)).max()
    used = {node.op_type for node in rounded.graph.node}
    assert used == {"Cast", "Mul", "Reshape", "Gather", "MatMul"}, "products are of float32"


def test_rounding_twice_changes_nothing_and_the_model_given_is_left_as_it_was(whole: Any) -> None:
    before = whole.SerializeToString()
    once = weight_only_int8(whole)
    assert whole.SerializeToString() == before
    assert weight_only_int8(once).SerializeToString() == once.SerializeToString()
