"""Instructions of folders are told with the first call that goes there."""

from terminal_user import User

from scripted_model.scenario import Call, Parallel, scenario
from scripted_model.server import ScriptedModel

RULE = "In here every function is named in Latin."


def sent(model: ScriptedModel) -> list[str]:
    """The bodies of the requests that were shown tools, in order."""
    return [one.request.body.decode() for one in model.requests if one.request.tools]


def prepare(user: User) -> None:
    folder = user.folder / "api"
    (folder / "v1").mkdir(parents=True)
    (folder / "AGENTS.md").write_text(RULE)
    for name in ("a.py", "b.py", "v1/c.py"):
        (folder / name).write_text("x = 1\n")


def read(path: str) -> Call:
    return Call("read", {"filePath": path})


def test_the_rules_of_a_folder_come_once_and_in_the_next_run_not_again(
    user: User, model: ScriptedModel
) -> None:
    prepare(user)
    model.use(scenario(read("api/a.py"), read("api/v1/c.py"), "Done."))
    assert user.run("run", "look").code == 0
    first, second, third = sent(model)
    assert RULE not in first
    assert second.count(RULE) == 1
    assert third.count(RULE) == 1
    model.use(scenario(read("api/b.py"), "Done."))
    assert user.run("run", "-c", "and b").code == 0
    assert [one.count(RULE) for one in sent(model)[3:]] == [1, 1]


def test_two_calls_of_one_step_are_told_once(user: User, model: ScriptedModel) -> None:
    prepare(user)
    model.use(scenario(Parallel((read("api/a.py"), read("api/b.py"))), "Done."))
    assert user.run("run", "look").code == 0
    assert sent(model)[1].count(RULE) == 1


def test_an_edit_is_told_them_too_and_the_file_itself_is_not_told_twice(
    user: User, model: ScriptedModel
) -> None:
    prepare(user)
    write = Call("write", {"filePath": "api/new.py", "content": "y = 2\n"})
    model.use(scenario(read("api/AGENTS.md"), write, "Done."))
    assert user.run("run", "write").code == 0
    bodies = sent(model)
    assert "Instructions from" not in bodies[1].split("api/AGENTS.md", 1)[1]
    assert bodies[2].count("which hold for what lies below") == 1


def test_they_are_told_again_once_the_conversation_was_shortened(
    user: User, model: ScriptedModel
) -> None:
    prepare(user)
    model.use(scenario(read("api/a.py"), "Seen."))
    assert user.run("run", "look").code == 0
    for n in range(3):
        model.use(scenario(f"Said {n}."))
        assert user.run("run", "-c", f"say {n} " + "word " * 400).code == 0
    model.use(
        scenario("# Intent\nTo look at api/a.py. # State\nIt was read, and it holds one line.")
    )
    done = user.call("compact")
    assert done.code == 0, done.err
    before = len(sent(model))
    model.use(scenario(read("api/b.py"), "Done."))
    assert user.run("run", "-c", "go on").code == 0
    asked, told = sent(model)[before:]
    assert RULE not in asked
    assert told.count(RULE) == 1
