"""Skills from the command line: listed, shown, told to a model, loaded by it and by a prompt."""

import json

from terminal_user import User

from scripted_model.scenario import Call, scenario
from scripted_model.server import ScriptedModel


def sent(model: ScriptedModel) -> list[str]:
    """The bodies of the requests that were shown tools, in order."""
    return [one.request.body.decode() for one in model.requests if one.request.tools]


def skill(user: User, place: str, name: str, body: str = "Knead for ten minutes.") -> None:
    folder = user.folder / place / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(
        f"---\nname: {name}\ndescription: How to make {name}.\nodd: 1\n---\n{body}\n"
    )


def listed(user: User) -> dict[str, str]:
    done = user.call("skills", "--json")
    assert done.code == 0, done.err
    return {one["name"]: one["from"] for one in json.loads(done.out)}


def test_a_repositorys_skills_are_listed_and_told_once_it_is_trusted(
    user: User, model: ScriptedModel
) -> None:
    skill(user, ".roost/skills", "bread")
    skill(user, ".agents/skills", "soup")
    assert "bread" not in listed(user)
    assert "not in force until you trust them (skills)" in user.call("skills").err
    model.use(scenario("Hello."))
    assert user.run("run", "hello").code == 0
    assert user.call("config", "trust").code == 0
    assert listed(user)["bread"] == listed(user)["soup"] == "project"
    model.use(scenario("Hello."))
    assert user.run("run", "hello").code == 0
    before, after = sent(model)
    assert "- run-the-tests: " in before
    assert "- bread: " not in before
    assert "- bread: How to make bread." in after
    shown = user.call("skills", "show", "bread").out
    assert "Knead for ten minutes." in shown
    assert "keys that Roost does not know are passed over: odd" in shown


def test_a_model_loads_a_skill_and_reads_its_files_unasked(
    user: User, model: ScriptedModel
) -> None:
    skill(user, "../.agents/skills", "bread")
    folder = (user.folder / "../.agents/skills/bread").resolve()
    (folder / "oven.txt").write_text("hot stones\n")
    model.use(
        scenario(
            Call("skill", {"name": "make bread"}),
            Call("read", {"filePath": str(folder / "oven.txt")}),
            "Done.",
        )
    )
    done = user.run("run", "bake")
    assert done.code == 0, done.err
    bodies = sent(model)
    assert "Knead for ten minutes." in bodies[1]
    assert "hot stones" in bodies[2]
    assert "skill" in done.err


def test_a_prompt_names_skills_and_they_come_with_it(user: User, model: ScriptedModel) -> None:
    skill(user, "../.agents/skills", "bread")
    model.use(scenario("Done."))
    done = user.run("run", "/bread for two")
    assert done.code == 0
    assert "with the skill bread (" in done.err
    model.use(scenario("Done."))
    assert user.run("run", "first /bread, then /write-a-commit").code == 0
    one, two = sent(model)
    assert "/bread for two" in one
    assert one.count("Knead for ten minutes.") == 1
    assert "in which order you use them" not in one
    assert "Knead for ten minutes." in two
    assert "# Skill: write-a-commit" in two
    assert "in which order you use them" in two


def test_a_denied_skill_is_not_listed_and_not_loaded(user: User, model: ScriptedModel) -> None:
    known = json.loads(user.environment["ROOST_CONFIG_CONTENT"])
    rules = {"permission": {"skill": {"run-*": "deny"}}}
    user.environment["ROOST_CONFIG_CONTENT"] = json.dumps(known | rules)
    model.use(scenario(Call("skill", {"name": "run-the-tests"}), "No."))
    assert user.run("run", "go").code == 0
    first, second = sent(model)
    assert "- run-the-tests: " not in first
    assert "- write-a-commit: " in first
    assert "# Skill: run-the-tests" not in second
    assert "denied" in second


def test_what_a_trusted_repository_says_of_skills_is_told_to_be_of_no_use(
    user: User, model: ScriptedModel
) -> None:
    (user.folder / "roost.json").write_text('{"skills": {"claude": true}}')
    assert user.call("config", "trust").code == 0
    assert "what a repository says of `skills` is not read" in user.call("doctor").out
    assert model.requests == []


def test_a_broken_page_is_told_by_doctor_and_stops_nothing(
    user: User, model: ScriptedModel
) -> None:
    skill(user, "../.agents/skills", "Bad Name")
    model.use(scenario("Hello."))
    assert user.run("run", "hello").code == 0
    told = user.call("doctor").out
    assert "'Bad Name' is no name of a skill; it is passed over" in told
    assert "4 skills: 4 built in" in told
    assert "cannot be used" in user.call("skills").err
    missing = user.call("skills", "show", "run-the-test")
    assert missing.code == 2
    assert "run-the-tests" in missing.err
