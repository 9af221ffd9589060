# Bash reads this before the command of a call (BASH_ENV): what the command starts first carries the
# brand already, however long Roost, which sets it too, does not get to run on a busy machine.

ulimit -S -x "$ROOST_BRAND" 2>/dev/null
unset ROOST_BRAND BASH_ENV

# The user's own such file is read as if this one were not there.
if [ -n "${ROOST_BASH_ENV-}" ]; then
    export BASH_ENV="$ROOST_BASH_ENV"
    unset ROOST_BASH_ENV
    if [ -r "$BASH_ENV" ]; then . "$BASH_ENV"; fi
fi
