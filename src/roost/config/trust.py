"""Which project configurations the user trusts: exactly those bytes, at exactly that place.

A changed, added or removed file gives another digest, whoever changed it, and the content is
withheld again until the user agrees once more.
"""

import contextlib
import fcntl
import hashlib
import os
import tempfile
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from roost.core.clock import now_ms
from roost.core.errors import ConfigError
from roost.core.failpoints import failpoint

_REMEMBERED: Final = 16
"""Digests kept for one project, so that going back to a trusted branch does not ask again."""


class TrustedContent(Struct, frozen=True):
    """One state of a project's configuration that the user agreed to."""

    digest: str
    since: int
    """Milliseconds since the epoch."""


def project_digest(files: Iterable[tuple[str, bytes]]) -> str:
    """SHA-256 over relative paths and bytes, in the order of the paths, each with its length."""
    total = hashlib.sha256(b"roost project configuration 1\n")
    for path, data in sorted(files):
        name = path.encode("utf-8", "surrogateescape")
        total.update(b"%d %d\n" % (len(name), len(data)))
        total.update(name)
        total.update(data)
    return total.hexdigest()


class TrustStore:
    """The trust file of one user; several processes may use it at once."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def is_trusted(self, root: Path, digest: str) -> bool:
        """Whether the user agreed to exactly this content at `root` (symbolic links resolved).

        Raises ConfigError when the trust file is damaged: nothing can be taken for trusted then.
        """
        entries = self._read().get(_key(root), [])
        return any(one.digest == digest for one in entries)

    def trust(self, root: Path, digest: str) -> None:
        """Remember the user's consent; it is on disk when this returns."""
        with self._changing() as entries:
            others = [one for one in entries.get(_key(root), []) if one.digest != digest]
            entries[_key(root)] = [*others, TrustedContent(digest, now_ms())][-_REMEMBERED:]

    def revoke(self, root: Path) -> bool:
        """Forget every consent for `root`; False when there was none."""
        with self._changing() as entries:
            return entries.pop(_key(root), None) is not None

    def roots(self) -> dict[str, list[TrustedContent]]:
        """Everything that is trusted, by project."""
        return self._read()

    def _read(self) -> dict[str, list[TrustedContent]]:
        try:
            data = self.file.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise ConfigError(
                f"{self.file}: cannot be read: {error.strerror}",
                hint="It holds which projects you trust; make it readable or remove it.",
            ) from error
        try:
            return msgspec.json.decode(data, type=dict[str, list[TrustedContent]]) if data else {}
        except msgspec.DecodeError as error:
            raise ConfigError(
                f"{self.file}: is damaged: {error}",
                hint="Remove it; Roost asks again for each project.",
            ) from error

    @contextlib.contextmanager
    def _changing(self) -> Generator[dict[str, list[TrustedContent]]]:
        """Read, change and replace the file under a lock that other processes respect."""
        self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(self.file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            entries = self._read()
            yield entries
            _replace(self.file, msgspec.json.encode(entries))
        finally:
            os.close(lock)


def _key(root: Path) -> str:
    return os.path.realpath(root)


def _replace(file: Path, data: bytes) -> None:
    """Put `data` in place of `file` so that a crash leaves the old or the new content, whole."""
    # mkstemp makes the file with mode 0600.
    handle, temporary = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        failpoint("trust.rename")
        Path(temporary).replace(file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
