# Prints the home directory, a zero byte, and the directory $1. An empty $1 is the directory in
# which the shell starts.
directory=$1
case $directory in
'') directory=$PWD ;;
'~' | '~/'*) directory=$HOME${directory#?} ;;
/*) ;;
*) directory=$PWD/$directory ;;
esac
[ -e "$directory" ] || refuse "$directory"
[ -d "$directory" ] || answer ENOTDIR
cd "$directory" || answer EACCES
printf '%s\0%s' "$HOME" "$PWD"
answer ok
