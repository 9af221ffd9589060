"""The tables, migration by migration. Times are milliseconds since the epoch."""

from typing import Final

_SESSION: Final = """
CREATE TABLE session (
  id TEXT PRIMARY KEY,
  project_id TEXT NOT NULL,
  parent_id TEXT REFERENCES session (id) ON DELETE CASCADE,
  directory TEXT NOT NULL,
  slug TEXT NOT NULL,
  title TEXT NOT NULL,
  title_source TEXT NOT NULL,
  permission TEXT,
  version TEXT NOT NULL,
  revision INTEGER NOT NULL DEFAULT 0,
  cancel_epoch INTEGER NOT NULL DEFAULT 0,
  created BIGINT NOT NULL,
  updated BIGINT NOT NULL,
  archived BIGINT
)"""

_ACTOR: Final = """
CREATE TABLE actor (
  session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  actor_id TEXT NOT NULL,
  mode TEXT NOT NULL,
  fronts INTEGER NOT NULL,
  parent_session_id TEXT,
  parent_actor_id TEXT,
  agent TEXT NOT NULL,
  description TEXT NOT NULL DEFAULT '',
  model TEXT,
  variant TEXT,
  lifecycle TEXT NOT NULL,
  background INTEGER NOT NULL DEFAULT 0,
  context_mode TEXT NOT NULL DEFAULT 'none',
  context_watermark TEXT,
  tools TEXT,
  task_id TEXT,
  depth INTEGER NOT NULL DEFAULT 0,
  status TEXT NOT NULL,
  owner TEXT,
  fence INTEGER NOT NULL DEFAULT 0,
  lease_until BIGINT NOT NULL DEFAULT 0,
  cancel TEXT,
  retry TEXT,
  last_activity BIGINT NOT NULL,
  current_turn TEXT,
  turns INTEGER NOT NULL DEFAULT 0,
  created BIGINT NOT NULL,
  PRIMARY KEY (session_id, actor_id)
)"""

_TURN: Final = """
CREATE TABLE turn (
  id TEXT PRIMARY KEY,
  session_id TEXT NOT NULL,
  actor_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  reason TEXT NOT NULL,
  phase TEXT NOT NULL,
  outcome TEXT,
  reported_status TEXT,
  summary TEXT,
  result_message_id TEXT,
  error TEXT,
  budgets TEXT NOT NULL,
  steps INTEGER NOT NULL DEFAULT 0,
  tokens BIGINT NOT NULL DEFAULT 0,
  cost DOUBLE PRECISION NOT NULL DEFAULT 0,
  started BIGINT NOT NULL,
  ended BIGINT,
  FOREIGN KEY (session_id, actor_id) REFERENCES actor (session_id, actor_id) ON DELETE CASCADE,
  UNIQUE (session_id, actor_id, number)
)"""

_INBOX: Final = """
CREATE TABLE inbox (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  receiver_session TEXT NOT NULL,
  receiver_actor TEXT NOT NULL,
  sender_session TEXT,
  sender_actor TEXT,
  sender_turn TEXT,
  kind TEXT NOT NULL,
  body TEXT NOT NULL,
  reply_to TEXT,
  key TEXT,
  wake INTEGER NOT NULL DEFAULT 1,
  state TEXT NOT NULL,
  message_id TEXT,
  turn_id TEXT,
  created BIGINT NOT NULL,
  delivered BIGINT,
  FOREIGN KEY (receiver_session, receiver_actor)
    REFERENCES actor (session_id, actor_id) ON DELETE CASCADE,
  UNIQUE (receiver_session, receiver_actor, key)
)"""

_MESSAGE: Final = """
CREATE TABLE message (
  id TEXT PRIMARY KEY,
  session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  actor_id TEXT NOT NULL,
  turn_id TEXT,
  seq INTEGER NOT NULL,
  role TEXT NOT NULL,
  is_open INTEGER NOT NULL,
  data TEXT NOT NULL,
  UNIQUE (session_id, seq)
)"""

_PART: Final = """
CREATE TABLE part (
  id TEXT PRIMARY KEY,
  message_id TEXT NOT NULL REFERENCES message (id) ON DELETE CASCADE,
  session_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  type TEXT NOT NULL,
  data TEXT NOT NULL,
  UNIQUE (message_id, seq)
)"""

# Text that is still streaming is appended here and folded into its part when the part ends, so that
# the bytes written grow with the text and not with its square.
_PART_TAIL: Final = """
CREATE TABLE part_tail (
  part_id TEXT NOT NULL REFERENCES part (id) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (part_id, seq)
)"""

