# Runs a command until its lease ends, which is standard input; `end.sh` comes first. $1 is the
# mark, $2 the directory, $3 the program, $4 the first option of env(1); then variables, the program
# and its arguments.
#
# The output of the command goes to standard output, between a line that reports its start and a
# mark that follows when no process can write any more. The exit code goes to standard error: it
# must not wait for processes that the command has left behind.
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
(end_with_lease) &

# In the foreground: background jobs ignore interrupts for ever. In a subshell, so that this shell
# does not write a message about its end into its output. Only with setsid has it a process group.
{
    (
        exec $session sh -c 'printf "%s started %s\n" "$0" "${1:+$$}"; shift; exec "$@"' "$mark" \
            "$session" env $clean "PI_COMMAND=$mark" "$@" 2>&1 3>&- 4<&-
    )
    printf '%s exit %s\n' "$mark" "$?" >&3
} | cat 3>&- 4<&-
printf '\001%s\n' "$mark"
exec >&-
wait
