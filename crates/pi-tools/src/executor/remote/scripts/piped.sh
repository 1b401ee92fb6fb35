# Runs a command on the standard streams of this script. $1 is the mark, $2 the directory, $3 the
# program, $4 the first option of env(1); then variables, the program and its arguments.
#
# A line before the output reports that the command has started; a mark follows the output. The
# exit code follows the errors.
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

# Without setsid the command shares the process group of this script, in which nothing else runs.
session= group=
if command -v setsid >/dev/null 2>&1; then
    session=setsid
else
    group=$(ps -o pgid= -p $$ 2>/dev/null | tr -d ' ')
fi
(
    exec $session sh -c 'printf "%s started %s\n" "$0" "${1:-$$}"; shift; exec "$@"' "$mark" \
        "$group" env $clean "PI_COMMAND=$mark" "$@"
)
code=$?
printf '\001%s\n' "$mark"
printf '\001%s exit %s\n' "$mark" "$code" >&2
