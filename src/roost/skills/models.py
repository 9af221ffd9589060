"""What a skill is, and all skills of a folder together."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from roost.config.loaded import SkillOwner


class Skill(Struct, frozen=True, kw_only=True):
    """One skill."""

    name: str
    description: str
    """What it does, and when to use it: what a model chooses by."""
    body: str
    """What is said when it is loaded."""
    page: Path
    """Its `SKILL.md`, absolute."""
    owner: SkillOwner
    aliases: tuple[str, ...] = ()
    """Other names, in any language."""
    license: str = ""
    allowed_tools: tuple[str, ...] = ()
    """As written. They grant nothing: what may be done is a matter of the rules."""
    by_hand: bool = False
    """Only a person loads it, by its name."""
    notes: tuple[str, ...] = ()
    """What of its page is passed over."""

    @property
    def folder(self) -> Path:
        """What its files lie below."""
        return self.page.parent


class BrokenSkill(Struct, frozen=True):
    """A page that is no skill, and so is passed over."""

    page: Path
    problem: str
    hint: str = ""


class Skills(Struct, frozen=True):
    """The skills that can be used in a folder."""

    known: Mapping[str, Skill] = {}
    """By name, in the order of the names."""
    broken: tuple[BrokenSkill, ...] = ()
    hidden: tuple[Skill, ...] = ()
    """Those in whose place a nearer one of the same name is used."""

    def __iter__(self) -> Iterator[Skill]:
        """All that can be used."""
        return iter(self.known.values())

    def named(self, name: str) -> Skill | None:
        """The skill of that name, else the first that goes by it, however it is spelled."""
        if (found := self.known.get(name)) is not None:
            return found
        wanted = name.casefold()
        return next(
            (
                one
                for one in self
                if wanted in {alias.casefold() for alias in (one.name, *one.aliases)}
            ),
            None,
        )
