"""A first STUDY.yaml, with a comment on every setting."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from histoeval.errors import OutputError
from histoeval.io.writing import write_text, writing_to
from histoeval.web.study.plan import ExpertStudy, read_study

_TEXT = """\
# A study in which experts score reports. Files are named from the folder of this one.
#   histoeval serve --study {file}     collects scores; prints a link for each rater
#   histoeval study status {file}      says how far raters are, and how well they agree
#   histoeval study export {file}      writes the sheet that `histoeval agree` reads

name: {name}                  # shown to raters
pairs: {pairs}                # references and candidates, any table that `histoeval score` reads
raters: {raters}              # small letters, digits, - and _; more can be added later
seed: {seed}                  # shuffles the pairs, for each rater differently
output: {output}              # ratings are kept here: back it up

scale: expert5                # the score, 0 to 5: a prompt of the judge, or a .yaml file like one
half_points: true
criteria: rubric4             # asked beside the score: the same, or null for none

# run: results                # a folder of `histoeval score` on these pairs; raters never see it
# labels: [organ]             # columns to keep in the sheet, for `histoeval agree --by organ`
# columns: {{reference: truth, candidates: [model_a, model_b]}}  # if they cannot be guessed
"""


def write_starter(
    path: Path, pairs: Path, raters: Sequence[str], *, name: str, seed: int
) -> ExpertStudy:
    """Write a plan for a table of pairs; one that is there is never replaced."""
    if path.exists():
        raise OutputError(f"{path} exists already; change it, or give another --output")
    settings = {
        "name": json.dumps(name, ensure_ascii=False),
        "pairs": json.dumps(os.path.relpath(pairs, path.parent), ensure_ascii=False),
        "raters": f"[{', '.join(json.dumps(each) for each in raters)}]",
        "output": json.dumps(f"{path.stem.lower()}-ratings"),
    }
    with writing_to(path.parent):
        write_text(path, _aligned(_TEXT.format(file=path.name, seed=seed, **settings)))
    try:
        return read_study(path)
    except Exception:
        path.unlink()
        raise


def _aligned(text: str) -> str:
    """With the comments behind settings one below the other, where they fit."""
    lines = []
    for line in text.splitlines():
        setting, mark, comment = line.partition("  # ")
        lines.append(f"{setting.rstrip():<29} # {comment.strip()}" if mark else line)
    return "\n".join(lines) + "\n"
