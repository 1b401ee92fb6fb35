# Lists everything below the directory $1, parents first: a letter for the kind, the path, a zero
# byte. The letter of a directory that cannot be listed is `u`.
[ -e "$1" ] || refuse "$1"
[ -d "$1" ] || answer ENOTDIR
cd "$1" || answer EACCES
find . ! -name . -exec sh -c '
    for path; do
        if [ -L "$path" ]; then
            kind=l
        elif [ -d "$path" ]; then
            kind=d
            if [ ! -r "$path" ] || [ ! -x "$path" ]; then kind=u; fi
        elif [ -f "$path" ]; then
            kind=f
        else
            kind=o
        fi
        printf "%s%s\0" "$kind" "${path#./}"
    done' sh {} + 2>/dev/null
answer ok
