"""The completion script of zsh."""

from typing import Final

from roost.cli.completion.words import Node, Option

_HEAD: Final = """\
#compdef roost
# Completion of roost for zsh. Save it as _roost in a folder of $fpath, or load it after compinit
# with: source <(roost completion zsh)
"""
_FOOT: Final = """\
if [[ $funcstack[1] == _roost ]]; then
    _roost "$@"
else
    compdef _roost roost
fi
"""


def zsh_script(nodes: tuple[Node, ...]) -> str:
    """The script for the commands `nodes`."""
    top = Node(("roost",), "", (Option(("--version",), "print the version", "none"),), nodes)
    return "\n".join([_HEAD, *_function(top, "_roost"), _FOOT])


def _function(node: Node, name: str) -> list[str]:
    """A function that completes `node`, and those of its actions before it."""
    before = [
        line for action in node.actions for line in _function(action, f"{name}_{action.names[0]}")
    ]
    arguments = [_argument(option) for option in node.options]
    if not node.actions:
        if node.files:
            arguments.append("'*:file:_files'")
        elif node.words:
            arguments.append(f"'1:what:({' '.join(node.words)})'")
        return [f"{name}() {{", _call(arguments, "_arguments -s"), "}", ""]
    arguments += ["'1: :->action'", "'*:: :->rest'"]
    described = [f"                {_described(action)}" for action in node.actions]
    cases = [
        f"                {'|'.join(action.names)}) {name}_{action.names[0]} ;;"
        for action in node.actions
    ]
    return [
        *before,
        f"{name}() {{",
        "    local state line",
        _call(arguments, "_arguments -s -C"),
        "    case $state in",
        "        action)",
        "            local -a actions=(",
        *described,
        "            )",
        "            _describe action actions ;;",
        "        rest)",
        "            case $line[1] in",
        *cases,
        "            esac ;;",
        "    esac",
        "}",
        "",
    ]


def _call(arguments: list[str], command: str) -> str:
    return " \\\n        ".join([f"    {command}", *arguments])


def _described(node: Node) -> str:
    return _quoted(f"{node.names[0]}:{node.summary}")


def _argument(option: Option) -> str:
    """One argument of `_arguments`."""
    names = option.names
    star = "*" if option.repeatable else ""
    exclusive = "" if option.repeatable or len(names) == 1 else f"({' '.join(names)})"
    tail = f"[{_escaped(option.help)}]"
    if option.value != "none":
        tail += f":{_escaped(option.metavar)}:{_values(option)}"
    if len(names) == 1:
        return _quoted(f"{star}{names[0]}{tail}")
    return f"{_quoted(exclusive + star)}{{{','.join(names)}}}{_quoted(tail)}"


def _values(option: Option) -> str:
    if option.choices:
        return f"({' '.join(option.choices)})"
    return {"folder": "_files -/", "file": "_files"}.get(option.value, "")


def _escaped(text: str) -> str:
    for special in "\\[]:":
        text = text.replace(special, "\\" + special)
    return text


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'" if text else ""
