"""A DICOM whole slide of painted pixels, written as a scanner would."""

import io
from datetime import datetime
from pathlib import Path

import numpy as np
from PIL import Image
from pydicom.dataset import Dataset, FileDataset, FileMetaDataset
from pydicom.encaps import encapsulate
from pydicom.sequence import Sequence
from pydicom.uid import JPEGBaseline8Bit, generate_uid

from histoeval.slides.formats.dicom_files import SLIDE_CLASS
from tests.support.painted_slides import Pixels

SIDE = 256


def write_dicom(folder: Path, pixels: Pixels, mpp: float, levels: int = 2) -> Path:
    """One file for each level; the folder they are in."""
    folder.mkdir(exist_ok=True)
    common = {name: generate_uid(entropy_srcs=[name]) for name in ("study", "series", "frame")}
    for level in range(levels):
        small = np.asarray(Image.fromarray(pixels).reduce(2**level)) if level else pixels
        _write_level(folder / f"level{level}.dcm", small, mpp * 2**level, level, common)
    return folder


def _write_level(path: Path, pixels: Pixels, mpp: float, level: int, uid: dict[str, str]) -> None:
    height, width = pixels.shape[:2]
    frames = [
        _jpeg(pixels[y : y + SIDE, x : x + SIDE])
        for y in range(0, height, SIDE)
        for x in range(0, width, SIDE)
    ]
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = SLIDE_CLASS
    meta.MediaStorageSOPInstanceUID = generate_uid(entropy_srcs=[str(level)])
    meta.TransferSyntaxUID = JPEGBaseline8Bit
    slide = FileDataset(str(path), {}, file_meta=meta, preamble=b"\0" * 128)
    now = datetime(2026, 1, 1)
    slide.SOPClassUID = SLIDE_CLASS
    slide.SOPInstanceUID = meta.MediaStorageSOPInstanceUID
    slide.StudyInstanceUID, slide.SeriesInstanceUID = uid["study"], uid["series"]
    slide.FrameOfReferenceUID = uid["frame"]
    slide.Modality = "SM"
    slide.PatientName, slide.PatientID = "PAINTED^SLIDE", "0"
    slide.StudyDate = slide.ContentDate = now.strftime("%Y%m%d")
    slide.StudyTime = slide.ContentTime = now.strftime("%H%M%S")
    slide.AcquisitionDateTime = now.strftime("%Y%m%d%H%M%S")
    slide.SeriesNumber, slide.InstanceNumber = 1, level + 1
    slide.ImageType = ["DERIVED" if level else "ORIGINAL", "PRIMARY", "VOLUME"]
    slide.ImageType.append("RESAMPLED" if level else "NONE")
    slide.SamplesPerPixel, slide.PhotometricInterpretation = 3, "YBR_FULL_422"
    slide.PlanarConfiguration, slide.PixelRepresentation = 0, 0
    slide.BitsAllocated, slide.BitsStored, slide.HighBit = 8, 8, 7
    slide.Rows = slide.Columns = SIDE
    slide.NumberOfFrames = len(frames)
    slide.TotalPixelMatrixColumns, slide.TotalPixelMatrixRows = width, height
    slide.TotalPixelMatrixFocalPlanes = 1
    slide.ImagedVolumeWidth, slide.ImagedVolumeHeight = width * mpp / 1e3, height * mpp / 1e3
    slide.ImagedVolumeDepth = 0.001
    slide.DimensionOrganizationType = "TILED_FULL"
    slide.ImageOrientationSlide = [0, -1, 0, -1, 0, 0]
    slide.FocusMethod, slide.ExtendedDepthOfField = "AUTO", "NO"
    slide.VolumetricProperties, slide.SpecimenLabelInImage = "VOLUME", "NO"
    slide.BurnedInAnnotation, slide.LossyImageCompression = "NO", "01"
    slide.SharedFunctionalGroupsSequence = Sequence([_spacing(mpp)])
    origin = Dataset()
    origin.XOffsetInSlideCoordinateSystem = origin.YOffsetInSlideCoordinateSystem = 0
    slide.TotalPixelMatrixOriginSequence = Sequence([origin])
    path_of_light = Dataset()
    path_of_light.OpticalPathIdentifier = "1"
    slide.OpticalPathSequence = Sequence([path_of_light])
    slide.NumberOfOpticalPaths = 1
    slide.PixelData = encapsulate(frames)
    slide["PixelData"].is_undefined_length = True
    slide.save_as(path, enforce_file_format=True)


def _spacing(mpp: float) -> Dataset:
    measures, group = Dataset(), Dataset()
    measures.PixelSpacing, measures.SliceThickness = [mpp / 1e3, mpp / 1e3], 0.001
    measures.SpacingBetweenSlices = 0.001
    group.PixelMeasuresSequence = Sequence([measures])
    return group


def _jpeg(part: Pixels) -> bytes:
    """A whole block, filled up with white."""
    block = np.full((SIDE, SIDE, 3), 255, np.uint8)
    block[: part.shape[0], : part.shape[1]] = part
    stream = io.BytesIO()
    Image.fromarray(block).save(stream, "JPEG", quality=95)
    return stream.getvalue()
