"""Slash commands, mentions and questions aside, as a person types them."""

import json
import signal

import pytest
from terminal_user import User, ended

from roost.cli.run.spoken import Slash, slash_in
from scripted_model.picture import Request
from scripted_model.scenario import Barrier, Reply, Text, reply, scenario
from scripted_model.server import ScriptedModel


def write_command(user: User, name: str, text: str) -> None:
    file = user.home / "config" / "commands" / f"{name}.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def heard(model: ScriptedModel) -> str:
    return model.requests[-1].request.last_user_text


@pytest.mark.parametrize(
    ("text", "slash"),
    [
        ("/review", Slash("review")),
        ("  /git/commit the fix\nnow ", Slash("git/commit", "the fix\nnow")),
        ("/ review", None),
        ("// a comment", None),
        ("see /review", None),
    ],
)
def test_a_line_that_begins_with_a_slash_names_a_command(text: str, slash: Slash | None) -> None:
    assert slash_in(text) == slash


def test_a_command_is_run_by_its_name_and_by_its_option(user: User, model: ScriptedModel) -> None:
    model.use(scenario(default="Reviewed."))
    write_command(user, "review", "---\nagent: plan\n---\nReview $1, listed as: !`ls $1`.")
    (user.folder / "a.py").write_text("x")
    for words in (["/review a.py"], ["--command", "review", "a.py"], ["/review", "a.py"]):
        done = user.run("run", *words)
        assert (done.code, done.out) == (0, "Reviewed.\n"), done.err
        assert "> plan" in done.err
        assert heard(model).startswith("Review a.py, listed as: a.py.")
    done = user.run("run", "--agent", "build", "/review a.py")
    assert "> build" in done.err
    done = user.run("run", "--command", "/review", given="a.py\n")
    assert done.code == 0, done.err
    assert heard(model).startswith("Review a.py, listed as: a.py.")


def test_a_command_may_name_a_group_of_models(user: User, model: ScriptedModel) -> None:
    model.use(scenario(default="Said."))
    content = json.loads(user.environment["ROOST_CONFIG_CONTENT"])
    content["model_groups"] = {"quick": "test/tiny"}
    user.environment["ROOST_CONFIG_CONTENT"] = json.dumps(content)
    write_command(user, "say", "---\nmodel: quick\n---\nSay it.")
    done = user.run("run", "/say")
    assert done.code == 0, done.err
    assert "> build · test/tiny" in done.err
    assert "> build · test/scripted" in user.run("run", "-m", "test/scripted", "/say").err
    write_command(user, "say", "---\nmodel: unheard-of\n---\nSay it.")
    done = user.run("run", "/say")
    assert done.code == 2
    assert "'unheard-of' names no provider" in done.err


def test_an_unknown_command_is_told_and_paths_are_words(user: User, model: ScriptedModel) -> None:
    model.use(scenario(default="Hm."))
    write_command(user, "review", "Review.")
    done = user.run("run", "/revew it")
    assert done.code == 2
    assert "there is no command /revew. Did you mean /review?" in done.err
    assert "let something stand before the slash" in done.err
    assert user.run("run", "--command", "nope").code == 2
    assert model.requests == []
    for words in ("/usr/bin/env is broken", "/tmp is full"):
        assert user.run("run", words).code == 0
        assert heard(model) == words


def test_what_a_command_may_not_run_is_refused_and_allowed_by_yes(
    user: User, model: ScriptedModel
) -> None:
    model.use(scenario(default="Done."))
    write_command(user, "make", "Go on. !`touch made`")
    done = user.run("run", "/make")
    assert done.code == 2 or done.code == 1
    assert "the command /make runs `touch made`, which is not allowed" in done.err
    assert not (user.folder / "made").exists()
    assert model.requests == []
    assert user.run("run", "--yes", "/make").code == 0
    assert (user.folder / "made").exists()


def test_files_and_agents_are_named_with_an_at_sign(user: User, model: ScriptedModel) -> None:
    model.use(scenario(default="Seen."))
    (user.folder / "a.py").write_text("one\ntwo\nthree\n")
    done = user.run("run", "Let @explore compare @a.py#2-3 with @gone/b.py, not @dataclass.")
    assert done.code == 0, done.err
    said = heard(model)
    assert "The user mentions the agent explore" in said
    assert "Lines 2 to 3 of" in said
    assert "@gone/b.py: nothing of that name" in said
    assert "@gone/b.py: nothing of that name" in done.err
    assert "dataclass" not in done.err
    done = user.run("run", "Ask @explor.")
    assert "did you mean @explore?" in done.err


def talk(request: Request) -> Reply:
    if "The question:" in request.all_text:
        return reply("It was the kestrel.")
    return reply("Noted.")


def test_a_question_aside_is_answered_and_the_session_keeps_no_trace(
    user: User, model: ScriptedModel
) -> None:
    model.use(talk)
    assert user.run("run", "Remember the kestrel.").code == 0
    before = user.call("sessions", "export").out
    for words in (["btw", "which", "word?"], ["run", "-c", "/btw which word?"]):
        done = user.run(*words)
        assert (done.code, done.out) == (0, "It was the kestrel.\n"), done.err
        assert "aside of ses_" in done.err
        assert "tokens" in done.err
        assert "$" in done.err
    told = json.loads(user.run("btw", "--json", "which word?").out)
    assert told["answer"] == "It was the kestrel."
    assert told["cost"] > 0
    assert told["sessionID"].startswith("ses_")
    assert user.call("sessions", "export").out == before


def test_a_question_aside_ends_with_its_time_and_with_ctrl_c(
    user: User, model: ScriptedModel
) -> None:
    model.use(scenario("Noted.", default=[Text("Hm."), Barrier("thinking"), Text("Late.")]))
    assert user.run("run", "Remember the kestrel.").code == 0
    before = user.call("sessions", "export").out
    done = user.run("btw", "--time-limit", "1", "which word?")
    assert done.code == 124
    assert "took too long" in done.err
    process = user.start("btw", "which word?")
    model.wait_for_requests(3)
    process.send_signal(signal.SIGINT)
    assert ended(process).code == 130
    assert user.call("sessions", "export").out == before
    nothing = user.run("btw", "-s", "ses_none", "why?")
    assert nothing.code == 2
