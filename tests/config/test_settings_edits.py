"""Settings files changed by a program: merged, checked, put in place at once."""

import stat
import threading
from pathlib import Path

import pytest

from roost.config.edit import change_settings, merged, settings_file
from roost.config.keys import forget_key, store_key
from roost.config.show import MASK
from roost.core.errors import ConfigError, ConflictError, UsageError


def test_objects_are_merged_null_takes_out_and_a_mask_changes_nothing() -> None:
    old = {"model": "a/b", "agent": {"x": {"steps": 3, "mode": "all"}}, "keep": MASK}
    new = {"model": None, "agent": {"x": {"steps": 4}, "y": {}}, "keep": MASK, "user": 1}
    assert merged(old, new) == {
        "agent": {"x": {"steps": 4, "mode": "all"}, "y": {}},
        "keep": MASK,
        "user": 1,
    }


@pytest.mark.parametrize("name", ["roost.jsonc", "opencode.json"])
def test_the_file_that_holds_the_settings_is_the_one_that_is_changed(
    tmp_path: Path, name: str
) -> None:
    assert settings_file(tmp_path) == tmp_path / "roost.json"
    (tmp_path / name).write_text('{"username": "kim"}')
    assert settings_file(tmp_path) == tmp_path / name
    change_settings(tmp_path / name, {"username": "lee"})
    assert (tmp_path / name).read_text() == '{\n  "username": "lee"\n}\n'


def test_a_change_that_makes_no_configuration_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "roost.json"
    change_settings(file, {"username": "kim"})
    with pytest.raises(ConfigError, match="username"):
        change_settings(file, {"username": ["kim"]})
    with pytest.raises(ConfigError, match="unheard"):
        change_settings(file, {"unheard": 1})
    assert "kim" in file.read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["roost.json"]


def test_comments_are_never_lost(tmp_path: Path) -> None:
    file = tmp_path / "roost.jsonc"
    file.write_text('{"username": "kim", /* me */}')
    with pytest.raises(ConflictError, match="comments"):
        change_settings(file, {"username": "lee"})
    assert file.read_text() == '{"username": "kim", /* me */}'


def test_a_link_goes_on_pointing_at_the_changed_file_with_its_mode(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "roost.json"
    real.write_text("{}")
    real.chmod(0o644)
    link.symlink_to(real)
    change_settings(link, {"username": "kim"})
    assert link.is_symlink()
    assert "kim" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o644


def test_changes_at_the_same_time_are_all_there(tmp_path: Path) -> None:
    names = [f"p{number}" for number in range(8)]
    threads = [threading.Thread(target=store_key, args=(tmp_path, name, "k")) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert [forget_key(tmp_path, name) for name in names] == [True] * len(names)
    assert forget_key(tmp_path, names[0]) is False


def test_the_name_of_a_provider_is_a_word(tmp_path: Path) -> None:
    for name in ("", "a b", "../x", "x" * 101):
        with pytest.raises(UsageError):
            store_key(tmp_path, name, "key")
