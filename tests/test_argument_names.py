"""A message names only options that the verb has, and from Python only arguments."""

import inspect
import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import histoeval
from histoeval.argument_names import Caller, argument, called_from, front_door
from histoeval.cli.main import app, load_verb
from histoeval.errors import HistoEvalError, SettingError

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")

ROWS = [{"who": "a", "what": "Left breast: carcinoma."}, {"who": "b", "what": "Colon: adenoma."}]
ONE_SIDE = [{"reference": row["what"], "age": 3} for row in ROWS]
BROKEN = b"reference,candidate_caf\xe9\n\xc3\xa4,b\n"

VERBS = ["score FILE", "explain FILE --id 0", "agree FILE", "ablate FILE", "extract FILE"]
VERBS += ["judge file FILE --endpoint http://localhost:9/v1 --model m"]
VERBS += ["entail FILE --output out.jsonl", "trust --reports FILE --output out"]


def refusal(verb: str, file: Path) -> str:
    words = [str(file) if word == "FILE" else word for word in verb.split()]
    result = CliRunner().invoke(app, words, catch_exceptions=True)
    assert isinstance(result.exception, HistoEvalError), (verb, result.output, result.exception)
    return str(result.exception)


def options_of(verb: str) -> set[str]:
    name, *rest = verb.split()
    command = load_verb(name)
    while (more := getattr(command, "commands", None)) and rest and rest[0] in more:
        command = more[rest.pop(0)]
    return {option for each in command.params for option in (*each.opts, *each.secondary_opts)}


