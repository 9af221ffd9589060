"""What stands below the options in the help of each command: examples, exit codes, advice."""

from typing import Final

STATES: Final = """\
STATE says what a session is doing:
  running      a process works in it
  waits for permission, waits for an answer
               an actor of it asks you: roost requests
  waiting      a prompt lies in it that nobody has read yet
  interrupted  its process ended in the middle: roost run -s ID "go on"
  archived     it was put aside
(`--state asking` finds those that ask you.)"""
SHOWN: Final = """\
What Roost itself said to an actor is shown in plain words; `export` and --format json have it as
the model reads it."""
EXPORTED: Final = """\
Known keys are replaced; what was said and done is not, except with --sanitize."""
IMPORTED: Final = """\
The id of the session goes to stdout. Rules in it that allow something without asking are left
out."""
DELETED: Final = """\
A session that a process works in is not deleted; the refusal names the process. Nor is one below
which a working tree holds work that is not committed and merged; with --force that tree is left.

exit codes:
  0    it is deleted
  1    it is not: somebody works in it, a tree holds work, or you said no
  2    there is no such session"""
TRUSTED: Final = """\
Until then a repository's own configuration cannot run code, loosen permissions or see a key.
`roost config` shows what waits for trust. A change to any of the files ends the trust."""
EXIT_CODES: Final = """\
exit codes:
  0    done
  1    the turn failed
  2    wrong usage or configuration
  3    a limit stopped it (steps, tokens, cost)
  124  the time limit stopped it
  130  interrupted (129: the terminal went away, 141: nobody reads the output, 143: terminated)"""
RUN: Final = f"""\
examples:
  roost run "why does tests/test_parser.py fail?"
  roost run --yes fix the failing tests
  git diff | roost run review this change > review.md
  roost run -c "now add a test for it"
  roost run -f design.png -f src/ui "make the page look like this"
  roost run "compare @src/api.py with @docs/api.md"
  roost run "/review the last commit"           a command of yours
  roost run --schema bugs.schema.json "find bugs in src/" | jq .bugs
  roost run --yes --goal "make test passes" "fix the parser"
  roost run --format json --time-limit 600 --max-steps 50 "update the changelog"

The answer goes to stdout, everything else to stderr. What a permission rule asks about is
refused, since nobody is there to answer; --yes allows it for this run, a rule in your roost.json
for good: {{"permission": {{"bash": {{"make test": "allow"}}}}}}.
Ctrl-C stops the turn in order and keeps what was said; the second time it waits half a second
more for that, the third time it ends at once.

{EXIT_CODES}
With a goal (`--goal`, or a prompt `/goal CONDITION`) 0 says that it is met, 1 that it cannot be
reached or was not judged, 3 that it was not met after the last time of going on."""
SERVE: Final = """\
examples:
  roost serve
  roost serve --port 4096 --dir ~/code/api --dir ~/code/web
  roost serve --unix /run/user/1000/roost.sock
  ROOST_SERVER_PASSWORD=... roost serve --hostname 0.0.0.0 --port 4096

Every request carries a secret: the password, or one that is made new at each start. What is printed
at the start shows where it lies, and a request to try."""
SESSIONS: Final = """\
examples:
  roost sessions list
  roost sessions show                          the last session of this folder
  roost sessions show ses_dd3f                 the beginning of an id is enough
  roost sessions export ses_dd3f > session.json
  roost sessions import session.json --new-id
  roost sessions delete ses_dd3f

To go on with a session: roost run -s ses_dd3f "...", or roost run -c "..." for the last one."""
ACTOR_STATES: Final = """\
Listed are actors at work, those whose process ended in the middle, and whoever is above them.
STATE says what an actor is doing:
  progressing  it gives signs of life
  stalled      it has given none for long
  waiting      for mail
  waits for permission, waits for an answer
               it asks you: roost requests
  pending      it is to run
  stopping     it was asked to
  interrupted  its process ended in the middle
  asleep       it does nothing; its last turn came out as said behind it"""
ACTORS: Final = """\
examples:
  roost actors
  roost actors --watch
  roost actors --all -s ses_dd3f               one session with all below it
  roost actors cancel explore-1
  roost actors cancel ses_dd3f/main --tree --force

`roost actors list --help` says what STATE means."""
CANCELLED: Final = """\
Its parent is told; afterwards only a person or its parent wakes it. The children that it waits for
stop with it, with --tree all below it. One that was still to run ends without running: what waited
for it counts as said, and what is said to it next is heard as ever.

exit codes:
  0    it has stopped, is stopping, or was not at work
  2    there is no such actor, or several could be meant"""
