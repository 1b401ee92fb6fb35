# Lists the directory $1: per entry a letter for the kind, the name, a zero byte.
[ -e "$1" ] || refuse "$1"
[ -d "$1" ] || answer ENOTDIR
if [ ! -r "$1" ] || [ ! -x "$1" ]; then answer EACCES; fi
cd "$1" || answer EACCES
for name in * .[!.]* ..?*; do
    if [ -L "$name" ]; then
        kind=l
    elif [ -f "$name" ]; then
        kind=f
    elif [ -d "$name" ]; then
        kind=d
    elif [ -e "$name" ]; then
        kind=o
    else
        continue
    fi
    printf '%s%s\0' "$kind" "$name"
done
answer ok
