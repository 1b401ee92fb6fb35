# Creates the directory $1 and its parents.
problem=$(mkdir -p "$1" 2>&1) && answer ok
[ ! -d "$1" ] || answer ok
if [ -e "$1" ] || [ -L "$1" ]; then answer EEXIST; fi
at=$1
while [ -n "$at" ] && [ ! -e "$at" ]; do
    if [ -L "$at" ]; then answer EEXIST; fi
    at=${at%/*}
done
[ -d "${at:-/}" ] || answer ENOTDIR
because "$problem"
