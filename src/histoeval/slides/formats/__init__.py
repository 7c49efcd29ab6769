"""Slide formats: OpenSlide, TIFF, DICOM, deep zoom, plain pictures."""
