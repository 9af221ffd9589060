import asyncio
import logging
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hook_stage import asked, place, post_stop, pre_stop, session_pre

from roost.config.loaded import PluginFile
from roost.hooks import plugins
from roost.hooks.models import Hook, HookReport
from roost.hooks.plugins import installed_plugins, load_plugins, plugin_of
from roost.hooks.runner import Hooks

HEAD = (
    "from roost.hooks.models import Cancel, Continue, Hook, HookFailedError, Matcher\n"
    "import time, asyncio\n"
)
MUTE = "class Mute(Exception):\n    def __str__(self): raise ValueError('no words')\n"


def run(folder: Path, plugin: str) -> HookReport:
    return asked(place(folder, plugin=HEAD + plugin), lambda h: h.pre_stop(pre_stop()))


def one_hook(body: str, options: str = "") -> str:
    return f"{body}\ndef hooks():\n    return [Hook(on='actor.pre_stop', run=check{options})]\n"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("def check(given): return Continue(f'{given.agent}: {given.task}')", "worker: Mend it"),
        ("async def check(given):\n    await asyncio.sleep(0)\n    return Continue('a')", "a"),
        ("def check(given): return None", ""),
        ("def check(given): return Continue('  ')", "It gave no reason."),
        ("class C:\n    def __call__(self, given): return Continue('c')\ncheck = C()", "c"),
    ],
)
def test_a_function_of_a_plugin_answers(tmp_path: Path, body: str, reason: str) -> None:
    where = place(tmp_path, plugin=HEAD + one_hook(body))
    report = asked(where, lambda h: h.pre_stop(pre_stop(task="Mend it")))
    assert report.reason == reason
    assert report.warnings == ()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("def check(given): raise ValueError('why')", "failed (ValueError: why)"),
        ("def check(given): raise TimeoutError('own')", "failed (TimeoutError: own)"),
        ("def check(given): raise SystemExit(3)", "ended with SystemExit"),
        ("def check(given): raise StopIteration", "ended with StopIteration"),
        ("async def check(given): raise asyncio.CancelledError", "ended with CancelledError"),
        ("def check(given): return 'on'", "returned a str; it may return Continue, Cancel or"),
        ("def check(given): return Continue(5)", "gave a reason that is no text"),
        ("def check(given): return Cancel('x')", "answered cancel, which has no meaning"),
        ("def check(): return None", "failed (TypeError: check()"),
        (f"{MUTE}def check(given): raise Mute", "failed (Mute)"),
        (f"{MUTE}async def check(given): raise Mute", "failed (Mute)"),
        (f"{MUTE}class Last(HookFailedError, Mute): pass\ndef check(given): raise Last", "(Last)"),
        (
            "class E(Exception):\n    def __str__(self): raise SystemExit\ndef check(g): raise E",
            "(E)",
        ),
        ("class E(Exception):\n    def __str__(self): return 5\ndef check(given): raise E", "(E)"),
    ],
)
def test_a_function_that_fails_is_told_and_blocks_nothing(
    tmp_path: Path, body: str, said: str
) -> None:
    report = run(tmp_path, one_hook(body))
    assert report.reason == ""
    assert len(report.warnings) == 1
    assert report.warnings[0].startswith("The hook 'mine: check' (actor.pre_stop) ")
    assert said in report.warnings[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def hooks(:", "SyntaxError"),
        ("import no_such_module_here", "No module named 'no_such_module_here'"),
        ("raise SystemExit", "ended with SystemExit"),
        ("x = 1", "it has no function hooks()"),
        ("def hooks(): return 5", "hooks() returns a int, not a list of Hook"),
        ("def hooks(): return ['x']", "hooks() returns a str where a Hook is needed"),
        (HEAD + "def hooks(): return Hook(on='actor.stop', run=print)", "'actor.stop' is no hook"),
        (HEAD + "def hooks(): return Hook(on='session.pre', run=5)", "cannot be called"),
        (HEAD + "def hooks(): return Hook(on='session.pre', run=print, matcher='x')", "no Matcher"),
        (HEAD + "def hooks(): return Hook(on='session.pre', run=print, timeout=0)", "timeout"),
        (HEAD + "def hooks(): return Hook(on='session.pre', run=print, timeout='x')", "timeout"),
        (HEAD + "def hooks(): return [Matcher(agent='(a')]", "the pattern '(a' has a bracket"),
        (f"{MUTE}raise Mute", "Mute"),
        (
            HEAD + "def hooks():\n    while True: yield Hook(on='session.pre', run=print)",
            "hooks() returns more than 100 hooks",
        ),
        (f"{MUTE}def hooks(): raise Mute", "Mute"),
    ],
)
def test_a_faulty_plugin_is_named_once_and_the_others_work(
    tmp_path: Path, text: str, said: str
) -> None:
    good = HEAD + one_hook("def check(given): return Continue('good')")
    where = place(
        tmp_path,
        plugins=(PluginFile("/p/bad.py", text.encode()), PluginFile("/p/ok.py", good.encode())),
    )

    async def twice(hooks: Hooks) -> tuple[HookReport, HookReport]:
        return await hooks.pre_stop(pre_stop()), await hooks.pre_stop(pre_stop())

    first, second = asked(where, twice)
    assert first.reason == second.reason == "good"
    assert len(first.warnings) == 1
    assert first.warnings[0].startswith("The plugin /p/bad.py cannot be used: ")
    assert said in first.warnings[0]
    assert second.warnings == ()


