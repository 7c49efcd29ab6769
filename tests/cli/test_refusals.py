"""What cannot be done is refused with exit code 2 and a sentence, before anything is written."""

import json
import shlex
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra [web] is not installed")

from tests.cli.trust.test_tune import rows as labelled
from tests.support import rating_sheets
from tests.support.command import run_in
from tests.support.rating_studies import write_plan

BAD = "--endpoint http://h/v1 --model m"
REFUSED = {
    "score nowhere.csv": "nowhere.csv does not exist",
    "score pairs.csv --metrics blue": "no metric 'blue' (did you mean 'bleu'?); known",
    "score pairs.csv --reference truth": "has no column 'truth'",
    "score pairs.csv --metrics bertscore": "bertscore needs",
    "score pairs.csv --batch-size 0": "--batch-size",
    "agree sheet.csv --metrics blue": "there is no metric 'blue'",
    "agree sheet.csv --metrics bleu --by stain": "no column 'stain'",
    "agree sheet.csv --metrics bleu --group stain": "no column 'stain'",
    "agree sheet.csv --metrics bleu --rater carl": "no column 'carl'",
    "agree sheet.csv --metrics bleu --scale 5": "not two numbers",
    "agree sheet.csv --metrics bleu --scale 5,0": "from 5 to 0",
    "agree sheet.csv --metrics bleu --power bleu": "not two metrics",
    "agree sheet.csv --metrics bleu --report": "--output",
    "agree sheet.csv --scores nowhere.jsonl": "does not exist",
    "explain": "nothing to explain: give a FILE or a RUN",
    "explain --id a": "nothing to explain: give a FILE",
    "explain --reference x": "--candidate is missing",
    "explain --candidate x": "--reference is missing",
    "explain pairs.csv --reference x --candidate y": "not both",
    "explain pairs.csv --id p0 --candidate y": "--candidate-column",
    "explain --reference x --candidate y --system z": "not both",
    "explain --reference x --candidate y --id-column z": "not both",
    "judge pairs.csv --model m": "both --endpoint and --model",
    "judge pairs.csv": "no judge was named",
    "judge pairs.csv --endpoint http://u:k@h/v1 --model m": "must not hold a key",
    "judge pairs.csv --endpoint http://127.0.0.1:9/v1 --model m": "connection refused",
    f"judge pairs.csv {BAD} --prompt x": "no prompt 'x'",
    f"judge pairs.csv {BAD} --body []": "JSON object",
    f"judge pairs.csv {BAD} --format xml": "form",
    "study init pairs.csv --rater anna": "exists already",
    "study init pairs.csv --rater 'Dr. Anna' --output NEW.yaml": "small letters",
    "serve . --study STUDY.yaml": "--study STUDY.yaml to collect experts' scores",
    "serve": "--study STUDY.yaml to collect experts' scores",
    "trust tune l.jsonl --output p.yaml --costs 1,2": "is not three numbers",
    "trust tune l.jsonl --output p.yaml --step 0.3": "do not add up to 1",
    "trust tune l.jsonl --output p.yaml --without colour": "there is no dimension 'colour'",
    "trust tune l.jsonl --output p.yaml --without logic --without grounding --without stability": (
        "no dimension is left to weigh"
    ),
    "trust tune l.jsonl --output p.yaml --label colour": "colour",
    "trust tune l.jsonl --output p.yaml --case colour": "colour",
    "trust tune l.jsonl --output p.yaml --label logic": "logic",
    "trust tune l.jsonl --output p.yaml --label level --right-from 2": "--wrong-from",
    "trust tune l.jsonl --output p.yaml --label level --more-is better --wrong-from 2": "--right",
    "trust tune l.jsonl --output .": "cannot be written",
    "trust tune l.jsonl --output none/p.yaml": "cannot be written",
    "trust tune l.jsonl --output p.yaml --folds 50": "folds",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("desk")
    write_plan(path)  # and its pairs.csv
    rating_sheets.write(path / "sheet.csv", rating_sheets.rows())
    (path / "l.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in labelled()), "utf-8")
    return path


@pytest.mark.parametrize("line", REFUSED)
def test_what_cannot_be_done_is_refused_in_a_sentence(line: str, folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    outcome = run_in(folder, *shlex.split(line))
    assert (outcome.code, outcome.out) == (2, "")
    assert REFUSED[line] in " ".join(outcome.err.split())
    assert sorted(folder.rglob("*")) == before
