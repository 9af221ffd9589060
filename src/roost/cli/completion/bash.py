"""The completion script of bash; it needs nothing beyond bash itself."""

import shlex
from collections.abc import Iterator
from typing import Final

from roost.cli.completion.words import Node, Option

_SCRIPT: Final = """\
# Completion of roost for bash. Load it with: source <(roost completion bash)
_roost() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
    local path="" words="" i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$path ${{COMP_WORDS[i]}}" in
{paths}
        esac
    done
    COMPREPLY=()
    case "$path:$before" in
{values}
    esac
    case "$path" in
{words}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -F _roost roost
"""


def bash_script(nodes: tuple[Node, ...]) -> str:
    """The script for the commands `nodes`."""
    top = " ".join(node.names[0] for node in nodes)
    words = [f'        "") words="{top} --help --version" ;;']
    paths: list[str] = []
    values: list[str] = []
    for path, node in _walk(nodes, ""):
        before = path.rpartition(" ")[0]
        names = "|".join(shlex.quote(f"{before} {name}") for name in node.names)
        paths.append(f"            {names}) path={shlex.quote(path)} ;;")
        values += [line for option in node.options for line in _value(path, option)]
        words.append(_words(path, node))
    return _SCRIPT.format(paths="\n".join(paths), values="\n".join(values), words="\n".join(words))


def _walk(nodes: tuple[Node, ...], before: str) -> Iterator[tuple[str, Node]]:
    for node in nodes:
        path = f"{before} {node.names[0]}".strip()
        yield path, node
        yield from _walk(node.actions, path)


def _value(path: str, option: Option) -> list[str]:
    """What follows an option that takes a value."""
    if option.value == "none":
        return []
    names = "|".join(shlex.quote(f"{path}:{name}") for name in option.names)
    if option.choices:
        reply = f'COMPREPLY=($(compgen -W "{" ".join(option.choices)}" -- "$current"))'
    elif option.value == "folder":
        reply = 'COMPREPLY=($(compgen -d -- "$current"))'
    elif option.value == "file":
        reply = 'COMPREPLY=($(compgen -f -- "$current"))'
    else:
        reply = ":"
    return [f"        {names}) {reply}; return ;;"]


def _words(path: str, node: Node) -> str:
    words = [name for option in node.options for name in option.names]
    words += [action.names[0] for action in node.actions]
    words += node.words
    line = f"        {shlex.quote(path)}) words={shlex.quote(' '.join(words))}"
    if node.files:
        line += '; COMPREPLY=($(compgen -f -- "$current")); [[ $current == -* ]] || return'
    return line + " ;;"