@pytest.mark.parametrize(
    "body",
    [
        "def check(given):\n    while True: time.sleep(0.01)",
        "async def check(given): await asyncio.sleep(3600)",
        "async def check(given): time.sleep(8)",
        (
            "async def check(given):\n"
            "    while True:\n"
            "        try: await asyncio.sleep(3600)\n"
            "        except asyncio.CancelledError: time.sleep(8)"
        ),
    ],
)
def test_the_time_limit_holds_whatever_a_function_does(tmp_path: Path, body: str) -> None:
    started = time.monotonic()
    report = run(tmp_path, one_hook(body, ", timeout=0.2"))
    assert time.monotonic() - started < 5
    assert "did not end within 0.2 s" in report.warnings[0]


def test_words_of_an_error_that_never_come_hold_nobody_up(tmp_path: Path) -> None:
    body = (
        "class Slow(Exception):\n"
        "    def __str__(self):\n"
        "        while True: time.sleep(0.01)\n"
        "def check(given): raise Slow"
    )
    started = time.monotonic()
    report = run(tmp_path, one_hook(body, ", timeout=0.2"))
    assert time.monotonic() - started < 5
    assert "did not end within 0.2 s" in report.warnings[0]


def test_what_an_error_says_at_length_is_told_in_short(tmp_path: Path) -> None:
    report = run(tmp_path, one_hook("def check(given): raise ValueError('x' * 10_000_000)"))
    assert "failed (ValueError: xxx" in report.warnings[0]
    assert len(report.warnings[0]) < 5_000


def test_a_function_that_hangs_is_not_called_a_second_time(tmp_path: Path) -> None:
    body = "def check(given):\n    while True: time.sleep(0.01)"
    where = place(tmp_path, plugin=HEAD + one_hook(body, ", timeout=0.1, name='stuck 1'"))

    async def twice(hooks: Hooks) -> HookReport:
        await hooks.pre_stop(pre_stop())
        return await hooks.pre_stop(pre_stop())

    assert "still works on an earlier call" in asked(where, twice).warnings[0]
    assert [t.name for t in threading.enumerate()].count("hook mine: stuck 1") == 1


def test_the_loop_goes_on_while_a_function_blocks(tmp_path: Path) -> None:
    where = place(tmp_path, plugin=HEAD + one_hook("async def check(given): time.sleep(0.3)"))

    async def both(hooks: Hooks) -> int:
        ticks = 0
        task = asyncio.ensure_future(hooks.pre_stop(pre_stop()))
        while not task.done():
            await asyncio.sleep(0.01)
            ticks += 1
        return ticks

    assert asked(where, both) > 5


def test_a_hanging_function_does_not_keep_the_process_alive(tmp_path: Path) -> None:
    plugin = HEAD + one_hook("def check(given): time.sleep(3600)", ", timeout=0.1")
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "from hook_stage import asked, place, pre_stop\n"
        f"where = place(Path(sys.argv[2]), plugin={plugin!r})\n"
        "print(asked(where, lambda h: h.pre_stop(pre_stop())).warnings)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(Path(__file__).parent), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert "did not end within 0.1 s" in done.stdout


def test_cancelling_waits_for_no_function(tmp_path: Path) -> None:
    where = place(tmp_path, plugin=HEAD + one_hook("async def check(given): time.sleep(8)"))

    async def cancelled(hooks: Hooks) -> float:
        task = asyncio.ensure_future(hooks.pre_stop(pre_stop()))
        await asyncio.sleep(0.2)
        started = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - started

    assert asked(where, cancelled) < 5


def test_a_plugin_chooses_its_actors_and_its_point(tmp_path: Path) -> None:
    text = HEAD + (
        "def hooks():\n"
        "    yield Hook(on='actor.pre_stop', name='a', run=lambda g: Continue('a'),\n"
        "               matcher=Matcher(agent='general'))\n"
        "    yield Hook(on='actor.post_stop', name='b', run=lambda g: Continue('b'))\n"
        "    yield Hook(on='session.pre', name='c', run=lambda g: Cancel('c'))\n"
    )

    async def all_points(hooks: Hooks) -> tuple[str, ...]:
        return (
            (await hooks.pre_stop(pre_stop())).reason,
            (await hooks.pre_stop(pre_stop(agent="general"))).reason,
            (await hooks.post_stop(post_stop())).reason,
            (await hooks.session_pre(session_pre())).refusal,
            str(await hooks.wants("actor.pre_stop", "general", "subagent")),
            str(await hooks.wants("actor.pre_stop", "worker", "subagent")),
        )

    found = asked(place(tmp_path, plugin=text), all_points)
    assert found == ("", "a", "b", "c", "True", "False")


