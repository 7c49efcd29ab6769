"""DICOM whole slide images, by wsidicom: a folder of files, or one file of such a folder."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from histoeval.errors import InputError
from histoeval.io.images import is_file
from histoeval.slides import require
from histoeval.slides.slide import (
    Pixels,
    Slide,
    TruncatedSlide,
    damaged,
    file_type,
    levels_of,
    stated_resolution,
    unreadable,
)

# ends compressed pixels; without this check decoders would pad a truncated last block
END_OF_PIXELS = b"\xfe\xff\xdd\xe0\0\0\0\0"
TAIL_BYTES = 1 << 16  # where it is searched for, from the end of the file
DEFLATED = "1.2.840.10008.1.2.1.99"  # the transfer syntax of which a few bytes can become gigabytes
SLIDE_CLASS = "1.2.840.10008.5.1.4.1.1.77.1.6"  # the SOP class of whole slide images


def slide_files(path: Path) -> list[Path]:
    """The files of one slide, given its folder or a file of its series."""
    if path.is_dir():
        series = _series_in(path)
        if len(series) > 1:
            raise InputError(
                f"{path} contains {len(series)} DICOM slides; name a file of one of them"
            )
        if not series:
            raise InputError(f"{path} contains no DICOM slide")
        return series[0]
    for files in _series_in(path.parent):
        if path in files:
            return files
    raise InputError(f"{path} is DICOM, but not a whole slide image")


def first_files(files: Iterable[Path]) -> list[Path]:
    """One file for each slide; damaged files are listed too, and refused when opened."""
    first: dict[str, Path] = {}
    for file in files:
        try:
            name = str(_header(file).get("SeriesInstanceUID"))
        except InputError:
            name = str(file)
        first.setdefault(name, file)
    return list(first.values())


def _series_in(folder: Path) -> list[list[Path]]:
    series: dict[str, list[Path]] = defaultdict(list)
    for file in sorted(filter(is_file, folder.iterdir())):
        if file_type(file) == "dicom":
            header = _header(file)
            if header.get("SOPClassUID") == SLIDE_CLASS:
                if header.file_meta.TransferSyntaxUID.is_encapsulated:
                    with file.open("rb") as stream:
                        stream.seek(max(0, file.stat().st_size - TAIL_BYTES))
                        if END_OF_PIXELS not in stream.read():
                            raise TruncatedSlide(
                                f"{file} is truncated: its pixel data have no end; copy it again"
                            )
                series[str(header.get("SeriesInstanceUID"))].append(file)
    return list(series.values())


def _header(file: Path) -> Any:
    """The tags that identify a file."""
    require("wsidicom")
    import pydicom

    tags = ["SOPClassUID", "SeriesInstanceUID"]
    try:
        if pydicom.filereader.read_file_meta_info(file).get("TransferSyntaxUID") == DEFLATED:
            raise InputError(f"{file} is deflated DICOM, which no whole slide image is")
        return pydicom.dcmread(file, stop_before_pixels=True, specific_tags=tags)
    except Exception as error:
        raise unreadable(file, error, "DICOM file") from error


class DicomSlide(Slide):
    def __init__(self, path: Path) -> None:
        files = slide_files(path)
        import wsidicom

        try:
            self._wsi = wsidicom.WsiDicom.open(files)
        except Exception as error:
            raise unreadable(path, error, "DICOM slide") from error
        layers = list(self._wsi.pyramid)
        sizes = [(layer.size.width, layer.size.height) for layer in layers]
        levels = levels_of(sizes)
        self._layers = [layers[sizes.index((level.width, level.height))].level for level in levels]
        spacing = self._wsi.mpp
        x, y = (None, None) if spacing is None else (spacing.width, spacing.height)
        super().__init__(path, "DICOM", levels, stated_resolution(x, y))

    def _read(self, level: int, x: int, y: int, width: int, height: int) -> Pixels:
        try:
            picture = self._wsi.read_region((x, y), self._layers[level], (width, height))
        except Exception as error:  # codecs raise errors of their own
            scale = self.levels[level].downsample
            raise damaged(self.path, round(x * scale), round(y * scale), error) from error
        return np.asarray(picture.convert("RGB"))

    def close(self) -> None:
        self._wsi.close()