def files(folder: Path) -> list[Path]:
    made = {}
    for name, rows in (("rows", ROWS), ("one_side", ONE_SIDE)):
        made[name] = folder / f"{name}.jsonl"
        made[name].write_text("\n".join(map(json.dumps, rows)), "utf-8")
    made["broken"] = folder / "broken.csv"
    made["broken"].write_bytes(BROKEN)
    return list(made.values())


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_names_only_its_own_options(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = files(tmp_path)[0]
    message = refusal(verb, rows)
    assert "'who', 'what'" in message or "who, what" in message
    assert set(OPTION.findall(message)) <= options_of(verb), message


@pytest.mark.parametrize("verb", ["score FILE", "explain FILE --id 0", "agree FILE"])
def test_every_refusal_of_a_table_of_pairs_names_options_there_are(
    verb: str, tmp_path: Path
) -> None:
    for file in files(tmp_path):
        named = OPTION.findall(refusal(verb, file))
        assert set(named) <= options_of(verb)
        assert named


def test_explain_asks_for_a_column_and_not_for_a_text(tmp_path: Path) -> None:
    _, one_side, _ = files(tmp_path)
    assert "name it: --candidate-column NAME" in refusal("explain FILE --id 0", one_side)
    assert "name it: --candidate NAME" in refusal("score FILE", one_side)


JUDGE = histoeval.Endpoint(url="http://localhost:9/v1", model="m")
FUNCTIONS: list[Callable[..., Any]] = [
    histoeval.score,
    histoeval.extract,
    partial(histoeval.judge, llm=JUDGE),
    histoeval.trust,
    histoeval.agree,
]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("in_memory", [False, True])
def test_a_function_names_arguments_and_no_options(
    function: Callable[..., Any], in_memory: bool, tmp_path: Path
) -> None:
    with pytest.raises(HistoEvalError) as caught:
        function(ROWS if in_memory else files(tmp_path)[0])
    message = str(caught.value)
    assert "--" not in message
    named = re.findall(r"(\w+)=", message)
    assert named
    assert named[0] in inspect.signature(function).parameters


def test_score_from_python_asks_for_its_argument() -> None:
    with pytest.raises(HistoEvalError, match="name it: candidate='NAME'"):
        histoeval.score(ONE_SIDE)
    with pytest.raises(HistoEvalError, match=r"columns=Columns\(candidates=\('NAME',\)\)"):
        histoeval.agree(ONE_SIDE)


def test_options_that_a_message_still_names_are_reworded_for_python(tmp_path: Path) -> None:
    pairs = [{"reference": "a", "candidate": "a"}]
    histoeval.score(pairs, metrics="bleu", output=tmp_path)
    with pytest.raises(HistoEvalError, match=r"another output=\.\.\., or overwrite=True"):
        histoeval.score(pairs, metrics="chrf", output=tmp_path)
    with pytest.raises(HistoEvalError, match=r"models=Models\(encoder=\.\.\.\)"):
        histoeval.load("bertscore")("a b", "a b")
    judge = Caller(frozenset({"llm"}))
    assert judge.spell("ca") == "llm=Endpoint(tls=Tls(ca=...))"
    assert judge.spell("header") == "llm=Endpoint(headers=...)"


def test_a_whole_command_of_the_shell_stays_one() -> None:
    @front_door
    def function(truth: str = "") -> None:
        raise SettingError("run `histoeval challenge init c --truth FILE`, or give --truth")

    with pytest.raises(SettingError) as caught:
        function()
    assert str(caught.value) == "run `histoeval challenge init c --truth FILE`, or give truth=..."


def test_the_caller_is_the_innermost_and_a_verb_before_all() -> None:
    @front_door
    def function(mpp: float = 0.0) -> str:
        return argument("mpp", 0.25)

    @front_door
    def failing(seed: int = 0) -> None:
        raise SettingError("give --seed NUMBER or --other-thing")

    assert argument("id_column", "NAME") == "id='NAME'"
    assert function() == "mpp=0.25"
    with called_from(Caller(frozenset({"mpp", "id_column"}), is_shell=True)):
        assert function() == "--mpp 0.25"
        assert argument("id_column") == "--id-column"
        assert argument("text_column", "NAME") == ""
        assert argument("judge") == "--endpoint and --model"
    with pytest.raises(SettingError, match=r"^give seed='NUMBER' or other_thing=\.\.\.$"):
        failing()


def test_a_column_that_a_verb_cannot_name_is_to_be_renamed() -> None:
    from histoeval.io.files import open_records
    from histoeval.io.tables.columns import Columns, layout_of

    table = open_records(ONE_SIDE).table
    with (
        called_from(Caller(frozenset(), is_shell=True)),
        pytest.raises(HistoEvalError, match="no column for the candidate; call it 'candidate'"),
    ):
        layout_of(table, Columns(), "x.csv")


SHEETS = {
    "no reference": "a,b,c\n1,x,y\n",
    "no candidate": "reference,note,r1\nx,y,1\n",
    "no scores": "id,reference,candidate\na,x,y\n",
    "unclear scores": "id,reference,candidate,k,l\na,x,y,1,70\nb,x,y,1,80\n",
    "two systems": "reference,candidate_a,candidate_b,system,r1\nx,y,z,m,1\n",
    "odd encoding": "r\xe9f\xe9rence,reference,candidate,r\xe9\n\xe9,x\xe9,y\xe9,1\n",
    "an object": "{}\n",
    "nothing": "",
    "no object": "oops\n",
    "no scores of a row": '{"id": "a", "system": "s", "row": 1}\n',
}


@pytest.mark.parametrize("name", SHEETS)
@pytest.mark.parametrize("verb", ["agree FILE", "ablate FILE", "compare FILE FILE"])
def test_a_study_of_a_broken_file_names_only_its_options(
    verb: str, name: str, tmp_path: Path
) -> None:
    file = tmp_path / ("a.jsonl" if SHEETS[name][:1] in ("{", "o", "") else "sheet.csv")
    file.write_bytes(SHEETS[name].encode("latin-1"))
    said = re.sub(r"`histoeval score[^`]*`", "", refusal(verb, file))  # which has its own options
    assert set(OPTION.findall(said)) <= options_of(verb)
