"""Which files git and ripgrep pass over: `.gitignore`, `.ignore`, `.rgignore`, `info/exclude`.

The rules of ripgrep: a `.rgignore` anywhere outranks a `.ignore`, that a `.gitignore`, and that
the repository's `info/exclude`; among files of one kind the deepest decides; git's rules end at
the border of the repository.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from roost.workspace.git_folder import shared_folder

_KINDS: Final = (".rgignore", ".ignore", ".gitignore", "exclude")
_GIT_KINDS: Final = (".gitignore", "exclude")
_MARKERS: Final = {".git", ".rgignore", ".ignore", ".gitignore"}
_MAX_FILE: Final = 1024 * 1024


class IgnoreRules:
    """The patterns of one file, whose `text` this is."""

    def __init__(self, text: str) -> None:
        from pathspec.patterns.gitignore.base import GitIgnorePatternError
        from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

        self._rules: list[tuple[re.Pattern[str], bool]] = []
        for line in re.split(r"\r?\n", text):
            try:
                expression, ignored = GitIgnoreSpecPattern.pattern_to_regex(line)
            except GitIgnorePatternError:
                continue  # git passes over a pattern that it cannot read, too
            if expression is not None and ignored is not None:
                self._rules.append((re.compile(expression), ignored))
        self._rules.reverse()
        plain = (r.pattern.replace("(?P<ps_d>", "(?:") for r, _ in self._rules)
        self._any = re.compile("|".join(f"(?:{p})" for p in plain)) if self._rules else None

    def verdict(self, path: str) -> bool | None:
        """Whether to ignore `path` (a directory ends with `/`); None if no pattern says."""
        if self._any is None or self._any.match(path) is None:
            return None
        for regex, ignored in self._rules:
            # Only patterns for the path itself: whatever lies below an ignored folder that was
            # asked for by name is wanted.
            if (found := regex.match(path)) and found.end() == len(path):
                return ignored
        return None


class IgnoreFolder:
    """A folder with its ignore files and, above it, those of its parents.

    With `git_only` those count that git knows.
    """

    def __init__(
        self,
        path: Path,
        parent: "IgnoreFolder | None" = None,
        *,
        in_repository: bool,
        git_only: bool = False,
    ) -> None:
        self._prefix = f"{path}/".replace("//", "/")
        self._parent = parent
        self._in_repository = in_repository
        self._is_repository = in_repository and (path / ".git").exists()
        self._kinds = _GIT_KINDS if git_only else _KINDS
        self._rules = {kind: rules for kind in self._kinds if (rules := self._read(path, kind))}

    @classmethod
    def above(cls, root: Path, *, git_only: bool = False) -> "IgnoreFolder":
        """The folder `root` with everything above it that applies: up to its repository's top."""
        parents = [root, *root.parents]
        top = next((i for i, p in enumerate(parents) if (p / ".git").exists()), None)
        if top is None:
            return cls(root, in_repository=False, git_only=git_only)
        folder = cls(parents[top], in_repository=True, git_only=git_only)
        for path in reversed(parents[:top]):
            folder = cls(path, folder, in_repository=True, git_only=git_only)
        return folder

    def below(self, path: str, names: set[str]) -> "IgnoreFolder":
        """The folder at `path`, somewhere in this one; `names` are what it holds."""
        if names.isdisjoint(_MARKERS):
            return self
        return IgnoreFolder(
            Path(path),
            self,
            in_repository=self._in_repository,
            git_only=self._kinds is _GIT_KINDS,
        )

    def ignores(self, path: str, *, directory: bool) -> bool:
        """Whether to pass over the absolute `path`, which lies somewhere below."""
        ending = "/" if directory else ""
        for kind in self._kinds:
            for folder in self._upwards(kind):
                rules = folder._rules.get(kind)
                if rules is None:
                    continue
                verdict = rules.verdict(path[len(folder._prefix) :] + ending)
                if verdict is not None:
                    return verdict
        return False

    def _upwards(self, kind: str) -> Iterator["IgnoreFolder"]:
        folder: IgnoreFolder | None = self
        while folder is not None:
            yield folder
            if kind in _GIT_KINDS and folder._is_repository:
                return
            folder = folder._parent

    def _read(self, folder: Path, kind: str) -> IgnoreRules | None:
        path = folder / kind
        if kind == "exclude":
            if not self._is_repository:
                return None
            path = (shared_folder(folder / ".git") or folder) / "info" / "exclude"
        try:
            if not path.is_file() or path.stat().st_size > _MAX_FILE:
                return None
            return IgnoreRules(path.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            return None  # as unreadable for us as for git