GOAL: Final = """\
examples:
  roost run --goal "make test passes" "fix the parser"
  roost goal                                   how the goal of the last session here stands
  roost goal show -s ses_dd3f --json
  roost goal set -s ses_dd3f "every function in api.py has a test"
  roost goal resume
  roost goal clear

When a turn is about to end well, an independent judge reads what was done and what came of it.
While it finds the goal not reached, the session goes on, 12 times at most until you speak again."""
BTW: Final = """\
examples:
  roost btw "what is left to do?"
  roost btw -s ses_dd3f "why did you change the parser?"
  roost run -c "/btw which tests failed?"

A copy of the conversation answers, which can read files and do nothing else; the session hears
nothing of it, works on meanwhile, and keeps no trace. The answer goes to stdout, what it cost to
stderr.

exit codes: 0 answered, 1 it could not be, 2 wrong usage, 124 it took too long, 130 interrupted"""
CONTEXT: Final = """\
examples:
  roost context
  roost context -s ses_dd3f --actor explore-1
  roost context --json

Tokens of a whole request are what the provider counted last; those of its parts are estimates. At
the mark `shortened at` the conversation is shortened; `roost compact` does it now."""
COMPACT: Final = """\
examples:
  roost compact
  roost compact -s ses_dd3f
  roost run -c /compact

A model sums the conversation up, its end stays word for word, and from then on the model is shown
these two. Conversations that fill the model's window are shortened without being asked. Nothing of
them is deleted: `roost sessions show` and `roost history` still have every word.

exit codes: 0 done, or there was nothing to shorten; 1 it failed, 2 wrong usage, 130 interrupted"""
RESUMED: Final = """\
exit codes are those of `roost run --goal`: 0 the goal is met, 1 it cannot be reached or was not
judged, 3 a limit came first"""
INBOX: Final = """\
examples:
  roost inbox list
  roost inbox list ses_dd3f --state queued
  roost inbox send ses_dd3f "leave the tests alone"
  roost inbox send ses_dd3f "and look into docs/, too" --actor explore-1
  roost inbox withdraw inb_dd3fb18f"""
SENT: Final = """\
One that is at work hears it at its next step, wherever it runs; else it says who will take it up,
or how to have it taken up. It is stored in any case, and can be taken back until it is heard."""
WITHDRAWN: Final = """\
exit codes:
  0    nobody will hear it; also where it was taken back before
  1    it was heard already, or had expired
  2    there is no such message, or it is one of Roost itself"""
REQUESTS: Final = """\
examples:
  roost requests
  roost requests show per_22d3c87b
  roost requests allow per_22d3c87b
  roost requests allow per_22d3c87b --always
  roost requests deny per_22d3c87b --because "use the test database"
  roost requests answer que_22d3c87c 2
  roost requests answer que_22d3c87c "SQLite" "later"

An actor waits until it is answered, in whichever process it runs; what a directed session asks is
refused after a while, and `show` says when. They are actors that a server runs, since `roost run`
has nobody to ask and refuses at once."""
ALLOWED: Final = """\
With --always what it names is allowed in this project from now on, and so are other requests that
wait in the session and that it covers.

exit codes:
  0    it is allowed, or was before
  1    it was refused or withdrawn, or nobody waits for the answer any more
  2    there is no such request, or it cannot be answered so"""
REFUSED: Final = """\
With --because the actor reads the words and goes on; without, its turn stops, and what else it asks
is withdrawn.

exit codes:
  0    it is refused, or was before
  1    it was allowed or withdrawn, or nobody waits for the answer any more
  2    there is no such request"""
ANSWERED: Final = """\
Where several options may be chosen, part them by commas. `roost requests deny ID` leaves the
questions unanswered.

exit codes:
  0    it is answered
  1    it was answered before, or nobody waits for the answer any more
  2    there is no such question, or the answers do not fit"""
AGENTS: Final = """\
examples:
  roost agents
  roost agents show explore
  roost run --agent plan "how would you split this module?"

Agents of your own go under `agent` in your roost.json, or into agents/NAME.md beside it."""
TASKS: Final = """\
examples:
  roost tasks
  roost tasks -s ses_dd3f --all --json

Actors keep the list with their tool `task`; `T1.2` is the second part of `T1`."""
TEAMS: Final = """\
examples:
  roost teams
  roost teams list --all --json

A team is made by an agent with the tool `team`, or over HTTP (`POST /team`)."""
MODELS: Final = """\
examples:
  roost models
  roost models anthropic
  roost models --refresh my-server"""
CONFIG: Final = """\
examples:
  roost config                 every setting in force, and the file that says so
  roost config trust
  roost config path            your own roost.json lies in the folder `config`"""
DOCTOR: Final = """\
examples:
  roost doctor
  roost doctor --online --deep

exit codes:
  0    nothing failed
  1    something must be mended"""
COMPLETION: Final = """\
examples:
  source <(roost completion bash)
  roost completion zsh > ~/.zfunc/_roost       (with ~/.zfunc in $fpath before compinit)
  roost completion fish > ~/.config/fish/completions/roost.fish"""
TRACE: Final = """\
examples:
  roost trace                                  the last turn of this folder's last session
  roost trace ses_dd3f --actor explore-1
  roost trace 3 -s ses_dd3f                    the third turn of its first actor
  roost trace trn_22d5 --all                   with the turns that came of it
  roost trace --follow
  roost trace --format json | jq 'select(.type == "step")'

FIRST is the time to the first thing that the model said, IN what was sent to it, CACHED the part of
that which the provider had kept, OUT what came back: tokens of a model, bytes of a tool."""
LOG: Final = """\
examples:
  roost log
  roost log -n 200 --level WARN
  roost log -s ses_dd3f --follow
  roost log --format json | jq .message

What is said and done in a session is not logged: `roost trace` and `sessions show` tell that."""
