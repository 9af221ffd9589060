"""The end of a run, told exactly once: when it came to its end, failed, or was left at once."""

import time

from roost.actors.spending import Spent
from roost.cli.failures import describe, tell, words_of
from roost.cli.run.follow import Followed
from roost.cli.run.outcome import Ended, Usage, ended, error_words, of_error
from roost.cli.run.screens import Finale, JsonScreen, Screen
from roost.cli.run.stopping import Stop
from roost.cli.signals import settle
from roost.core.errors import RoostError


class LastWords:
    """Knows how to end a run, whatever has become of it; only the first end is told."""

    def __init__(self, *, json: bool) -> None:
        self.screen: Screen | None = None
        """Where the run is shown, once there is a session."""
        self.session_id: str | None = None
        """Set while the prompt stands in the session."""
        self.usage = Usage()
        self.total: Spent | None = None
        """What all actors together have used, once that was read."""
        self._began = time.monotonic()
        self._json = json
        self._code: int | None = None

    async def finish(self, followed: Followed, stop: Stop) -> Ended:
        """The run has come to its end: show it. What signals do now changes the code no more."""
        assert self.screen is not None
        end = ended(followed, stop.cause)
        self._settle(end.code)
        stop.code = end.code
        await self.screen.finish(self._finale(end, followed))
        return end

    def fail(self, error: Exception) -> None:
        """The run ended by an error, which the caller reports to people; in JSON mode whoever
        reads stdout hears of it too."""
        if self._code is not None:
            return
        known = error if isinstance(error, RoostError) else RoostError(words_of(error)[0])
        end = of_error(known)
        self._settle(end.code)
        if self._json:
            self._screen.finish_now(self._finale(end, Followed(failure=known)))

    def abandon(self, stop: Stop) -> None:
        """The run is left as it stands, for `stop.cause`: say so, after what is being written."""
        if self._code is None:
            followed = Followed()
            end = ended(followed, stop.cause)
            self._settle(end.code)
            if self.session_id is not None or self._json:
                self._screen.finish_now(self._finale(end, followed))
            else:
                tell(describe(RoostError(error_words(end.error or {}))))
        elif self.screen is not None:
            self.screen.drain()

    @property
    def _screen(self) -> Screen:
        if self.screen is not None and self.session_id is not None:
            return self.screen
        return JsonScreen(None, thinking=False, reader_left=lambda: None)

    def _finale(self, end: Ended, followed: Followed) -> Finale:
        seconds = time.monotonic() - self._began
        return Finale(self.session_id, followed, end, self.usage, self.total, seconds)

    def _settle(self, code: int) -> None:
        self._code = code
        settle(code)
