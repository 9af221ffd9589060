"""What a project without hooks pays: nothing is imported that it does not use."""

import subprocess
import sys
from pathlib import Path

HEAVY = (
    "roost.hooks.commands",
    "roost.hooks.source",
    "roost.hooks.progress",
    "roost.hooks.journal",
    "roost.config.pattern",
    "importlib.metadata",
    "importlib.abc",
)


def told(script: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=Path(__file__).parent,
    )
    return done.stdout.splitlines()[-1]


def test_the_version_is_told_without_any_hook() -> None:
    script = (
        "import sys\n"
        "from roost.cli.main import main\n"
        "sys.argv = ['roost', '--version']\n"
        "try:\n    main()\n"
        "except SystemExit:\n    pass\n"
        "print([name for name in sys.modules if 'hooks' in name or name == 'roost.config.pattern'])"
    )
    assert told(script) == "[]"


def test_a_project_without_hooks_imports_none_of_their_machinery(tmp_path: Path) -> None:
    script = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from hook_stage import place, pre_stop, session_pre\n"
        "from roost.hooks.runner import Hooks\n"
        f"heavy = set({HEAVY!r}) - set(sys.modules)\n"
        "async def ask():\n"
        "    hooks = Hooks(place(Path(sys.argv[1])))\n"
        "    await hooks.session_pre(session_pre())\n"
        "    await hooks.pre_stop(pre_stop())\n"
        "    await hooks.close()\n"
        "asyncio.run(ask())\n"
        "print(sorted(heavy), sorted(heavy & set(sys.modules)))"
    )
    assert told(script, str(tmp_path)) == f"{sorted(HEAVY)} []"
