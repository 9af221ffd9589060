"""`roost run`: begins to read what is piped in, then imports the rest and goes to work."""

import gc
from typing import Any

from roost.cli.collector import calm
from roost.cli.run.prompt import PipedInput


def execute(given: dict[str, Any]) -> int:
    """Run the prompt of the command line; gives the exit code. Raises `RoostError`."""
    piped = PipedInput(beside_words=bool(given["message"] or given["goal"] or given["command"]))
    # Imported while the pipe is read: most of the start is imports. What they make stays until the
    # end, so looking for garbage among it would cost a tenth of the start and of the exit.
    gc.disable()
    from roost.cli.run.work import work

    calm()
    return work(given, piped)
