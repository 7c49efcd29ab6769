"""Images that cannot be used cost their own rows, in every verb, and no verb waits for one."""

import csv
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from typer.testing import Result

pytest.importorskip("openslide")

from histoeval.errors import InputError, OutputError
from histoeval.io import images
from histoeval.io.images import image_hash
from histoeval.slides.open import find_slides, open_slide
from tests.support.command import invoked
from tests.support.fake_server import Loopback
from tests.support.fake_vlm import alone, vision  # noqa: F401
from tests.support.painted_slides import forge, stained, write_pyramid
from tests.support.trust_runs import TRUE, quick_instruments  # noqa: F401

pytestmark = pytest.mark.usefixtures("alone", "quick")

LONG = "x" * 300 + ".png"
DENIED = PermissionError(13, "Permission denied")


@pytest.fixture
def server() -> Iterator[Loopback]:
    with vision() as model:
        yield model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Pictures, and what is named like one."""
    folder = tmp_path / "images"
    (folder / "secret").mkdir(parents=True)
    for seed, name in enumerate(("good.png", "last.png", "secret/inner.png")):
        Image.fromarray(stained(240, 240, seed=seed)).save(folder / name)
    os.mkfifo(folder / "pipe.png")
    forged = write_pyramid(folder / "forged.tif", stained(300, 300))
    forge(forged, TileWidth=1 << 30, TileLength=1 << 30)
    return folder


@pytest.fixture
def denied(monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies in `secret` must not be read; tests may run as a user who may read everything."""
    known, listed = Path.stat, Path.iterdir

    def stat(path: Path, **rest: Any) -> os.stat_result:
        if path.parent.name == "secret":
            raise DENIED
        return known(path, **rest)

    def iterdir(path: Path) -> Iterator[Path]:
        if path.name == "secret":
            raise DENIED
        return listed(path)

    monkeypatch.setattr(Path, "stat", stat)
    monkeypatch.setattr(Path, "iterdir", iterdir)


NAMED = ["good.png", LONG, "secret/inner.png", "pipe.png", "forged.tif", "no/such.png", "last.png"]


def table_of(folder: Path, names: list[str]) -> Path:
    path = folder.parent / "table.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "image", "report"])
        writer.writerows([[str(number), name, TRUE] for number, name in enumerate(names)])
    return path


def run(verb: str, source: Path, folder: Path, server: Loopback, *more: str) -> Result:
    out = str(folder.parent / "out")
    if verb == "trust":
        given = ["trust", "--reports", str(source), "--images", str(folder), "--output", out]
    else:
        given = ["generate", str(source), "--endpoint", server.url, "--model", "eye"]
        given += ["--output", out, *(() if source.is_dir() else ("--images", str(folder)))]
    return invoked(*given, *more)


def rows_of(folder: Path, verb: str) -> list[dict[str, Any]]:
    name = {"trust": "trust.jsonl", "generate": "reports.jsonl"}[verb]
    lines = (folder.parent / "out" / name).read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def faults(row: dict[str, Any]) -> str:
    """What is said of the image; stability has reasons of its own."""
    told = [each for each in row["errors"] if each.get("dimension", "grounding") == "grounding"]
    return " ".join(f"{each['code']}: {each['message']}" for each in told)


@pytest.mark.usefixtures("denied")
@pytest.mark.parametrize("verb", ["trust", "generate"])
def test_an_image_that_cannot_be_used_is_an_error_of_its_row(
    verb: str, folder: Path, server: Loopback
) -> None:
    result = run(verb, table_of(folder, NAMED), folder, server)
    assert result.exit_code == 1, (result.output, result.exception)
    good, long, secret, pipe, forged, absent, last = map(faults, rows_of(folder, verb))
    assert (good, last) == ("", "")
    assert "File name too long" in long
    assert "Permission denied" in secret
    assert "a named pipe" in pipe
    assert "image_unusable" in forged
    assert "does not exist" in absent
    assert str(folder) not in " ".join((long, secret, pipe, forged, absent))


@pytest.mark.usefixtures("denied")
def test_a_folder_with_what_cannot_be_read_still_gets_its_reports(
    folder: Path, server: Loopback
) -> None:
    result = run("generate", folder, folder, server)
    assert result.exit_code == 1, (result.output, result.exception)
    found = {row["image"]: faults(row) for row in rows_of(folder, "generate")}
    assert list(found) == ["forged.tif", "good.png", "last.png", "pipe.png", "secret"]
    assert [name for name, fault in found.items() if not fault] == ["good.png", "last.png"]


