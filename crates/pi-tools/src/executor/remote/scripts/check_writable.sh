# Checks that the file $1 can be read and written.
[ -e "$1" ] || refuse "$1"
[ ! -d "$1" ] || answer EISDIR
[ -f "$1" ] || answer ENOTREG
if [ ! -r "$1" ] || [ ! -w "$1" ]; then answer EACCES; fi
answer ok
