# Runs a command until its lease ends, which is standard input. $1 is the mark, $2 the directory,
# $3 the program, $4 what env(1) begins with; then what is set, the program and its arguments.
#
# What the command writes goes to standard output, between a line that says that it has started
# and a mark that says that nobody can write any more. The exit code goes to standard error: it
# must not wait for what the command has left behind.
mark=$1 directory=$2 program=$3 clean=$4
shift 4
fail() {
    printf '%s %s\n' "$mark" "$1"
    exit 0
}
[ -e "$directory" ] || fail ENOENT
[ -d "$directory" ] || fail ENOTDIR
cd "$directory" 2>/dev/null || fail EACCES
[ -e "$program" ] || fail ENOENT
if [ -d "$program" ] || [ ! -x "$program" ]; then fail EACCES; fi

session=
if command -v setsid >/dev/null 2>&1; then session=setsid; fi
exec 3>&2 4<&0 </dev/null

# Ends everything when the lease does: the group of the command, and whatever has the mark in its
# environment, in whichever group and session it is. What has neither is out of reach.
(
    trap '' HUP INT TERM PIPE
    exec >/dev/null 2>&1
    group=
    read -r group <&4
    cat <&4
    if [ -n "$session" ] && [ -n "$group" ]; then kill -KILL "-$group"; fi
    if [ -r /proc/self/environ ]; then
        # Twice nothing: a process that is just being started shows no environment.
        nothing=0 rounds=0
        while [ "$nothing" -lt 2 ] && [ "$rounds" -lt 2000 ]; do
            rounds=$((rounds + 1))
            # What takes long to die hangs in the kernel.
            if [ "$rounds" -gt 500 ]; then sleep 1; fi
            nothing=$((nothing + 1))
            for found in $(grep -lsF "$mark" /proc/[0-9]*/environ); do
                nothing=0
                found=${found#/proc/}
                kill -KILL "${found%/environ}"
            done
        done
    else
        printf '%s gone\n' "$mark" >&3
        # There is no other way to find them, and nobody else is in this group.
        kill -KILL 0
    fi
    printf '%s gone\n' "$mark" >&3
) &

# In the foreground: what is started in the background ignores interrupts for ever. And in a shell
# of its own, so that this one does not write about its end into its output.
{
    (
        exec $session sh -c 'printf "%s started %s\n" "$0" $$; exec "$@"' "$mark" \
            env $clean "PI_COMMAND=$mark" "$@" 2>&1 3>&- 4<&-
    )
    printf '%s exit %s\n' "$mark" "$?" >&3
} | cat 3>&- 4<&-
printf '\001%s\n' "$mark"
exec >&-
wait
