"""How many actors there may be, how long they may be silent, what becomes of the interrupted."""

from typing import Final, Literal

from msgspec import Struct

from roost.config.models import ActorsConfig

DEPTH: Final = 3
CHILDREN: Final = 32
RUNNING: Final = 16
STALL_SECONDS: Final = 360
"""p99.9 of the silences of healthy actors is under 300 s."""
HOPS: Final = 200
ASK_SECONDS: Final = 300
RESUMES: Final = 3
"""Times in a row that an actor goes on after its process died."""


class ActorLimits(Struct, frozen=True, kw_only=True):
    """The limits of one session's actors; `ActorsConfig` says what each is for."""

    depth: int = DEPTH
    children: int = CHILDREN
    running: int = RUNNING
    stall_seconds: int = STALL_SECONDS
    hops: int = HOPS
    ask_seconds: int = ASK_SECONDS
    recovery: Literal["resume", "fail"] = "resume"

    @classmethod
    def of(cls, config: ActorsConfig) -> "ActorLimits":
        """The limits of a configuration, with the built-in ones where it says nothing."""
        fields = {name: getattr(config, name) for name in cls.__struct_fields__}
        return cls(**{name: value for name, value in fields.items() if value is not None})
