# Prints the file $1; at most $2 bytes, unless $2 is `all`.
[ -e "$1" ] || refuse "$1"
[ ! -d "$1" ] || answer EISDIR
[ -f "$1" ] || answer ENOTREG
[ -r "$1" ] || answer EACCES
if [ "$2" = all ]; then cat "$1"; else head -c "$2" "$1"; fi || answer EIO
answer ok
