"""The environment that commands run in: no secrets of Roost, nothing that waits for a person."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from roost.workspace.branding import brand_of

MARK: Final = "ROOST_CALL"
"""Names the call that a process belongs to; a Roost inside a Roost appends to it."""

OWN_SECRETS: Final = (
    "ROOST_SERVER_PASSWORD",
    "ROOST_CONFIG_CONTENT",
    "OPENCODE_SERVER_PASSWORD",
)
"""Always taken out: the server's password, and configuration that may hold keys."""

_BASH_ENV: Final = "BASH_ENV"
_BRAND_SCRIPT: Final = Path(__file__).with_name("brand.sh")
_WILD: Final = frozenset("*?[")
_ANSWERS: Final = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "GH_PAGER": "cat",
    "BAT_PAGER": "cat",
    "DELTA_PAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "PSQL_PAGER": "cat",
    "AWS_PAGER": "",
    # An editor that fails makes `git rebase -i` abort; one that succeeds rewrites history unseen.
    "EDITOR": "false",
    "VISUAL": "false",
    # Vim takes the terminal from its error output and waits for keys there; it works on with -c,
    # -s and -es, and fails as soon as it waits for a person.
    "VIMINIT": "set noswapfile nomore shortmess+=A updatetime=500"
    "|autocmd CursorHold,CursorHoldI * cquit",
    "GIT_EDITOR": "false",
    "GIT_SEQUENCE_EDITOR": "false",
    "GIT_MERGE_AUTOEDIT": "no",
    "GIT_TERMINAL_PROMPT": "0",
    "GCM_INTERACTIVE": "never",
    "PIP_NO_INPUT": "1",
    "DEBIAN_FRONTEND": "noninteractive",
    "PYTHONUNBUFFERED": "1",
    "AGENT": "1",
}
"""What programs that would ask, page or draw are told instead."""


def command_environment(
    inherited: Mapping[str, str], *, secrets: Iterable[str] = ()
) -> dict[str, str]:
    """`inherited` without what `secrets` names and with nobody to talk to.

    `secrets` are names of variables or patterns such as `*_API_KEY`; letter case does not matter.
    Everything else the user has set stays.
    """
    given = {pattern.upper() for pattern in (*OWN_SECRETS, *secrets)}
    # Nearly all are plain names, and translating one into a pattern takes longer than finding it.
    patterns = [pattern for pattern in given if not _WILD.isdisjoint(pattern)]
    kept = {
        name: value
        for name, value in inherited.items()
        if name.upper() not in given
        and not any(fnmatchcase(name.upper(), pattern) for pattern in patterns)
    }
    return kept | _ANSWERS


def marked(environment: Mapping[str, str], mark: str) -> dict[str, str]:
    """`environment` with the call's mark, below the marks of the calls around it, and with what
    lets bash brand itself.
    """
    outer, own = environment.get(MARK), environment.get(_BASH_ENV)
    return {
        **environment,
        MARK: f"{outer}/{mark}" if outer else mark,
        "ROOST_BRAND": str(brand_of(mark)),
        _BASH_ENV: str(_BRAND_SCRIPT),
        **({"ROOST_BASH_ENV": own} if own else {}),
    }
