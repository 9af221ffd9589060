"""Runs the real `roost run` on the sample and lets its output through as it comes."""

import json
import os
import subprocess
import sys
from pathlib import Path

SCRIPTED = "demo/scripted"
_SECONDS = 900
"""A real model on a slow machine may take its time."""


def isolated(home: Path, url: str) -> dict[str, str]:
    """An environment in which Roost knows the scripted model at `url` and nothing of the user."""
    config = {
        "provider": {
            "demo": {
                "npm": "@ai-sdk/openai-compatible",
                "options": {"baseURL": f"{url}/v1", "apiKey": "demo"},
                "models": {"scripted": {"name": "Scripted model"}},
            }
        }
    }
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ROOST_")}
    return {**clean, "ROOST_HOME": str(home), "ROOST_CONFIG_CONTENT": json.dumps(config)}


def run_roost(folder: Path, prompt: str, model: str, environment: dict[str, str]) -> int:
    """Give `prompt` to Roost in `folder` and tell its exit code."""
    # The commands of the script say `python3`: let that be the one that runs the demo.
    path = os.pathsep.join([str(Path(sys.executable).parent), environment.get("PATH", os.defpath)])
    command = [sys.executable, "-m", "roost.cli", "run", "--yes", "--dir", str(folder)]
    done = subprocess.run(
        [*command, "--model", model, "--", prompt],
        env={**environment, "PATH": path},
        stdin=subprocess.DEVNULL,
        timeout=_SECONDS,
        check=False,
    )
    return done.returncode
