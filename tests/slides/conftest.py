"""Slides need the extra [slide]; without it their tests are not collected."""

from importlib.util import find_spec

if any(find_spec(name) is None for name in ("openslide", "tifffile", "wsidicom", "PIL", "scipy")):
    collect_ignore_glob = ["test_*.py"]
