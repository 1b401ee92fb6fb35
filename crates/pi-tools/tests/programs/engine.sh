#!/bin/sh
# A stand-in for `docker`, for tests: understands what the executor for containers says, notes it
# down, and does it with namespaces of this machine. Without the right to make those, everything
# happens in plain sight, and mounts must lead to themselves. $ENGINE_STATE is for its notes.
set -eu
printf '%s\037' "$@" | tr '\n' ' ' >>"$ENGINE_STATE/engine.log"
echo >>"$ENGINE_STATE/engine.log"

verb=$1 name= mounts=
shift
while [ $# -gt 0 ]; do
    case $1 in
    -i | --rm | --network=none) shift ;;
    --name) name=$2 && shift 2 ;;
    -u) shift 2 ;;
    -v) mounts="$mounts $2" && shift 2 ;;
    --entrypoint) program=$2 && shift 2 ;;
    -*) echo "engine: unknown option $1" >&2 && exit 125 ;;
    *) break ;;
    esac
done

# The process whose namespaces make up the container.
state=$ENGINE_STATE/engine-${name:-$1}
case $verb in
run)
    shift # The image: this machine.
    if [ "$(id -u)" -ne 0 ]; then
        echo $$ >"$state"
        exec "$program" "$@"
    fi
    export mounts
    # What runs in the background is given no input unless it is said which.
    exec 4<&0
    unshare --mount --pid --fork --kill-child sh -c '
        mount -t tmpfs none /mnt
        for mount in $mounts; do
            mkdir -p "${mount#*:}"
            mount --bind "${mount%%:*}" "${mount#*:}"
        done
        mount -t proc proc /proc
        exec "$0" "$@"' "$program" "$@" <&4 &
    echo $! >"$state"
    exec 4<&- </dev/null
    wait
    ;;
exec)
    shift
    if ! [ -e "$state" ]; then echo "engine: no such container" >&2 && exit 1; fi
    if [ "$(id -u)" -ne 0 ]; then exec "$@"; fi
    # The child of unshare is the first process in there.
    read -r parent <"$state"
    # (There is no line break behind it.)
    read -r first _ <"/proc/$parent/task/$parent/children" || :
    exec nsenter --target "$first" --mount --pid -- "$@"
    ;;
*) echo "engine: unknown command $verb" >&2 && exit 125 ;;
esac
