"""Where a model is looked for, and how soon somebody is told that it is nowhere."""

from pathlib import Path
from typing import Any

import pytest

hub = pytest.importorskip("huggingface_hub")

from huggingface_hub.utils import RepositoryNotFoundError

from histoeval.errors import ModelError
from histoeval.pathgls.grounding.load import open_encoder
from histoeval.runtime.transformer import only_here


class Asked:
    """A hub that counts its questions, and answers with what it was given."""

    def __init__(self, answer: Exception | None) -> None:
        self.answer = answer
        self.names: list[str] = []

    def model_info(self, name: str, **_: object) -> None:
        self.names.append(name)
        if self.answer is not None:
            raise self.answer


def ask(monkeypatch: pytest.MonkeyPatch, answer: Exception | None) -> Asked:
    asked = Asked(answer)
    monkeypatch.setattr(hub, "HfApi", lambda: asked)
    return asked


def not_found() -> Any:
    return RepositoryNotFoundError.__new__(RepositoryNotFoundError)


def keep(monkeypatch: pytest.MonkeyPatch, found: str | None) -> None:
    monkeypatch.setattr(hub, "try_to_load_from_cache", lambda *_: found)


def test_a_folder_is_read_without_a_question_to_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ask(monkeypatch, None)
    assert only_here(str(tmp_path))
    assert asked.names == []


@pytest.mark.parametrize(
    ("answer", "is_here"), [(None, False), (OSError("no network"), True)], ids=["hub", "cache"]
)
def test_a_model_is_asked_for_on_the_hub_and_its_copy_here_is_used_where_that_is_not_reached(
    answer: Exception | None, is_here: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ask(monkeypatch, answer)
    keep(monkeypatch, "config.json")
    assert only_here("owner/model") == is_here
    assert asked.names == ["owner/model"]


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (OSError("no network\nat all"), r"the hub cannot be reached \(no network\)"),
        (not_found(), "the hub has no model of this name"),
    ],
)
def test_an_encoder_that_is_nowhere_is_told_after_one_question(
    answer: Exception, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    asked = ask(monkeypatch, answer)
    keep(monkeypatch, None)
    with pytest.raises(ModelError, match=f"no folder of this name, and {said}.*'builtin'"):
        open_encoder("owner/model", "cpu")
    assert asked.names == ["owner/model"]


@pytest.mark.parametrize(("spec", "guess"), [("nope", ""), ("plipp", "did you mean 'plip'")])
def test_a_name_without_an_owner_is_no_encoder_and_the_hub_is_not_asked(
    spec: str, guess: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ask(monkeypatch, None)
    with pytest.raises(ModelError, match=rf"no encoder '{spec}'.*{guess}.*'builtin', 'plip'"):
        open_encoder(spec)
    assert asked.names == []
