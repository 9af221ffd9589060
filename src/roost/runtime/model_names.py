"""The models of each project by the names that people, configurations and actors give them."""

from collections.abc import Mapping
from pathlib import Path

from roost.llm.choice import choose, default_ref
from roost.llm.client import ModelClient
from roost.llm.groups import ListedChoice, is_derived, list_models, resolve_model_name, small_model
from roost.llm.models import Model
from roost.llm.resolve import ModelSettings, resolve
from roost.runtime.project import Project
from roost.sessions.models import ModelName
from roost.tools.actor_port import ModelView


class _Models:
    """The models of a project by name."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.by_ref: dict[str, Model] = {}


class ModelNames:
    """Models by name; each is resolved once for a project as its configuration was last read."""

    def __init__(self, client: ModelClient, environment: Mapping[str, str]) -> None:
        self._client = client
        self._environment = environment
        self._known: dict[Path, _Models] = {}

    async def choose(self, project: Project, wanted: str | None) -> ModelName:
        """The name of the model to use; looks around when nobody names one.

        Raises `UsageError` or `ConfigError` when it cannot be used.
        """
        settings = _settings(project)
        ref = wanted or settings.model or default_ref(settings, self._environment)
        if ref and not is_derived(ref, settings):
            found = self.resolve(project, ref)
        else:
            found = (await choose(ref, settings, self._environment, self._client)).model
            self._models_of(project)[found.ref] = found
        return ModelName.of(found.ref)

    def named(self, project: Project, name: str | None, beside: ModelName) -> ModelName:
        """What a group, `provider/model` or bare name means to an actor that runs on `beside`;
        None means the same model.

        Raises `UsageError` or `ConfigError`, with words for whoever chose it.
        """
        if name is None:
            return beside
        current, settings = self.resolve(project, beside.ref), _settings(project)
        return ModelName.of(resolve_model_name(name, current, settings, self._environment).ref)

    def to_choose(
        self, project: Project, beside: ModelName, *, vision: bool | None, limit: int
    ) -> list[ModelView]:
        """The models that an actor on `beside` may give to others, the most useful first."""
        current, settings = self.resolve(project, beside.ref), _settings(project)
        found = list_models(current, settings, self._environment, vision=vision, limit=limit)
        return [ModelView(one.ref, _note(one)) for one in found]

    def small(self, project: Project, beside: ModelName) -> Model:
        """The model for titles and summaries beside `beside`."""
        large = self.resolve(project, beside.ref)
        return small_model(large, _settings(project), self._environment)

    def judge(self, project: Project, beside: Model) -> Model:
        """The model that judges the goal of a session on `beside`: the one configured for that, the
        small model where one is set, else the same.

        Raises `UsageError` or `ConfigError` for one that cannot be called.
        """
        config, settings = project.loaded.config, _settings(project)
        name = config.goal.judge or config.small_model
        if name is None:
            return beside
        return resolve_model_name(name, beside, settings, self._environment)

    def chooser(self, project: Project, beside: Model) -> Model:
        """The model that chooses from proposals for `beside`. Raises as `judge` does."""
        name = project.loaded.config.max_mode.judge
        if name is None:
            return beside
        return resolve_model_name(name, beside, _settings(project), self._environment)

    def resolve(self, project: Project, ref: str) -> Model:
        """The model `provider/model`. Raises `ConfigError` if it cannot be called."""
        known = self._models_of(project)
        if ref not in known:
            known[ref] = resolve(ref, _settings(project), self._environment)
        return known[ref]

    def _models_of(self, project: Project) -> dict[str, Model]:
        known = self._known.get(project.directory)
        if known is None or known.project is not project:
            known = self._known[project.directory] = _Models(project)
        return known.by_ref


def _settings(project: Project) -> ModelSettings:
    return ModelSettings.in_force(project.loaded)


def _note(choice: ListedChoice) -> str:
    notes = [f"{choice.context:,} tokens"]
    if choice.input_price or choice.output_price:
        notes.append(f"${choice.input_price:g} in, ${choice.output_price:g} out per million tokens")
    if choice.vision:
        notes.append("sees images")
    notes += [f"group {name}" for name in choice.groups]
    if choice.current:
        notes.append("your own")
    return "; ".join(notes)
