"""The completion script of fish."""

from roost.cli.completion.words import Node, Option

_HEAD = """\
# Completion of roost for fish. Save it as ~/.config/fish/completions/roost.fish
complete -c roost -f
complete -c roost -n __fish_use_subcommand -l version -d 'print the version'\
"""


def fish_script(nodes: tuple[Node, ...]) -> str:
    """The script for the commands `nodes`."""
    lines = [_HEAD]
    for node in nodes:
        lines.append(_word("__fish_use_subcommand", node.names[0], node.summary))
        seen = _seen(node)
        if node.actions:
            chosen = " ".join(name for action in node.actions for name in action.names)
            unchosen = f"{seen}; and not __fish_seen_subcommand_from {chosen}"
            lines += [_word(unchosen, one.names[0], one.summary) for one in node.actions]
            lines += [_option(unchosen, option) for option in node.options]
            for action in node.actions:
                lines += _of(action, f"{seen}; and {_seen(action)}")
        else:
            lines += _of(node, seen)
    return "\n".join(lines) + "\n"


def _of(node: Node, condition: str) -> list[str]:
    lines = [_option(condition, option) for option in node.options]
    if node.words:
        lines.append(
            f"complete -c roost -n {_quoted(condition)} -a {_quoted(' '.join(node.words))}"
        )
    if node.files:
        lines.append(f"complete -c roost -n {_quoted(condition)} -F")
    return lines


def _seen(node: Node) -> str:
    return f"__fish_seen_subcommand_from {' '.join(node.names)}"


def _word(condition: str, word: str, summary: str) -> str:
    return f"complete -c roost -n {_quoted(condition)} -a {word} -d {_quoted(summary)}"


def _option(condition: str, option: Option) -> str:
    pieces = [f"complete -c roost -n {_quoted(condition)}"]
    pieces += [f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names]
    pieces.append(_value(option))
    pieces.append(f"-d {_quoted(option.help)}")
    return " ".join(filter(None, pieces))


def _value(option: Option) -> str:
    if option.choices:
        return f"-xa {_quoted(' '.join(option.choices))}"
    if option.value == "folder":
        return "-xa '(__fish_complete_directories)'"
    return {"file": "-rF", "text": "-x"}.get(option.value, "")


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