@pytest.mark.parametrize("verb", [("slide", "info"), ("generate",)])
@pytest.mark.parametrize(
    ("kind", "reason"), [("pipe", "a named pipe"), ("socket", "a socket"), ("device", "a device")]
)
def test_what_is_no_file_is_refused_and_not_waited_for(
    tmp_path: Path, server: Loopback, verb: tuple[str, ...], kind: str, reason: str
) -> None:
    path = tmp_path / f"{kind}.png"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "socket":
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(str(path))
        case "device":
            path.symlink_to("/dev/zero")
    more = ("--endpoint", server.url, "--model", "eye", "--output", str(tmp_path / "out"))
    result = invoked(*verb, path, *(() if verb[0] == "slide" else more))
    assert isinstance(result.exception, InputError)
    assert reason in str(result.exception)


def test_links_to_folders_are_followed_once(tmp_path: Path) -> None:
    home, outside = tmp_path / "home", tmp_path / "outside"
    for folder in (home / "z", outside / "deep"):
        folder.mkdir(parents=True)
        Image.fromarray(stained(64, 64)).save(folder / "a.png")
    for name, target in {
        "a_loop": ".", "b_loop": ".", "c_same": "z", "d_out": "../outside", "e_out": "../outside",
        "f_up": "..", "g_deep": "../outside/deep",
    }.items():  # fmt: skip
        (home / name).symlink_to(target)
    (outside / "back").symlink_to(home)
    (home / "link.png").symlink_to("z/a.png")
    (home / "gone.png").symlink_to("nowhere.png")
    found = [path.relative_to(home).as_posix() for path in find_slides(home)]
    assert found == ["d_out/deep/a.png", "gone.png", "link.png", "z/a.png"]


def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path) -> None:
    for name in ("a\0b.png", "\ud800.png"):
        with pytest.raises(InputError):
            open_slide(tmp_path / name)
        assert image_hash(tmp_path / name) is None


def test_what_a_link_named_like_an_image_leads_to_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "passwords").write_text("root:x:0:0:root")
    (tmp_path / "link.png").symlink_to("passwords")
    with pytest.raises(InputError, match="although its name says so") as caught:
        open_slide(tmp_path / "link.png")
    assert "root:x" not in str(caught.value)


# --- images that change -----------------------------------------------------------------------


def cut(folder: Path, verb: str, rows: int) -> None:
    """Leave what a run that was killed after so many rows leaves."""
    name = {"trust": "trust.jsonl", "generate": "reports.jsonl"}[verb]
    file = folder.parent / "out" / name
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:rows]))


@pytest.mark.parametrize("source", ["trust", "generate", "generate a folder"])
def test_a_run_is_not_resumed_over_an_image_that_has_changed(
    source: str, folder: Path, server: Loopback
) -> None:
    for path in (folder / "pipe.png", folder / "forged.tif"):
        path.unlink()
    verb = source.split(maxsplit=1)[0]
    names = ["good.png", "last.png"]
    given = folder if source.endswith("folder") else table_of(folder, names)
    assert run(verb, given, folder, server).exit_code in (0, 1)
    whole = rows_of(folder, verb)
    cut(folder, verb, 1)
    Image.fromarray(stained(240, 240, seed=7)).save(folder / "last.png")
    assert run(verb, given, folder, server).exit_code in (0, 1)
    assert rows_of(folder, verb)[0] == whole[0]
    Image.fromarray(stained(240, 240, seed=8)).save(folder / "good.png")
    refused = run(verb, given, folder, server)
    assert isinstance(refused.exception, OutputError)
    assert "the image good.png has changed" in str(refused.exception)
    assert "--overwrite" in str(refused.exception)
    assert run(verb, given, folder, server, "--overwrite").exit_code in (0, 1)
    assert rows_of(folder, verb)[0] != whole[0]


def test_the_hash_of_a_large_slide_sees_its_start_middle_and_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "HASHED_WHOLE", 1000)
    monkeypatch.setattr(images, "PIECE_BYTES", 100)
    path = tmp_path / "large.svs"
    content = bytes(16_000)
    path.write_bytes(content)
    found = {image_hash(path)}
    for place in (0, 7_450, 15_999):
        path.write_bytes(content[:place] + b"x" + content[place + 1 :])
        found.add(image_hash(path))
    assert len(found) == 4
    path.write_bytes(content + b"x")
    assert image_hash(path) not in found


def test_the_hash_of_a_slide_sees_the_folder_that_belongs_to_it(tmp_path: Path) -> None:
    for name in ("a.dzi", "a_files/0/0_0.png", "slide/level0.dcm"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("one")
    before = image_hash(tmp_path / "a.dzi"), image_hash(tmp_path / "slide")
    (tmp_path / "a_files/0/0_0.png").write_text("longer")
    (tmp_path / "slide/level0.dcm").write_text("two")
    assert image_hash(tmp_path / "a.dzi") not in (None, before[0])
    assert image_hash(tmp_path / "slide") not in (None, before[1])
