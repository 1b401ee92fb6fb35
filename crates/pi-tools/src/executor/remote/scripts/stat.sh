# Prints the kind, the size and the time of $1.
[ -e "$1" ] || refuse "$1"
if [ -f "$1" ]; then kind=f; elif [ -d "$1" ]; then kind=d; else kind=o; fi
printf '%s %s' "$kind" "$(numbers "$1" '%s %Y' '%z %m')"
answer ok
