"""Skills over HTTP: listed as OpenCode lists them, and run as commands."""

from pathlib import Path

from server_stage import Served, on_server
from test_commands_over_http import heard, run


def test_skills_are_listed_with_their_text_and_among_the_commands(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        listed = (await stage.http.get("/skill")).json()
        one = next(one for one in listed if one["name"] == "run-the-tests")
        assert set(one) == {"name", "description", "location", "content"}
        assert one["location"].endswith("/run-the-tests/SKILL.md")
        assert one["content"].startswith("Find the repository's own way")
        located = (await stage.http.get("/api/skill")).json()
        assert located["data"] == listed
        commands = {one["name"]: one for one in (await stage.http.get("/command")).json()}
        assert commands["run-the-tests"]["source"] == "skill"
        assert commands["run-the-tests"]["hints"] == ["$ARGUMENTS"]

    on_server(tmp_path, check)


def test_a_skill_that_is_run_as_a_command_comes_with_the_words_behind_it(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        answer = await run(stage, "run-the-tests", "of the parser")
        assert answer.status_code == 200, answer.text
        assert heard(stage).startswith("/run-the-tests of the parser")
        said = "\n".join(stage.model.requests[-1].request.user_texts)
        assert '<skill_content name="run-the-tests">' in said

    on_server(tmp_path, check)
