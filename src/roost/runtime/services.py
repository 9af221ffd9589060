"""What the ports of tools share: the parts of this process that every call of a tool may need."""

from pathlib import Path

from msgspec import Struct

from roost.db.database import Database
from roost.events.bus import Bus
from roost.runtime.model_names import ModelNames
from roost.runtime.project import Projects


class Services(Struct, frozen=True, kw_only=True):
    """The same for all sessions of a process."""

    database: Database
    bus: Bus
    models: ModelNames
    projects: Projects
    spill_folder: Path
    """Where what is too long for a model is kept whole."""
