"""`histoeval serve`: runs, scores, trust, slides and studies in the browser; needs [web]."""

from importlib.util import find_spec

from histoeval.errors import MissingDependency, pip_install

# modules of the extra ``[web]``, and the packages to install for them
PACKAGES = {"starlette": "starlette", "uvicorn": "uvicorn", "python_multipart": "python-multipart"}

if absent := [package for module, package in PACKAGES.items() if find_spec(module) is None]:
    raise MissingDependency(
        f"{' and '.join(absent)} not installed: `histoeval serve` needs the extra [web]; "
        f"run: {pip_install('web')}"
    )