_ASK: Final = """
CREATE TABLE ask (
  id TEXT PRIMARY KEY,
  session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  actor_id TEXT NOT NULL,
  turn_id TEXT,
  kind TEXT NOT NULL,
  request TEXT NOT NULL,
  state TEXT NOT NULL,
  answer TEXT,
  created BIGINT NOT NULL,
  answered BIGINT
)"""

_PERMISSION_GRANT: Final = """
CREATE TABLE permission_grant (
  project_id TEXT NOT NULL,
  permission TEXT NOT NULL,
  pattern TEXT NOT NULL,
  created BIGINT NOT NULL,
  PRIMARY KEY (project_id, permission, pattern)
)"""

_TASK: Final = """
CREATE TABLE task (
  session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  parent_id TEXT,
  seq INTEGER NOT NULL,
  summary TEXT NOT NULL,
  status TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  owner TEXT,
  created BIGINT NOT NULL,
  updated BIGINT NOT NULL,
  PRIMARY KEY (session_id, id)
)"""

FIRST_TABLES: Final = (
    _SESSION,
    "CREATE INDEX session_by_update ON session (updated)",
    "CREATE INDEX session_by_parent ON session (parent_id)",
    _ACTOR,
    "CREATE INDEX actor_by_owner ON actor (owner)",
    _TURN,
    _INBOX,
    "CREATE INDEX inbox_by_receiver ON inbox (receiver_session, receiver_actor, state, seq)",
    "CREATE INDEX inbox_by_key ON inbox (key)",
    _MESSAGE,
    "CREATE INDEX message_by_actor ON message (session_id, actor_id, seq)",
    "CREATE INDEX message_open ON message (session_id, actor_id) WHERE is_open = 1",
    _PART,
    "CREATE INDEX part_by_session ON part (session_id)",
    _PART_TAIL,
    _ASK,
    "CREATE INDEX ask_by_state ON ask (state, session_id)",
    _PERMISSION_GRANT,
    _TASK,
)

# Who spawns whom: ids from a counter, the tree that shares its budgets, what an actor waits for.
_ACTOR_COUNTER: Final = """
CREATE TABLE actor_counter (
  session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  agent TEXT NOT NULL,
  last INTEGER NOT NULL,
  PRIMARY KEY (session_id, agent)
)"""

_TREE: Final = """
CREATE TABLE tree (
  session_id TEXT NOT NULL,
  actor_id TEXT NOT NULL,
  limits TEXT NOT NULL,
  tokens BIGINT NOT NULL DEFAULT 0,
  cost DOUBLE PRECISION NOT NULL DEFAULT 0,
  started BIGINT NOT NULL,
  PRIMARY KEY (session_id, actor_id),
  FOREIGN KEY (session_id, actor_id) REFERENCES actor (session_id, actor_id) ON DELETE CASCADE
)"""

_TEAM: Final = """
CREATE TABLE team (
  id TEXT PRIMARY KEY,
  project_id TEXT NOT NULL,
  name TEXT NOT NULL,
  purpose TEXT NOT NULL DEFAULT '',
  created BIGINT NOT NULL,
  UNIQUE (project_id, name)
)"""

_TEAM_MEMBER: Final = """
CREATE TABLE team_member (
  team_id TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
  session_id TEXT NOT NULL,
  actor_id TEXT NOT NULL,
  role TEXT NOT NULL,
  joined BIGINT NOT NULL,
  PRIMARY KEY (team_id, session_id, actor_id),
  FOREIGN KEY (session_id, actor_id) REFERENCES actor (session_id, actor_id) ON DELETE CASCADE
)"""

# What a directing session has agreed to beforehand for one of its children (`*`: for all).
_APPROVAL_GRANT: Final = """
CREATE TABLE approval_grant (
  session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  child_session_id TEXT NOT NULL,
  created BIGINT NOT NULL,
  PRIMARY KEY (session_id, child_session_id)
)"""

# A directing session has at most one child a topic; `worktree` is where it works if isolated.
_PEER: Final = """
CREATE TABLE peer (
  session_id TEXT PRIMARY KEY REFERENCES session (id) ON DELETE CASCADE,
  parent_session_id TEXT NOT NULL,
  topic TEXT,
  worktree TEXT,
  branch TEXT,
  base TEXT,
  UNIQUE (parent_session_id, topic)
)"""

