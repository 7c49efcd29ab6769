"""Whatever bytes a file holds, it is read or refused; nothing else happens."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from histoeval.errors import InputError
from histoeval.io.pairs import open_source, source_of_records

PIECES = [b'"', b",", b"\n", b"\r", b"\t", b";", b"{", b"}", b"[", b"]", b":", b"\\ud800", b"\\"]
PIECES += [b"\xff", b"\xc3", b"\xe9", b"\0", b"\x01", b"id", b"reference", b"candidate", b"1", b" "]
PIECES += ["é".encode(), "腺".encode(), b'"gt": "a"', b'{"reference": "a", "candidate": "b"}']
NOISE = st.lists(st.sampled_from(PIECES) | st.binary(max_size=3), max_size=40).map(b"".join)
STARTS = {
    ".csv": b"id,reference,candidate\n",
    ".tsv": b"reference\tcandidate\n",
    ".jsonl": b'{"reference": "a", "candidate": "b"}\n',
    ".json": b'[{"reference": "a", "candidate": "b"},',
    ".parquet": b"PAR1",
}
often = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.parametrize("ending", STARTS)
@often
@given(noise=NOISE, head=st.booleans(), mark=st.sampled_from([b"", b"\xef\xbb\xbf", b"\xff\xfe"]))
def test_noise_is_read_or_refused(
    tmp_path: Path, ending: str, noise: bytes, head: bool, mark: bytes
) -> None:
    path = tmp_path / f"noise{ending}"
    path.write_bytes(mark + STARTS[ending] * head + noise)
    try:
        rows = list(open_source([path]).rows())
    except InputError:
        return
    for row in rows:
        assert (row.pair is None) == bool(row.problems)
        told = [row.id, row.system, *(problem.message for problem in row.problems)]
        json.dumps(told, ensure_ascii=False).encode()


@often
@given(
    broken=st.sampled_from(
        [b'x,"left open,b', b'x,"a" b,c', b"x,a", b"x,a,b,c", b'"', b"x,\xff,b", b"x,,b"]
    ),
    places=st.lists(st.integers(0, 20), min_size=1, max_size=4, unique=True),
    multiline=st.booleans(),
)
def test_a_broken_line_anywhere_costs_no_good_row(
    tmp_path: Path, broken: bytes, places: list[int], multiline: bool
) -> None:
    text = '"two\nlines, ""quoted"" é"' if multiline else "plain text"
    lines = [f"g{n},{text},{text}".encode() for n in range(20)]
    for place in sorted(places, reverse=True):
        lines.insert(place, broken)
    path = tmp_path / "pairs.csv"
    path.write_bytes(b"id,reference,candidate\n" + b"\n".join(lines))
    rows = list(open_source([path]).rows())
    assert [row.id for row in rows if row.pair] == [f"g{n}" for n in range(20)]
    assert len(rows) == 20 + len(places)


@often
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["id", "reference", "candidate", "system"]),
            st.none() | st.text() | st.floats() | st.booleans() | st.binary() | st.lists(st.text()),
        ),
        max_size=5,
    )
)
def test_records_of_anything_are_read_or_refused(records: list[dict[str, object]]) -> None:
    try:
        rows = list(source_of_records(records).rows())
    except InputError:
        return
    assert len(rows) == len(records)
