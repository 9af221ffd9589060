"""Skills that are written into folders, in tests."""

from pathlib import Path

from roost.config.loaded import SkillFile


def write(root: Path, name: str, description: str = "Bakes bread.", body: str = "Knead.") -> Path:
    """A skill below `root`; gives its page."""
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / "SKILL.md"
    page.write_text(f"---\nname: {name}\ndescription: {description}\n---\n{body}\n")
    return page


def given(text: str, path: str = "/x/bread/SKILL.md") -> SkillFile:
    """A page as it was read."""
    return SkillFile(path, text.encode(), "yours")
