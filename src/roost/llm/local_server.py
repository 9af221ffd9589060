"""The child process that runs a GGUF model: `python -m roost.llm.local_server`.

Reads one line of JSON (`Order`) from stdin, loads the model, answers with one line of JSON
(`Ready`) on stdout and serves OpenAI's chat API on a random loopback port. It ends when stdin does,
and so dies with its parent, however that dies.
"""

import importlib
import os
import sys
from typing import Any

import msgspec
from msgspec import Struct

from roost.core.errors import plain_words


class Order(Struct, frozen=True):
    """What to run. The token comes here since everyone can see the arguments of a process."""

    path: str
    context: int
    """Window in tokens."""
    threads: int
    token: str


class Ready(Struct, frozen=True):
    """Where it runs, or why it does not."""

    url: str = ""
    error: str = ""


def main() -> None:
    """Serve until stdin ends."""
    order = msgspec.json.decode(sys.stdin.buffer.readline(), type=Order)
    server: Any = None
    try:
        server = _serve(order)
        ready = Ready(url=f"{server.listening_address}/v1")
    except (RuntimeError, ValueError, OSError, ImportError) as error:
        ready = Ready(error=plain_words(error))
    sys.stdout.buffer.write(msgspec.json.encode(ready) + b"\n")
    sys.stdout.buffer.flush()
    while server is not None and sys.stdin.buffer.read(65_536):
        pass
    os._exit(0)  # The threads of the model would keep the process alive.


def _serve(order: Order) -> Any:
    library: Any = importlib.import_module("xllamacpp")
    params = library.CommonParams()
    params.model.path = order.path
    params.n_ctx = order.context
    params.n_parallel = 1
    params.cpuparams.n_threads = order.threads
    params.cpuparams_batch.n_threads = order.threads
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [order.token]
    params.ui = False
    params.verbosity = 0
    return library.Server(params)


if __name__ == "__main__":
    main()
