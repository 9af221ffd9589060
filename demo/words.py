"""What the demo says before and after, and which way back it offers: only what works."""

import sys
from pathlib import Path
from shlex import quote
from typing import Final

ROOST: Final = Path(sys.executable).parent / "roost"
INSTALL: Final = """\
The embedded model needs a program and a file that are not installed: `make local` brings both
(a tiny model, for a first try). Any other .gguf file may be put into {folder}."""
EMBEDDED: Final = """\
{model} runs inside of Roost, on this machine, without a key and without a network.
What follows shows that it runs. It is not expected to mend the sample: that takes a model many
times as large as the one that `make local` brings.
"""
UNSOLVED: Final = """
The embedded model ran: {answers} answers, {tokens:,} tokens written. It did not mend the sample,
which is beyond models of a few hundred million parameters. For real work set the key of a provider,
start Ollama, or put a larger .gguf file into
  {folder}
"""


def next_steps() -> str:
    """What to try after the demo."""
    return f"""\
`make demo KEEP=1` does it once more and leaves the sample for a look.
With a model of your own: set a key, such as ANTHROPIC_API_KEY or OPENAI_API_KEY (or start Ollama):
  make demo MODEL=anthropic/claude-sonnet-5-5
  {quote(str(ROOST))} run "what does this project do?"    in any folder of yours"""


def way_back(folder: Path, shop: Path, home: Path | None) -> str:
    """How to look at what was kept; `home` is Roost's where that is not the user's own."""
    roost = quote(str(ROOST))
    lines = [("cd " + quote(str(shop)), ""), ("git diff", "what was changed")]
    if home is None:
        lines.append((f"{roost} sessions show", "what was said and done"))
        lines.append((f'{roost} run -c "..."', "go on"))
    else:
        lines.append((f"export ROOST_HOME={quote(str(home))}", "the home of the demo"))
        lines.append((f"{roost} sessions show", "what was said and done"))
        lines.append((f'{roost} run -c -m PROVIDER/MODEL "..."', "go on, with a model of yours"))
        lines.append(("unset ROOST_HOME", "back to your own home"))
    lines.append((f"rm -rf {quote(str(folder))}", "when you have seen enough"))
    width = max(len(command) for command, _ in lines)
    shown = [f"  {command:<{width}}    {words}".rstrip() for command, words in lines]
    return "\n".join(["\nKept, for a look:", *shown])
