"""Folders that the command line names."""

from pathlib import Path

from roost.core.errors import UsageError


def working_folder(name: str | None) -> Path:
    """The folder `name`, or the current one, as an absolute path.

    Raises `UsageError` when there is no such folder.
    """
    try:
        folder = Path.cwd() if name is None else Path(name).absolute()
    except FileNotFoundError as error:
        raise UsageError(
            "the current folder no longer exists", hint="Change to another one, or give --dir."
        ) from error
    if not folder.is_dir():
        raise UsageError(
            f"{name} is not a folder", hint="Give one that exists, or leave --dir out."
        )
    return folder
