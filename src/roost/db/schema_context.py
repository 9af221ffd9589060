"""The tables of long conversations. Times are milliseconds since the epoch."""

from typing import Final

# A checkpoint of an actor's conversation; see `context/checkpoints.py`.
_CHECKPOINT: Final = """
CREATE TABLE checkpoint (
  session_id TEXT NOT NULL,
  actor_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  state TEXT NOT NULL,
  message_id TEXT NOT NULL,
  writer TEXT,
  body TEXT NOT NULL,
  tokens BIGINT NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  created BIGINT NOT NULL,
  ended BIGINT,
  PRIMARY KEY (session_id, actor_id, version),
  FOREIGN KEY (session_id, actor_id) REFERENCES actor (session_id, actor_id) ON DELETE CASCADE
)"""

# What was last gathered without a model; see `context/ledger.py`.
_LEDGER: Final = """
CREATE TABLE ledger (
  session_id TEXT NOT NULL,
  actor_id TEXT NOT NULL,
  message_id TEXT NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (session_id, actor_id),
  FOREIGN KEY (session_id, actor_id) REFERENCES actor (session_id, actor_id) ON DELETE CASCADE
)"""

CONTEXT_TABLES: Final = (
    "CREATE INDEX part_compaction ON part (session_id) WHERE type = 'compaction'",
    _CHECKPOINT,
    _LEDGER,
)
