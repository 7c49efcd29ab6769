"""The models that are shipped, each loaded at most once in a process.

Fixtures of the same names (`reader`, `aligner`, `entailer`, `encoder`) are in tests/conftest.py;
plain code calls these functions. They run on one thread, as tests run beside each other. A test
that changes a model, or needs other threads, makes its own.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from histoeval.align.builtin import BuiltinAligner
    from histoeval.nli.builtin import BuiltinEntailer
    from histoeval.pathgls.grounding.builtin import BuiltinEncoder
    from histoeval.reader.builtin import BuiltinReader


@cache
def shipped_reader() -> BuiltinReader:
    from histoeval.reader.builtin import BuiltinReader

    return BuiltinReader(threads=1)


@cache
def shipped_aligner() -> BuiltinAligner:
    from histoeval.align.builtin import BuiltinAligner

    return BuiltinAligner(threads=1)


@cache
def shipped_entailer() -> BuiltinEntailer:
    from histoeval.nli.builtin import BuiltinEntailer

    return BuiltinEntailer(threads=1)


@cache
def shipped_encoder() -> BuiltinEncoder:
    from histoeval.pathgls.grounding.builtin import BuiltinEncoder

    return BuiltinEncoder(threads=1)
