"""`histoeval trust --policy` and `histoeval trust policies`, as people run them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openslide")

import histoeval
import histoeval.run.trust.reports
from histoeval.errors import InputError, SettingError
from histoeval.pathgls.grounding.score import ground
from histoeval.pathgls.policy.policy import POLICIES
from histoeval.pathgls.results import CancerCheck, Grounding
from tests.support.trust_runs import (
    ROWS,
    TORN,
    TRUE,
    judged,
    painted_folder,  # noqa: F401
    quick_instruments,  # noqa: F401
    rows_of,
    run,
    write,
)

pytestmark = pytest.mark.usefixtures("quick")

FOREIGN = "Liver, biopsy: hepatocellular carcinoma."


def policy_of(folder: Path) -> str:
    summary = json.loads((folder / "out" / "summary.json").read_text("utf-8"))
    return str(summary["policy"]["name"])


@pytest.fixture(name="decided")
def decided_grounding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Grounding that supports reports on the colon, contradicts the liver and else is not sure."""

    def decide(image: Any, claims: Any, encoder: Any, decoys: Any, *_: Any) -> Any:
        found = ground(image, claims, encoder, decoys)
        assert isinstance(found, Grounding)
        words = " ".join(claim.phrase for claim in claims).lower()
        said = {"colon": "supported", "liver": "contradicted"}
        verdict = next((told for organ, told in said.items() if organ in words), "not_known")
        agrees = "agrees" if verdict == "supported" else "not_checked"
        cancer = CancerCheck(stated="malignant", verdict=agrees, why="as it was decided")
        return found.model_copy(update={"value": 0.9, "verdict": verdict, "cancer": cancer})

    monkeypatch.setattr(histoeval.run.trust.reports, "ground", decide)


@pytest.mark.usefixtures("decided")
def test_without_an_endpoint_all_three_verdicts_occur_with_reasons(folder: Path) -> None:
    reports = {
        "right": TRUE,
        "torn": TORN,
        "foreign": FOREIGN,
        "unsure": "Skin, excision: naevus.",
        "torn and without image": TORN,
    }
    rows = [{"id": name, "image": "one.png", "report": text} for name, text in reports.items()]
    rows[-1]["image"] = ""
    write(folder / "reports.csv", rows)
    done = judged(folder)
    assert done.exit_code == 1, done.output
    found = {row["id"]: row for row in rows_of(folder)}
    assert {name: row["route"] for name, row in found.items()} == {
        "right": "deploy",
        "torn": "reject",
        "foreign": "reject",
        "unsure": "review",
        "torn and without image": "reject",
    }
    assert found["right"]["trust"] == pytest.approx(0.57 * 0.9 + 0.43 * found["right"]["logic"])
    assert "contradicts itself" in found["torn"]["evidence"]["trust"]["reason"]
    assert "the image contradicts" in found["foreign"]["evidence"]["trust"]["reason"]
    assert "cancer was not checked" in found["unsure"]["evidence"]["trust"]["reason"]
    assert found["foreign"]["evidence"]["grounding"]["verdict"] == "contradicted"
    assert policy_of(folder) == "without_endpoint"
    page = (folder / "out" / "report.html").read_text("utf-8")
    assert "cannot both be true" in page
    assert "Validated: " in page
    for text in (done.output, page):
        assert "The image supports the report and agrees" in re.sub(r"\s+", " ", text)
        assert "policy without_endpoint@" in text


def test_the_policy_follows_the_columns_of_the_table(folder: Path) -> None:
    imaged = [{"id": "a", "image": "one.png", "report": TRUE}]
    for rows, policy in (
        (ROWS, "with_endpoint"),
        (imaged, "without_endpoint"),
        ([{"id": "a", "report": TRUE}], "text_only"),
    ):
        write(folder / "reports.csv", rows)
        judged(folder, "--overwrite")
        assert policy_of(folder) == policy


def test_a_text_is_rejected_or_left_to_a_person(folder: Path) -> None:
    write(folder / "reports.csv", [{"id": "a", "report": TRUE}, {"id": "b", "report": TORN}])
    done = judged(folder)
    assert done.exit_code == 1, done.output
    true, torn = rows_of(folder)
    assert (true["route"], torn["route"]) == ("review", "reject")
    assert "deploys nothing by itself" in true["evidence"]["trust"]["reason"]
    assert true["trust"] is None
    first = done.output.index("The least trusted reports")
    assert done.output.index("reject", first) < done.output.index("review", first)


def test_a_policy_is_named_or_is_a_file(folder: Path) -> None:
    assert judged(folder, "--policy", "text_only").exit_code == 0
    assert {row["route"] for row in rows_of(folder)} <= {"review", "reject"}
    own = "name: logic alone\nweights: {grounding: 0, logic: 1, stability: 0}\n"
    (folder / "own.yaml").write_text(f"{own}deploy_from: 0.5\nreject_below: 0.1\n", "utf-8")
    write(folder / "reports.csv", [{"id": "a", "report": TRUE}])
    assert judged(folder, "--policy", folder / "own.yaml", "--overwrite").exit_code == 0
    (row,) = rows_of(folder)
    assert row["route"] == "review"
    assert "cancer was not checked" in row["evidence"]["trust"]["reason"]


@pytest.mark.parametrize(
    ("named", "kind"), [("with_an_endpoint", SettingError), ("none.yaml", InputError)]
)
def test_an_unknown_policy_stops_at_once(folder: Path, named: str, kind: type[Exception]) -> None:
    assert isinstance(judged(folder, "--policy", named).exception, kind)
    assert not (folder / "out").exists()


def test_policies_are_listed_and_explained() -> None:
    listed = run("policies")
    assert listed.exit_code == 0, listed.output
    assert all(name in listed.output for name in POLICIES)
    one = run("policies", "text_only").output
    assert "deploy: Never." in one
    assert "validated: " in one
    assert "without_endpoint" not in one
    assert "text_only" in run("--help").output
    assert isinstance(run("policies", "texts").exception, SettingError)


@pytest.mark.usefixtures("decided")
def test_from_python_a_policy_is_given_by_name_file_or_object(folder: Path) -> None:
    records = [{"id": "a", "image": str(folder / "one.png"), "report": TRUE}]
    fitting = histoeval.trust(records)
    assert fitting.summary["policy"]["name"] == "without_endpoint"
    assert [row.route for row in fitting] == ["deploy"]
    assert [row.route for row in histoeval.trust(records, policy="text_only")] == ["review"]
    asked = histoeval.trust(records, policy="with_endpoint")
    assert [row.route for row in asked] == ["review"]
    (reason,) = (row.evidence["trust"]["reason"] for row in asked)
    assert reason.startswith("stability is not known (there are no reports under attack")
    none = fitting.summary["policy"]
    own = histoeval.Policy(weights=none["weights"], deploy_from=None, reject_below=0.0)
    assert [row.route for row in histoeval.trust(records, policy=own)] == ["review"]


def test_reports_under_attack_in_the_table_serve_as_well_as_an_endpoint(folder: Path) -> None:
    write(folder / "reports.csv", ROWS)
    verdicts = histoeval.trust(folder / "reports.csv")
    assert verdicts.summary["policy"]["name"] == "with_endpoint"
    assert [row.route for row in verdicts][1] == "reject"
