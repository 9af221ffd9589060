"""The tool `plan_exit`: proposes to the person that the planned work begins."""

from typing import ClassVar, Final

from msgspec import Struct

from roost.core.errors import DeniedError
from roost.core.text import clean
from roost.tools.contract import Option, Question, Tool, ToolContext, ToolError, ToolOutput

NAME: Final = "plan_exit"
YES: Final = "Yes"
NO: Final = "No"


class PlanExitArguments(Struct, frozen=True):
    """Nothing has to be said: the plan is where it belongs."""


class PlanExitTool(Tool[PlanExitArguments]):
    """Asks whether the plan is to be carried out, and lets the work begin if so.

    OpenCode's terminal switches to its agent `build` when a call of this name completes, so every
    answer but a yes is an error.
    """

    name: ClassVar[str] = NAME
    parameters: ClassVar[type[Struct]] = PlanExitArguments
    permission: ClassVar[str] = NAME

    async def run(self, arguments: PlanExitArguments, context: ToolContext) -> ToolOutput:
        """Wait for the answer."""
        del arguments
        plan = context.plan
        if words := plan.refusal():
            raise ToolError(words)
        if not (context.root / plan.file).is_file():
            raise ToolError(f"There is no plan yet. Write it to {plan.file}, then call again.")
        answer = await _answer(context)
        if answer == NO:
            raise ToolError("The user wants to go on planning. Ask what is to be changed.")
        if answer != YES:
            raise ToolError(f"Not yet. The user says of the plan: {answer}")
        stored = await plan.agreed()
        return ToolOutput(
            f"The user agrees. The agent {plan.successor} carries out the plan in {plan.file}.",
            f"Plan agreed: {plan.file}",
            {"plan": plan.file, "agent": plan.successor},
            stored=stored,
        )


async def _answer(context: ToolContext) -> str:
    plan = context.plan
    question = Question(
        question=f"The plan is in {plan.file}. Shall the agent {plan.successor} carry it out?",
        header="Plan",
        options=(
            Option(YES, "Leave plan mode and begin the work"),
            Option(NO, "Go on planning"),
        ),
    )
    try:
        ((*labels,),) = await context.question((question,))
    except DeniedError as error:
        raise ToolError(
            "Nobody is there to agree to the plan, so plan mode stays.",
            hint=f"End with the path of the plan ({plan.file}) and its steps. The user begins the"
            f" work with: roost run --continue --agent {plan.successor} …",
        ) from error
    return clean(", ".join(labels)).strip() or NO
