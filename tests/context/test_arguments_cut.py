"""Arguments of calls that stay in view are cut wherever in them a text lies."""

from step_samples import step

from roost.context.estimate import tokens_of
from roost.context.trimming import trimmed
from roost.sessions.parts import ToolCompleted, ToolPart, ToolTime

LONG = "a brief that goes on and on. " * 400


def test_texts_that_lie_deep_in_arguments_are_cut_too() -> None:
    operation = {"action": "spawn", "prompt": LONG, "more": [LONG, 3, None]}
    state = ToolCompleted({"operation": operation}, "ok", "ran", {}, ToolTime(1, 2))
    call = ToolPart("prt_1", "ses_1", "msg_1", "call_1", "actor", state)
    message = step(call)
    cut = trimmed(message, 600)
    assert tokens_of(cut) < 800 < tokens_of(message)
    (part,) = (one for one in cut.parts if isinstance(one, ToolPart))
    shown = part.state.input["operation"]
    assert (shown["action"], shown["more"][1:]) == ("spawn", [3, None])
    assert shown["prompt"].startswith("a brief that goes on")
    assert "characters left out" in shown["prompt"]
