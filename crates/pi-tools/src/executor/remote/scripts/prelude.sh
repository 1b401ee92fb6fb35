# Comes before each script. An answer lies between two marks, which no other program knows, and ends
# with `ok` or the name of an error. $1 is the mark.
LC_ALL=C
export LC_ALL
mark=$1
shift
printf '%s\n' "$mark"
answer() {
    printf '%s %s\n' "$mark" "$1"
    exit 0
}

# Answers with the error of the system for a path that cannot be used.
refuse() {
    at= rest=${1#/}
    while [ -n "$rest" ]; do
        name=${rest%%/*}
        case $rest in */*) rest=${rest#*/} ;; *) rest= ;; esac
        [ -n "$name" ] || continue
        [ -d "${at:-/}" ] || answer ENOTDIR
        [ -x "${at:-/}" ] || answer EACCES
        [ "${#name}" -le 255 ] || answer ENAMETOOLONG
        at=$at/$name
        [ -e "$at" ] && continue
        follow "$at"
        answer ENOENT
    done
    answer EACCES
}

# Sets $target to the target of a link that leads to no file.
follow() {
    target=$1 links=0
    while [ -L "$target" ]; do
        links=$((links + 1))
        [ "$links" -le 40 ] || answer ELOOP
        # A name may end with a line break, which the substitution would remove.
        link=$(readlink "$target" && echo .) || answer EIO
        link=${link%??}
        case $link in
        /*) target=$link ;;
        *) target=${target%/*}/$link ;;
        esac
    done
}

# Prints numbers of a file with stat(1): $2 is the format for GNU and busybox, $3 for BSD.
numbers() {
    stat -L -c "$2" "$1" 2>/dev/null || stat -L -f "$3" "$1" 2>/dev/null
}

# Answers with the error that a message describes.
because() {
    case $1 in
    *'No space left'*) answer ENOSPC ;;
    *'Read-only file system'*) answer EROFS ;;
    *'File too large'*) answer EFBIG ;;
    *'Disk quota exceeded'*) answer EDQUOT ;;
    *'not permitted'*) answer EPERM ;;
    *'ermission denied'*) answer EACCES ;;
    *'ile name too long'*) answer ENAMETOOLONG ;;
    *'ot a directory'*) answer ENOTDIR ;;
    esac
    answer EIO
}
