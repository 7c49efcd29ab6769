"""What the extra ``[slide]`` brings, and what is said when it is not there."""

from __future__ import annotations

from importlib.util import find_spec

from histoeval.errors import MissingDependency

PACKAGES = {
    "PIL": "pillow",
    "scipy": "scipy",
    "openslide": "openslide-python",
    "tifffile": "tifffile",
    "imagecodecs": "imagecodecs",
    "wsidicom": "wsidicom",
}
"""Names to import, and names to install."""


def require(*modules: str) -> None:
    """Say what to install when something is missing."""
    if absent := [PACKAGES[name] for name in modules if find_spec(name) is None]:
        raise MissingDependency(
            f"{' and '.join(absent)} not installed: slides and images need the extra [slide]; "
            "run: pip install 'histoeval[slide]'"
        )
