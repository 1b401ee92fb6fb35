# Whether the file $1 may be read and written.
[ -e "$1" ] || refuse "$1"
[ ! -d "$1" ] || answer EISDIR
if [ ! -r "$1" ] || [ ! -w "$1" ]; then answer EACCES; fi
answer ok
