"""What a person would allow for good when a shell command asks: the part of it that names the act.

For `git commit -m x` that is `git commit *`. Where the arguments are code, or the next ones could
be anything, it is only the command as it stands.
"""

import re
from typing import Final

from roost.permissions.shell_git import READING as GIT_READING
from roost.permissions.shell_programs import READERS
from roost.permissions.shell_special import SPECIAL
from roost.permissions.shell_unwrap import SHELLS, Invocation

_ARITY: Final[dict[str, int]] = {
    **dict.fromkeys(("git", "npm", "pnpm", "yarn", "bun", "cargo", "go", "dotnet", "gh"), 2),
    **dict.fromkeys(("docker", "podman", "kubectl", "helm", "terraform", "systemctl"), 2),
    **dict.fromkeys(("apt", "apt-get", "brew", "pip", "pip3", "uv", "poetry", "rustup"), 2),
    **dict.fromkeys(("composer", "bundle", "mix", "rake", "just", "make", "gradle", "mvn"), 2),
    "npm run": 3,
    "pnpm run": 3,
    "yarn run": 3,
    "bun run": 3,
    "docker compose": 3,
    "git stash": 3,
    "git remote": 3,
    "git worktree": 3,
    "gh pr": 3,
    "gh issue": 3,
    "gh run": 3,
    "kubectl get": 3,
    "uv pip": 3,
}
_INTERPRETERS: Final = {
    *SHELLS,
    *("python", "python3", "pypy", "node", "deno", "ruby", "perl", "php", "lua", "awk", "gawk"),
    *("osascript", "tclsh", "Rscript", "julia", "sqlite3", "psql", "mysql"),
}
_EXACT: Final = {
    *_INTERPRETERS,
    *("sudo", "doas", "su", "ssh", "eval", "source", ".", "exec", "trap", "xargs", "env"),
    *("npx", "bunx", "uvx", "pipx", "find", "parallel", "watch", "chroot", "curl", "wget"),
    *("make", "dd", "sed", "kill", "rm", "flock"),
}
"""Their arguments are code, addresses or targets: a prefix would allow anything."""
_EXACT_PAIRS: Final = {
    *(
        "npm exec",
        "npm install",
        "npm i",
        "npm add",
        "pnpm exec",
        "pnpm dlx",
        "pnpm add",
        "yarn dlx",
    ),
    *("yarn add", "bun x", "bun add", "cargo install", "go run", "go install", "pip install"),
    *("pip3 install", "uv run", "uv add", "uv tool", "uv pip install", "poetry run", "bundle exec"),
    *("apt install", "apt-get install", "brew install", "docker run", "docker exec", "git config"),
    *(
        "kubectl exec",
        "podman run",
        "podman exec",
        "poetry add",
        "git submodule",
        "git filter-branch",
    ),
    *("git push", "npm publish", "cargo publish", "gh api", "docker compose run"),
}
_OPAQUE: Final = re.compile(r"[*?]")


def always_of(call: Invocation) -> str | None:
    """A pattern for the rule that a "yes, always" would make; None if there must be none."""
    if not call.words or not call.name or not all(word.exact for word in call.words[:1]):
        return None
    if call.name in _INTERPRETERS and not any(w.text[:1] != "-" for w in call.words[1:]):
        return None  # what it runs comes from its input, which no rule sees
    words = [call.text.split(" ", 1)[0], *(word.shown for word in call.words[1:])]
    depth = _depth(words)
    if depth is None or len(words) < depth:
        # A wildcard in the text itself would allow more than what was asked.
        exact = call.text
        return None if _OPAQUE.search(exact) or call.more or _unknown(call) else exact
    head = call.words[:depth]
    return " ".join(words[:depth]) + " *" if all(word.exact for word in head) else None


def _unknown(call: Invocation) -> bool:
    return not all(word.exact for word in call.words)


def _depth(words: list[str]) -> int | None:
    """How many words name the act; None: all of them."""
    # Of a program that mostly reads, only this use needed an answer.
    reads = words[0] in READERS or (words[0] in SPECIAL and words[0] != "git")
    if words[0] in _EXACT or reads or (words[0] == "git" and set(words[1:2]) & GIT_READING):
        return None
    pairs = {" ".join(words[:2]), " ".join(words[:3])}
    if pairs & _EXACT_PAIRS:
        return None
    if len(words) > 1 and words[0] in _ARITY and words[1].startswith("-"):
        return None
    for length in (3, 2, 1):
        if (arity := _ARITY.get(" ".join(words[:length]))) is not None:
            return arity
    return 1
