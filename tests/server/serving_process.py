"""A server as a process: `python serving_process.py FOLDER MODEL_URL [owner|stdin]`."""

import asyncio
import json
import os
import sys
from pathlib import Path

from roost.runtime.models import Settings
from roost.runtime.runtime import Runtime
from roost.server.models import ServerSettings, ready_line
from roost.server.serve import serve


async def main(folder: Path, config: str, watched: str) -> None:
    environment = {
        "HOME": str(folder),
        "PATH": os.environ["PATH"],
        "ROOST_HOME": str(folder / "home"),
        "ROOST_CONFIG_CONTENT": config,
    }
    settings = ServerSettings(
        directories=(folder / "project",),
        owner_pid=int(watched) if watched.isdecimal() else None,
        watch_stdin=watched == "stdin",
    )
    made = Settings(environment=environment, interactive=True, make_titles=False)
    async with Runtime.open(made) as runtime:
        await serve(runtime, settings, lambda place: print(ready_line(place), flush=True))
    print(json.dumps({"ended": True}), flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
