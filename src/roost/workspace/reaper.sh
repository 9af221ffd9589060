#!/bin/sh
# Ends what Roost's commands left running when Roost itself dies without being able to.
#
# Standard input is a pipe that only Roost holds open, and which ends when Roost does. File 3 is
# the list of what runs then, a line each:
#   add GROUP BRAND MARK    a command runs in process group GROUP (0: not known yet); the environment
#                           of its processes carries MARK, their limit on file locks is BRAND
#   del MARK                the command and all of its processes have ended
# Everything still listed is killed.

trap '' INT TERM HUP
cd /
end='
'
list=''

forget() {
    rest=$list
    list=''
    while [ -n "$rest" ]; do
        entry=${rest%%"$end"*}
        rest=${rest#*"$end"}
        case $entry in
            *" $1") ;;
            *) list=$list$entry$end ;;
        esac
    done
}

while read -r _; do :; done

while read -r verb first others; do
    case $verb in
        add) list=$list"$first $others$end" ;;
        del) forget "$first" ;;
    esac
done <&3

[ -n "$list" ] || exit 0

set --
rest=$list
while [ -n "$rest" ]; do
    entry=${rest%%"$end"*}
    rest=${rest#*"$end"}
    group=${entry%% *}
    set -- "$@" -e "${entry##* }"
    entry=${entry% *}
    set -- "$@" -e " ${entry#* } "
    [ "$group" -gt 1 ] && kill -KILL "-$group"
done

# A process may fork while the list is read, so look again until nothing is found.
for round in 1 2 3 4 5 6 7 8 9 10; do
    found=''
    for file in $(grep -lF "$@" /proc/[0-9]*/environ /proc/[0-9]*/limits); do
        pid=${file#/proc/}
        kill -KILL "${pid%/*}" && found=yes
    done
    [ -n "$found" ] || exit 0
done
