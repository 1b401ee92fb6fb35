# Prints the path $1 without links.
[ -e "$1" ] || refuse "$1"
readlink -f "$1" || answer EIO
answer ok
