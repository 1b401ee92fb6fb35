# Replaces the content of the file $1 by the $2 bytes on standard input; $3 is a word for new names.
# The file is not touched before all bytes have arrived.
if [ -e "$1" ]; then
    target=$(readlink -f "$1" && echo .) || answer EIO
    target=${target%??}
else
    # A link to no file stays a link; its target is created.
    follow "$1"
    directory=${target%/*}
    if [ ! -d "${directory:-/}" ]; then
        [ ! -e "$directory" ] || answer ENOTDIR
        refuse "$directory"
    fi
    name=${target##*/}
    [ "${#name}" -le 255 ] || answer ENAMETOOLONG
fi
directory=${target%/*}/
[ ! -d "$target" ] || answer EISDIR
if [ -e "$target" ] && [ ! -f "$target" ]; then answer ENOTREG; fi
if [ -e "$target" ] && [ ! -w "$target" ]; then answer EACCES; fi

new=$directory.pi-write-$3
old=
trap 'rm -f "$new" ${old:+"$old"}' EXIT
trap 'exit 1' HUP INT TERM PIPE
set -C
created=yes
if ! problem=$( (: >"$new") 2>&1); then
    # The file may be writable in a directory that is not.
    [ -e "$target" ] || because "$problem"
    created=
    new=$(mktemp) || answer EACCES
fi
set +C
problem=$(cat 2>&1 >"$new") || because "$problem"
[ "$(wc -c <"$new")" -eq "$2" ] || answer EPIPE
if [ ! -e "$target" ]; then
    sync -d "$new" 2>/dev/null
    problem=$(mv -f "$new" "$target" 2>&1) || because "$problem"
    answer ok
fi

# Owner, group, mode and number of names stay. If that is not possible, the file is overwritten in
# place.
set -- $(numbers "$target" '%u:%g %a %h' '%u:%g %Lp %l')
if [ -n "$created" ] && [ "$3" = 1 ]; then
    set -- "$@" $(numbers "$new" '%u:%g' '%u:%g')
    if { [ "$1" = "$4" ] || chown "$1" "$new" 2>/dev/null; } && chmod "$2" "$new" 2>/dev/null; then
        sync -d "$new" 2>/dev/null
        if mv -f "$new" "$target" 2>/dev/null; then answer ok; fi
    fi
fi
old=$(mktemp) || answer EACCES
cat "$target" >"$old" || answer EIO
if ! problem=$(cat "$new" 2>&1 >"$target"); then
    # The old content needs no more space than it had.
    cat "$old" >"$target"
    because "$problem"
fi
answer ok
