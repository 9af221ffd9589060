"""The shape of `roost.json`: OpenCode's key names, and the groups that only Roost has.

A field that is absent from every file is None or empty: whoever reads it knows the default, except
where a default is written here. Keys that nothing reads are checked and kept all the same, so that
a file written for OpenCode loads; each says so.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from roost.config.hooks import HookConfig
from roost.config.providers import ProviderConfig

Action = Literal["allow", "ask", "deny"]
PermissionMap = Action | dict[str, Action | dict[str, Action]]
"""One action for everything, or per permission an action or patterns in written order."""

Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Amount = Annotated[float, Meta(ge=0)]
Port = Annotated[int, Meta(ge=0, le=65535)]
Candidates = Annotated[int, Meta(ge=1, le=8)]
"""Answers that a model proposes for one step; 1: none is chosen from."""


class AgentConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `agent`, or the front matter and body of `agents/<name>.md`."""

    model: str | None = None
    """`provider/model`, or the name of a group."""
    variant: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    prompt: str | None = None
    description: str | None = None
    mode: Literal["subagent", "primary", "all"] | None = None
    """None: as built in, and `all` for an agent that is not."""
    hidden: bool | None = None
    """Told to clients; so is `color`."""
    color: str | None = None
    steps: Positive | None = None
    """Most model calls of a turn; the smaller of this and `limits.steps` holds."""
    options: dict[str, Any] = {}
    """Extra fields of every request body. Told to clients, not sent."""
    permission: PermissionMap | None = None
    disable: bool | None = None
    tools: dict[str, bool] = {}
    """Deprecated by OpenCode; false becomes a permission deny."""
    tool_allowlist: tuple[str, ...] | None = None
    """The only tools that it is shown and may call; `*` and `?` are wildcards. None: all."""
    max_mode: bool | Candidates | None = None
    """Each step is chosen from so many proposed ones; true: as `max_mode.candidates` says."""
    completion_gate: bool | None = None
    """An actor that runs as it ends its turn only when its tasks are done, and reports a status."""


class CommandConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `command`, or `commands/<name>.md`."""

    template: str
    """The prompt, with `$ARGUMENTS`, `$1`, `` !`shell` `` and `@file`."""
    description: str | None = None
    agent: str | None = None
    model: str | None = None
    variant: str | None = None
    subtask: bool | None = None
    """Told to clients, and without effect here."""


class ServerConfig(
    Struct, frozen=True, forbid_unknown_fields=True, rename={"mdns_domain": "mdnsDomain"}
):
    """Where `roost serve` listens."""

    port: Port | None = None
    hostname: str | None = None
    mdns: bool | None = None
    """Not read, nor is `mdnsDomain`."""
    mdns_domain: str | None = None
    cors: tuple[str, ...] = ()
    """Origins that a browser may come from, exactly as the browser sends them."""


class CompactionConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """When and how a long conversation is shortened. Numbers are tokens, `tail_turns` turns."""

    auto: bool = True
    """Without being asked, when it fills the model's window."""
    prune: bool = True
    """Not read, nor is `tail_turns`."""
    tail_turns: Count = 2
    preserve_recent_tokens: Count | None = None
    """Most that stays of its end word for word; None: a share of the window, 20,000 at most."""
    reserved: Count | None = None
    """What of the window is kept free for an answer; None: what the model may answer, 20,000 at
    most."""
    max_context: Positive | str | dict[str, Positive | str] | None = None
    """Treat the model's window as no larger than this: tokens, `"300K"`, `"1.5M"`, or a share,
    `"50%"`; by model, `provider/model` with wildcards."""


class CheckpointConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How long conversations are kept from losing the thread."""

    enabled: bool = True
    """The words in place of a long conversation are put together from what is stored; without, a
    model is asked to sum it up."""


class ToolSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How tools are offered to the model."""

    invocation_style: Literal["json", "shell"] = "json"
    """Whether a tool that can (`actor`) takes a command line instead of an object."""
    invocation_style_by_tool: dict[str, Literal["json", "shell"]] = {}
    """The same for single tools."""
    webfetch_private: bool = False
    """Whether `webfetch` may reach loopback and private addresses."""

    def style_of(self, tool: str) -> Literal["json", "shell"]:
        """How `tool` is offered."""
        return self.invocation_style_by_tool.get(tool, self.invocation_style)


class SkillsConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Where skills are looked for besides the usual folders, as the user's own files say."""

    paths: tuple[str, ...] = ()
    """Folders, relative to the file that names them."""
    urls: tuple[str, ...] = ()
    """Not read."""
    claude: bool = False
    """Whether `.claude/skills` counts too; so do those of Codex and OpenCode."""
    codex: bool = False
    opencode: bool = False


class WatcherConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """What the file watcher leaves out. Not read."""

    ignore: tuple[str, ...] = ()


class LimitsConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Budgets of one turn; None leaves the built-in limit."""

    steps: Positive | None = None
    tokens: Positive | None = None
    cost: Amount | None = None
    """US dollars."""
    seconds: Amount | None = None
    retries: Count | None = None
    """Times that one model call is tried again."""
    retry_wait: Amount | None = None
    """Seconds before a failed model call is first tried again; each further wait is longer."""
    nudges: Count | None = None
    """Times that one policy may send the actor on until a person speaks again."""
    tree_tokens: Positive | None = None
    tree_cost: Amount | None = None
    tree_seconds: Amount | None = None
    """What an actor and all its descendants may use together until a person speaks again."""


class ActorsConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How many actors may work, and what becomes of those that fall silent or whose process died.

    None leaves the built-in limit.
    """

    depth: Count | None = None
    """Generations below the first actor."""
    children: Count | None = None
    """Children of one actor that are at work at the same time; one more is refused."""
    running: Positive | None = None
    """Subagents of one session that run at the same time; the others wait for their turn."""
    stall_seconds: Positive | None = None
    """Silence after which the parent is told."""
    hops: Positive | None = None
    """Messages in a row from actor to actor, without a person among them, that wake somebody."""
    ask_seconds: Positive | None = None
    """How long a directing session may take to answer a permission request of its child."""
    recovery: Literal["resume", "fail"] = "resume"
    """What becomes of a background actor whose process died, when its session is next open."""


class MemoryConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """What actors keep for later."""

    disable_write: bool = False
    """Nobody writes there, so nobody is asked for a journal either."""


HistoryKind = Literal[
    "user_text",
    "assistant_text",
    "tool_input",
    "tool_error",
    "reasoning",
    "tool_output",
    "tool_value",
]
"""What of a message can be looked for; `tool_value`: of an output the lines with exact values. The
order is kept: an index numbers them."""


class HistoryConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """What of earlier turns and sessions can be found."""

    kinds: tuple[HistoryKind, ...] = (
        "user_text",
        "assistant_text",
        "tool_input",
        "tool_error",
        "tool_value",
    )


class GoalConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How it is judged whether the goal of a session is reached; None leaves the built-in limit."""

    judge: str | None = None
    """The model that judges: `provider/model` or the name of a group. None: `small_model` where
    one is set, else the model of the session."""
    reentries: Count | None = None
    """Times that the judge may send a session on until a person speaks."""
    seconds: Positive | None = None
    """How long one judgement may take."""


class MaxModeConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How a step is chosen from several that are proposed; None leaves what is built in."""

    on: bool = False
    """For every prompt to a session's own actor that says nothing else."""
    candidates: Candidates | None = None
    judge: str | None = None
    """The model that chooses: `provider/model` or the name of a group. None: the session's."""
    seconds: Positive | None = None
    """How long one candidate may take, its retries included."""


class RetentionConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How many days things are kept; None keeps them. A server looks once an hour; a run, when it
    ends, once a day, for outputs alone.
    """

    sessions: Positive | None = None
    """Since they were last used. One that works, has sessions below it, or has a working tree of
    its own stays."""
    inbox: Positive | None = None
    """Delivered, rejected and expired mail. Queued mail is never removed."""
    queued: Positive | None = None
    """Mail that nobody reads: it expires then, and its sender is told."""
    outputs: Positive | None = 7
    """Tool outputs that were spilled to files. Of the user's own configuration alone, like
    `snapshots`."""
    snapshots: Positive | None = 30
    """What undo needs of a session, since that was last used."""


class OtlpConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """A receiver of OTLP over HTTP. What is left open, the variables `OTEL_EXPORTER_OTLP_*` say."""

    endpoint: str | None = None
    """Its address without `/v1/traces`, for example `http://localhost:4318`."""
    headers: dict[str, str] = {}


class TelemetryConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Where numbers about turns are sent; nothing is sent unless this or a variable says so."""

    otlp: OtlpConfig | bool | None = None
    """None: only where a variable names a receiver; false: not even there."""


class ModelGroup(Struct, frozen=True, forbid_unknown_fields=True):
    """Several models of one use."""

    default: str
    """`provider/model`: what the group means, unless it has one of the asker's own provider."""
    models: tuple[str, ...] = ()


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    """What is in force after all layers are merged."""

    schema: str | None = field(default=None, name="$schema")
    model: str | None = None
    """`provider/model` of new sessions."""
    small_model: str | None = None
    """`provider/model` for titles and summaries."""
    model_groups: dict[str, str | ModelGroup] = {}
    """Models by use, `provider/model` each: `ultra`, `standard`, `lite` and others. A name of a
    group may stand wherever a model is named; those three need not be set."""
    default_agent: str | None = None
    username: str | None = None
    """Not read."""
    provider: dict[str, ProviderConfig] = {}
    enabled_providers: tuple[str, ...] | None = None
    disabled_providers: tuple[str, ...] = ()
    agent: dict[str, AgentConfig] = {}
    command: dict[str, CommandConfig] = {}
    hook: dict[str, HookConfig] = {}
    """By name; of a name that several layers use the last one counts, whole."""
    permission: PermissionMap | None = None
    """Merged for display only: what decides are `Loaded.permissions`, layer by layer."""
    mcp: dict[str, dict[str, Any]] = {}
    """Not read."""
    instructions: tuple[str, ...] = ()
    """Files and globs, of all layers together; addresses are passed over."""
    share: Literal["manual", "auto", "disabled"] | None = None
    """Not read, nor is `autoupdate`."""
    snapshot: bool = True
    """Whether what tools change in files is noted, so that it can be undone."""
    autoupdate: bool | Literal["notify"] | None = None
    tools: dict[str, bool] = {}
    """Deprecated by OpenCode; false becomes a permission deny."""
    tool: ToolSettings = ToolSettings()
    compaction: CompactionConfig = CompactionConfig()
    checkpoint: CheckpointConfig = CheckpointConfig()
    server: ServerConfig = ServerConfig()
    experimental: dict[str, Any] = {}
    """Not read, nor is `plugin`."""
    plugin: tuple[str | tuple[str, dict[str, Any]], ...] = ()
    skills: SkillsConfig = SkillsConfig()
    watcher: WatcherConfig = WatcherConfig()
    formatter: bool | dict[str, dict[str, Any]] | None = None
    """Not read, nor is `lsp`."""
    lsp: bool | dict[str, dict[str, Any]] | None = None
    log_level: Literal["DEBUG", "INFO", "WARN", "ERROR"] | None = field(
        default=None, name="logLevel"
    )
    limits: LimitsConfig = LimitsConfig()
    actors: ActorsConfig = ActorsConfig()
    memory: MemoryConfig = MemoryConfig()
    history: HistoryConfig = HistoryConfig()
    goal: GoalConfig = GoalConfig()
    max_mode: MaxModeConfig = MaxModeConfig()
    try_best: Literal["pause", "continue", "off"] = "pause"
    """What becomes of a turn that gets nowhere: it waits for a person, is told to try another way,
    or is left alone."""
    uncommitted_hint: bool = False
    """Whether a turn in which tools ran is told at its end what is not committed."""
    retention: RetentionConfig = RetentionConfig()
    telemetry: TelemetryConfig = TelemetryConfig()
    """Of the folder that a process begins in, since it counts all that the process does."""
    keybinds: Any = None
    """Not read, nor are `theme` and `tui`."""
    theme: Any = None
    tui: Any = None
