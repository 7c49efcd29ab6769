"""Judges are named by endpoints and models that go together."""

from __future__ import annotations

import pytest

from histoeval.errors import SettingError
from histoeval.judges.choice import JudgeConfig


def test_endpoints_and_models_must_fit_together() -> None:
    with pytest.raises(SettingError, match="2 endpoints for 3 models"):
        _ = JudgeConfig(endpoints=("http://a", "http://b"), models=("x", "y", "z")).seats
    with pytest.raises(SettingError, match="named twice"):
        _ = JudgeConfig(endpoints=("http://a",), models=("x", "x")).seats