ACTOR_TABLES: Final = (
    "ALTER TABLE actor ADD COLUMN root_session_id TEXT",
    "ALTER TABLE actor ADD COLUMN root_actor_id TEXT",
    "ALTER TABLE actor ADD COLUMN output_schema TEXT",
    "ALTER TABLE actor ADD COLUMN held INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE actor ADD COLUMN stalled BIGINT",
    "ALTER TABLE actor ADD COLUMN waiting_until BIGINT",
    "ALTER TABLE actor ADD COLUMN resumed INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE turn ADD COLUMN hops INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE inbox ADD COLUMN hops INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE ask ADD COLUMN deadline BIGINT",
    "ALTER TABLE ask ADD COLUMN forced INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX actor_by_parent ON actor (parent_session_id, parent_actor_id)",
    "CREATE INDEX actor_not_idle ON actor (session_id, status) WHERE status != 'idle'",
    "CREATE INDEX inbox_by_sender ON inbox (sender_session, sender_actor, seq)",
    _ACTOR_COUNTER,
    _TREE,
    _TEAM,
    _TEAM_MEMBER,
    _APPROVAL_GRANT,
    _PEER,
)

# The newest of a session is the one in force; a verdict is what a judge said of one, or why it said
# nothing.
_GOAL: Final = """
CREATE TABLE goal (
  id TEXT PRIMARY KEY,
  session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  condition TEXT NOT NULL,
  state TEXT NOT NULL,
  cause TEXT,
  reason TEXT NOT NULL DEFAULT '',
  reentries INTEGER NOT NULL DEFAULT 0,
  most INTEGER,
  created BIGINT NOT NULL,
  updated BIGINT NOT NULL,
  UNIQUE (session_id, number)
)"""

_GOAL_VERDICT: Final = """
CREATE TABLE goal_verdict (
  id TEXT PRIMARY KEY,
  goal_id TEXT NOT NULL REFERENCES goal (id) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  result TEXT NOT NULL,
  reason TEXT NOT NULL,
  model TEXT NOT NULL,
  turn_id TEXT NOT NULL,
  message_id TEXT NOT NULL,
  tokens TEXT NOT NULL,
  cost DOUBLE PRECISION NOT NULL,
  seconds DOUBLE PRECISION NOT NULL,
  created BIGINT NOT NULL,
  UNIQUE (goal_id, number)
)"""

GOAL_TABLES: Final = (
    "ALTER TABLE session ADD COLUMN goal TEXT",
    _GOAL,
    _GOAL_VERDICT,
)

# What is under way or possible with a session of which the end is taken back; see
# `sessions/undo_store.py`.
_UNDO: Final = """
CREATE TABLE undo (
  session_id TEXT PRIMARY KEY REFERENCES session (id) ON DELETE CASCADE,
  data TEXT NOT NULL
)"""

# A file as it was before a session first changed it, and after it last did.
_FILE_CHANGE: Final = """
CREATE TABLE file_change (
  session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  path TEXT NOT NULL,
  before_mode INTEGER,
  before_id TEXT,
  after_mode INTEGER,
  after_id TEXT,
  additions INTEGER NOT NULL,
  deletions INTEGER NOT NULL,
  PRIMARY KEY (session_id, path)
)"""

UNDO_TABLES: Final = (
    "ALTER TABLE session ADD COLUMN summary TEXT",
    "ALTER TABLE session ADD COLUMN revert TEXT",
    "ALTER TABLE session ADD COLUMN reverted_from INTEGER",
    "CREATE INDEX part_patch ON part (session_id) WHERE type = 'patch'",
    _UNDO,
    _FILE_CHANGE,
)

# What the other rows of a turn do not tell; bounded by `actors/traces.py`.
_TURN_TRACE: Final = """
CREATE TABLE turn_trace (
  turn_id TEXT NOT NULL REFERENCES turn (id) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  at BIGINT NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (turn_id, seq)
)"""

TRACE_TABLES: Final = (_TURN_TRACE,)

# How the requests of a session's actors begin, by all that this depends on; see
# `context/prefix.py`.
_PREFIX_SNAPSHOT: Final = """
CREATE TABLE prefix_snapshot (
  session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  profile TEXT NOT NULL,
  revision INTEGER NOT NULL,
  system TEXT NOT NULL,
  tools TEXT NOT NULL,
  tools_hash TEXT NOT NULL,
  created BIGINT NOT NULL,
  updated BIGINT NOT NULL,
  PRIMARY KEY (session_id, profile)
)"""

PREFIX_TABLES: Final = (_PREFIX_SNAPSHOT,)

# Never used: a stop is known by the actors that it hit; see `docs/decisions/008-a-stop-holds.md`.
WITHOUT_EPOCH: Final = ("ALTER TABLE session DROP COLUMN cancel_epoch",)
