"""What can be measured: Roost, and what its users would pick instead."""

import json
import sys
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from scripted_model.scenario import Call, Piece, Text

BIN: Final = Path(sys.executable).parent


class Program(Struct, frozen=True, kw_only=True):
    """How a program is called and configured.

    In its words `{url}` stands for the scripted model, `{home}` for its home, `{prompt}` for what
    it is asked.
    """

    name: str
    version: tuple[str, ...]
    """Its shortest command."""
    prompt: tuple[str, ...]
    """Works on one prompt without asking anybody, and ends."""
    environment: dict[str, str] = {}
    files: dict[str, str] = {}
    """Below its home."""
    arguments: dict[str, Any] = {}
    """What its tool `bash` is given beside `command`."""
    end: Piece = Text("done")
    """What the model says to end the work."""
    steps: int = 20
    """Of the loop that tells what one step costs."""
    delegate: str = ""
    """The tool that has another actor do something; empty if there is none."""


def shared_config(**more: Any) -> str:
    """The scripted model as a provider, in the configuration that OpenCode and Roost share."""
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Bench",
        "options": {"baseURL": "{url}/v1", "apiKey": "sk-bench"},
        "models": {"scripted": {"limit": {"context": 10_000_000, "output": 8_000}}},
    }
    return json.dumps({"model": "bench/scripted", "provider": {"bench": provider}, **more})


ROOST: Final = Program(
    name="roost",
    version=(str(BIN / "roost"), "--version"),
    prompt=(str(BIN / "roost"), "run", "--yes", "--max-steps", "5000", "{prompt}"),
    environment={"ROOST_HOME": "{home}/home", "ROOST_CONFIG_CONTENT": shared_config()},
    arguments={"description": "nothing"},
    steps=100,
    delegate="actor",
)


def opencode(binary: Path) -> Program:
    """OpenCode, which must not look for news or plugins while it is measured."""
    quiet = {"autoupdate": False, "share": "disabled", "small_model": "bench/scripted"}
    return Program(
        name="opencode",
        version=(str(binary), "--version"),
        prompt=(str(binary), "run", "{prompt}"),
        environment={
            "OPENCODE_CONFIG_CONTENT": shared_config(permission="allow", **quiet),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        },
        arguments={"description": "nothing"},
        delegate="task",
    )


_VIBE: Final = """\
active_model = "scripted"
enable_telemetry = false
enable_update_checks = false
enable_auto_update = false

[[providers]]
name = "bench"
api_base = "{url}/v1"
api_key_env_var = "BENCH_KEY"

[[models]]
name = "scripted"
provider = "bench"
alias = "scripted"
auto_compact_threshold = 10000000
"""


def vibe(binary: Path) -> Program:
    """mistral-vibe in its programmatic mode."""
    return Program(
        name="vibe",
        version=(str(binary), "--version"),
        prompt=(str(binary), "--trust", "--auto-approve", "-p", "{prompt}"),
        environment={"VIBE_HOME": "{home}/vibe", "BENCH_KEY": "sk-bench"},
        files={"vibe/config.toml": _VIBE},
    )


def mini(binary: Path) -> Program:
    """mini-swe-agent, which ends when a command prints a certain word."""
    model = "model.model_kwargs.api_base={url}/v1"
    return Program(
        name="mini",
        version=(str(binary), "--help"),
        prompt=(
            str(binary),
            *("-y", "--exit-immediately", "-l", "0", "-m", "openai/scripted"),
            *("-c", "mini.yaml", "-c", model, "-o", "{home}/trajectory.json", "-t", "{prompt}"),
        ),
        environment={
            "OPENAI_API_KEY": "sk-bench",
            "MSWEA_CONFIGURED": "true",
            "MSWEA_COST_TRACKING": "ignore_errors",
            "MSWEA_SILENT_STARTUP": "1",
        },
        end=Call("bash", {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}),
    )
