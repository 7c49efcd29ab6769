"""Slides and images: open them, find the tissue, cut tiles by physical size, separate stains.

Importing the package without the extra ``[slide]`` says what to install; docs/slides.md shows use.
"""

from importlib.util import find_spec

from histoeval.errors import MissingDependency, pip_install

# modules of the extra ``[slide]``, and the packages to install for them
PACKAGES = {
    "PIL": "pillow",
    "scipy": "scipy",
    "openslide": "openslide-python",
    "tifffile": "tifffile",
    "imagecodecs": "imagecodecs",
    "wsidicom": "wsidicom",
}


def require(*modules: str) -> None:
    """Raise `MissingDependency` with the command to run when a module is missing."""
    if absent := [PACKAGES[name] for name in modules if find_spec(name) is None]:
        raise MissingDependency(
            f"{' and '.join(absent)} not installed: slides and images need the extra [slide]; "
            f"run: {pip_install('slide')}"
        )


require("PIL", "scipy")
