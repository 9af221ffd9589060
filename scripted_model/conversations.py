"""Which step of a scenario a request gets.

A request belongs to the conversation whose answer it carries last: an answer is known again by its
call ids or its text. So two conversations that begin alike stay apart, a fork goes on from where it
forked, and a client that asks the same again after a crash gets the same again. An answer that
failed (an error status, a cut stream, a client that went away) uses up its step for all that ask
again from the same place: `Status(429), "pong"` is a retry that works.
"""

from collections import Counter

from scripted_model.picture import Request
from scripted_model.scenario import Reply, Scenario, Step


class Place:
    """A point in a conversation: which steps are used up before it."""

    def __init__(self, number: int, used: Counter[int], owner: "Root") -> None:
        self.number = number
        """Number of the conversation, from 0."""
        self.used = used
        self.owner = owner


class Root:
    """Conversations that begin with the same system prompt and the same words."""

    def __init__(self, system: str, first: str) -> None:
        self.system = system
        self.first = first
        self.place = Place(-1, Counter(), self)
        self.by_text: dict[tuple[int, str] | str, Place] = {}
        self.by_call: dict[str, Place] = {}


class Choice:
    """The step a request got, and where the conversation stood before it."""

    def __init__(self, place: Place, at: int, reply: Reply | None, request: Request) -> None:
        self.place = place
        self.at = at
        """Index of the step; -1 for the default and for scripts."""
        self.reply = reply
        self.request = request
        self.number = place.number


class Conversations:
    """Chooses steps, and remembers which answers led where."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._roots: dict[str, list[Root]] = {}
        self._by_call: dict[str, Place] = {}
        self._by_key: dict[str, Place] = {}
        self._everywhere = Root("", "")
        self._count = 0

    def choose(self, request: Request) -> Choice:
        """The step for `request`; its reply is None when nothing is left for it."""
        place = self._everywhere.place if self._server_wide else self._find(request)
        for at, step in enumerate(self._scenario.steps):
            if place.used[at] < step.times and _fits(step, request):
                if self._server_wide:
                    place.used[at] += 1
                return self._chosen(place, at, step.reply, request)
        return self._chosen(place, -1, self._scenario.default, request)

    def _chosen(self, place: Place, at: int, reply: Reply | None, request: Request) -> Choice:
        choice = Choice(place, at, reply, request)
        if place.number < 0:
            choice.number = self._count
            self._count += 1
        return choice

    @property
    def _server_wide(self) -> bool:
        return self._scenario.scope == "server"

    def failed(self, choice: Choice) -> None:
        """The answer did not reach the client whole; whoever asks again gets the next step."""
        if not self._server_wide:
            choice.place.used[choice.at] += 1

    def answered(self, choice: Choice, text: str, call_ids: tuple[str, ...]) -> None:
        """The answer reached the client; what goes on from it stands after its step."""
        used = Counter(choice.place.used)
        used[choice.at] += 1
        root = choice.place.owner
        place = Place(choice.number, used, root)
        for each in call_ids:
            self._by_call[each] = root.by_call[each] = place
        if said := text.strip():
            answers = _answers(choice.request, len(choice.request.messages))
            root.by_text[said] = root.by_text[answers, said] = place
        if choice.request.cache_key:
            self._by_key[choice.request.cache_key] = place

    def _find(self, request: Request) -> Place:
        root = self._root(request)
        for at in range(len(request.messages) - 1, -1, -1):
            message = request.messages[at]
            if (
                message.role == "assistant"
                and (place := self._known(root, request, at)) is not None
            ):
                return place
        # Nothing of ours is left in it: compacted, if its key was seen with other first words.
        last = self._by_key.get(request.cache_key) if request.cache_key else None
        if last is not None and last.owner is not root:
            return last
        return root.place

    def _known(self, root: Root, request: Request, at: int) -> Place | None:
        message = request.messages[at]
        for call in message.calls:
            # A script may give the same id in two conversations; the own one counts first.
            place = root.by_call.get(call.id) or self._by_call.get(call.id)
            if place is not None:
                return place
        said = message.text.strip()
        if said not in root.by_text:
            return None
        return root.by_text.get((_answers(request, at), said)) or root.by_text[said]

    def _root(self, request: Request) -> Root:
        system = "\n".join(request.system)
        first = _first_words(request)
        roots = self._roots.setdefault(system, [])
        for root in roots:
            # Words of a message that failed may stand before the new ones in one message.
            if first == root.first or (root.first and first.startswith(root.first + "\n")):
                return root
        root = Root(system, first)
        roots.append(root)
        return root


def _fits(step: Step, request: Request) -> bool:
    return step.when is None or step.when.fits(request)


def _answers(request: Request, before: int) -> int:
    return sum(message.role == "assistant" for message in request.messages[:before])


def _first_words(request: Request) -> str:
    return next(
        (message.text for message in request.messages if message.role == "user" and message.text),
        "",
    )
