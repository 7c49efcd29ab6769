"""Workflows, templates and the image: they parse, ask for little, and call what there is."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.paths import ROOT

FOLDER = ROOT / ".github"
WORKFLOWS = sorted((FOLDER / "workflows").glob("*.yml"))
TEMPLATES = sorted((FOLDER / "ISSUE_TEMPLATE").glob("*.yml"))
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]

every_workflow = pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)


def content(file: Path) -> dict[Any, Any]:
    found = yaml.safe_load(file.read_text("utf-8"))
    assert isinstance(found, dict)
    return found


def steps(workflow: dict[Any, Any]) -> Iterator[dict[str, Any]]:
    for job in workflow["jobs"].values():
        yield from job.get("steps", ())


def test_there_is_a_workflow_for_tests_docs_and_releases() -> None:
    assert [file.stem for file in WORKFLOWS] == ["docs", "release", "tests"]


@every_workflow
def test_actions_are_pinned_to_a_version(file: Path) -> None:
    used = [step["uses"] for step in steps(content(file)) if "uses" in step]
    assert used
    for action in used:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@v\d+\.\d+\.\d+", action), action


@every_workflow
def test_rights_are_read_only_and_more_is_given_to_single_jobs(file: Path) -> None:
    workflow = content(file)
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert "uses" in job or job["timeout-minutes"] <= 120
        written = [right for right, kind in job.get("permissions", {}).items() if kind == "write"]
        assert not written or name in {"build", "registry", "page", "publish"}
    for step in steps(workflow):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
        assert "secrets." not in json.dumps(step), "trusted publishing needs none"
        assert "${{" not in step.get("run", ""), "a name from outside would be run"


@every_workflow
def test_what_a_workflow_makes_is_a_target(file: Path) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))
    runs = "\n".join(step.get("run", "") for step in steps(content(file)))
    called = set(re.findall(r"^make ([\w-]+)", runs, re.MULTILINE))
    assert called <= targets
    for job in content(file)["jobs"].values():
        if (place := job.get("uses", "")).startswith("./"):
            assert (ROOT / place).is_file()


def test_every_python_and_both_processors_are_tried() -> None:
    jobs = content(FOLDER / "workflows" / "tests.yml")["jobs"]
    matrix = jobs["first-minute"]["strategy"]["matrix"]
    assert matrix["python"] == PYTHONS
    assert {each.endswith("-arm") for each in matrix["machine"]} == {True, False}
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    assert re.findall(r"Programming Language :: Python :: (3\.\d+)", project) == PYTHONS


def test_a_release_is_attested_and_has_an_sbom() -> None:
    text = (FOLDER / "workflows" / "release.yml").read_text("utf-8")
    for words in (
        "attest-build-provenance@",
        "attest-sbom@",
        "gh-action-pypi-publish@",
        "make dist",
    ):
        assert words in text
    from benchmarks.dist import SBOM

    assert f"sbom-path: dist/{SBOM}" in text


@pytest.mark.parametrize("file", TEMPLATES, ids=lambda file: file.name)
def test_issue_templates_ask_for_something_and_for_no_patient(file: Path) -> None:
    template = content(file)
    if file.stem == "config":
        return
    assert {"name", "description", "body"} <= set(template)
    names = [part["id"] for part in template["body"] if part["type"] != "markdown"]
    assert len(names) == len(set(names)) > 0
    if file.stem != "wish":
        assert "No patient data" in file.read_text("utf-8")


def test_pre_commit_runs_what_make_lint_runs() -> None:
    (repository,) = content(ROOT / ".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    programs = {hook["entry"].split()[0] for hook in repository["hooks"]}
    assert programs == {".venv/bin/ruff", ".venv/bin/mypy"}


def instructions() -> list[tuple[str, str]]:
    """The lines of the Containerfile: each instruction with its arguments."""
    text = re.sub(r"\\\n", " ", (ROOT / "Containerfile").read_text("utf-8"))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [
        (word, " ".join(rest.split())) for word, _, rest in (each.partition(" ") for each in lines)
    ]


def test_the_image_is_built_in_two_stages_and_runs_without_rights_or_network() -> None:
    found = instructions()
    known = {"ARG", "FROM", "WORKDIR", "COPY", "RUN", "LABEL", "ENV", "USER", "HEALTHCHECK"}
    assert {word for word, _ in found} <= known | {"ENTRYPOINT", "CMD"}
    last = max(place for place, (word, _) in enumerate(found) if word == "FROM")
    assert [rest for word, rest in found if word == "FROM"] == ["${BASE} AS wheels", "${BASE}"]
    final = found[last:]
    assert ("USER", "histoeval") in final
    assert ("HEALTHCHECK", "NONE") in final
    assert json.loads(dict(final)["ENTRYPOINT"]) == ["histoeval"]
    (run,) = [rest for word, rest in final if word == "RUN"]
    assert "pip install --no-cache-dir --no-index --find-links /wheels" in run
    assert "useradd" in run
    assert not [rest for word, rest in final if word in ("COPY", "ADD")], "no source in the image"


def test_what_the_image_copies_is_there_and_not_ignored() -> None:
    kept = {
        line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line[0] == "!"
    }
    copied = {name for word, rest in instructions() if word == "COPY" for name in rest.split()[:-1]}
    assert copied == kept
    assert all((ROOT / name).exists() for name in copied)