def test_the_users_plugins_come_before_the_repositorys(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "plugins"
    folder.mkdir(parents=True)
    for name in ("zeta", "alpha", "_none"):
        body = f"def check(given): return Continue('{name}')"
        (folder / f"{name}.py").write_text(HEAD + one_hook(body))
    (folder / "folder.py").mkdir()
    report = run(tmp_path, one_hook("def check(given): return Continue('repository')"))
    assert [reason for _, reason in report.reasons] == ["alpha", "zeta", "repository"]
    assert len(report.warnings) == 1
    assert "folder.py: cannot be read" in report.warnings[0]


def test_a_plugin_is_run_from_its_source_and_never_from_compiled_bytes(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "plugins"
    folder.mkdir(parents=True)
    file = folder / "mine.py"
    good = HEAD + one_hook("def check(given): return Continue('source')")
    file.write_text(good.replace("source", "forged"))
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(folder)], check=True)
    status = file.stat()
    file.write_text(good)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    report = asked(place(tmp_path), lambda h: h.pre_stop(pre_stop()))
    assert report.reason == "source"


def test_classes_of_a_plugin_find_its_names(tmp_path: Path) -> None:
    text = (
        "from __future__ import annotations\n" + HEAD + "from dataclasses import dataclass\n"
        "import msgspec\n"
        "class Inner(msgspec.Struct):\n    a: int\n"
        "class Outer(msgspec.Struct):\n    inner: Inner\n"
        "@dataclass\nclass D:\n    x: Inner\n"
        + one_hook(
            "def check(given):\n"
            '    return Continue(str(msgspec.json.decode(\'{"inner":{"a":4}}\', type=Outer)'
            ".inner.a) + __name__[:17])"
        )
    )
    report = asked(place(tmp_path, plugin=text), lambda h: h.pre_stop(pre_stop()))
    assert report.reason == "4roost_plugin_mine"


def test_what_a_plugin_prints_goes_to_the_log(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        run(tmp_path, one_hook("print('loading', 1)\ndef check(given): print('asked')"))
    assert "loading 1" in caplog.text
    assert "asked" in caplog.text
    assert capfd.readouterr().out == ""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages with one that has hooks and one that has none."""
    folder = tmp_path / "site"
    for name, points in (
        ("with-hooks", "[roost.plugins]\nreview = roost_review_hooks\n"),
        ("without", "[console_scripts]\nx = y:z\n"),
    ):
        info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(points)
    body = "def check(given): return Continue('installed')"
    (folder / "roost_review_hooks.py").write_text(HEAD + one_hook(body))
    monkeypatch.syspath_prepend(str(folder))
    return folder


def test_an_installed_package_brings_hooks(installed: Path) -> None:
    (found,) = installed_plugins([str(installed), str(installed / "none")])
    assert found.place == "review of with-hooks"
    loaded = asyncio.run(load_plugins([found]))
    assert loaded.warnings == ()
    assert [(name, hook.on) for name, hook in loaded.hooks] == [("review: check", "actor.pre_stop")]
    assert isinstance(loaded.hooks[0][1], Hook)


def test_a_folder_that_is_only_on_the_module_path_brings_none(installed: Path) -> None:
    """As is the folder that Roost works in, when it is started with `python -m`."""
    assert str(installed) in sys.path
    assert [one.name for one in installed_plugins()] == []


def test_loading_that_hangs_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "LOAD_SECONDS", 0.2)
    plugin = plugin_of(PluginFile("/p/slow.py", b"import time\ntime.sleep(3)\n"))
    loaded = asyncio.run(load_plugins([plugin]))
    assert "did not end within 0.2 s" in loaded.warnings[0]


@pytest.mark.parametrize(
    "points",
    [b"[roost.plugins]\nno equals sign\n", b"[roost.plugins]\n\xff\xfe = bar\n"],
    ids=["not as it should be", "not text"],
)
def test_a_package_whose_description_cannot_be_read_is_named_and_the_others_work(
    tmp_path: Path, points: bytes
) -> None:
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: broken\n")
    (info / "entry_points.txt").write_bytes(points)
    loaded = asyncio.run(load_plugins(installed_plugins([str(tmp_path)])))
    (warning,) = loaded.warnings
    assert "broken-1.0.dist-info cannot be used: its description cannot be read" in warning
