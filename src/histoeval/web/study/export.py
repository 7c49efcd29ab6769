"""The ratings of a study as tables: the sheet that `agree` reads, every rating, every error."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from histoeval.concordance.evidence import Severity
from histoeval.errors import InputError
from histoeval.io.writing import make_folder, write_whole, writing_to
from histoeval.web.study.plan import ExpertStudy, sheet_column
from histoeval.web.study.rating import MarkedSpan
from histoeval.web.study.store import RaterRatings

Ratings = Mapping[str, RaterRatings]
Rows = Iterator[Sequence[object]]

SHEET = "sheet.csv"


def export(study: ExpertStudy, ratings: Ratings, folder: Path) -> list[Path]:
    """Write `sheet.csv`, `ratings.csv` and `errors.csv` into a folder."""
    if not any(each.saved for each in ratings.values()):
        raise InputError(f"nobody has scored a pair of {study.file.name!r} yet")
    tables = {
        SHEET: sheet_rows(study, ratings),
        "ratings.csv": rating_rows(study, ratings),
        "errors.csv": error_rows(study, ratings),
    }
    with writing_to(folder):
        make_folder(folder)
        for name, rows in tables.items():
            write_whole(folder / name, csv_bytes(rows))
    return [folder / name for name in tables]


def csv_bytes(rows: Rows) -> bytes:
    """A table as a file, in UTF-8."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def sheet_rows(study: ExpertStudy, ratings: Ratings) -> Rows:
    """One pair per row, and a column of scores for each rater; empty where there is none."""
    labels = tuple(study.pairs[0].labels)
    raters = study.file.raters
    yield ("id", "system", *labels, "reference", "candidate", *map(sheet_column, raters))
    for pair in study.pairs:
        texts = (*pair.key, *(pair.labels[name] for name in labels), pair.reference, pair.candidate)
        yield (*texts, *(_number(ratings[rater].score_of(pair.key)) for rater in raters))


def rating_rows(study: ExpertStudy, ratings: Ratings) -> Rows:
    """One row for each pair that a rater has scored, in the order in which they were saved."""
    criteria = [each.name for each in study.criteria]
    yield ("rater", "id", "system", "score", *criteria, "errors", "comment", "saved", "revisions")
    for rater, each in ratings.items():
        for key, line in sorted(each.saved.items(), key=lambda item: item[1].number):
            rating = line.rating
            levels = [rating.criteria.get(name, "") for name in criteria]
            answers = (_number(rating.score), *levels, len(rating.errors), rating.comment)
            yield (rater, *key, *answers, line.time, each.revisions[key])


def error_rows(study: ExpertStudy, ratings: Ratings) -> Rows:
    """One row for each error that a rater has marked, with its words and where they stand."""
    sides = [f"{side}{part}" for side in ("reference", "candidate") for part in _SPAN]
    yield ("rater", "id", "system", "kind", "severity", *sides)
    for rater in study.file.raters:
        for key, line in sorted(ratings[rater].saved.items(), key=lambda item: item[1].number):
            for error in line.rating.errors:
                named = (error.kind.value, Severity(error.severity).name.lower())
                yield (rater, *key, *named, *_span(error.reference), *_span(error.candidate))


_SPAN = ("", "_start", "_end")


def _span(span: MarkedSpan | None) -> tuple[object, ...]:
    return ("", "", "") if span is None else (span.text, span.start, span.end)


def _number(score: float | None) -> str:
    return "" if score is None else f"{score:g}"
