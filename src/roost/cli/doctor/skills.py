"""Checks of skills: pages that cannot be read, and what of the others is passed over."""

from collections import Counter
from collections.abc import Iterator

from roost.cli.doctor.findings import Finding, ok, warn
from roost.config.loaded import Loaded
from roost.core.amounts import counted
from roost.skills.known import skills_of


def check_skills(loaded: Loaded) -> Iterator[Finding]:
    """The skills of a folder, as its configuration leaves them."""
    found = skills_of(loaded.skills)
    whose = Counter(one.owner for one in found)
    shown = ", ".join(f"{count} {owner}" for owner, count in whose.items())
    yield ok("skills", f"{counted(len(found.known), 'skill')}: {shown or 'none'}")
    for layer in loaded.layers:
        if layer.kind == "project" and "skills" in layer.value:
            words = f"{layer.source}: what a repository says of `skills` is not read"
            yield warn("skills", words, "Put its skills into .roost/skills, or say so in yours.")
    for broken in found.broken:
        yield warn("skills", f"{broken.problem}; it is passed over", broken.hint)
    for skill in found:
        for note in skill.notes:
            yield warn("skills", f"{skill.page}: {note}")
    for skill in found.hidden:
        if skill.owner != "built in":
            near = found.known[skill.name].page
            yield warn("skills", f"{skill.page} is not used: {near} has its name")
