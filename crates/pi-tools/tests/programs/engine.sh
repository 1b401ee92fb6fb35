#!/bin/sh
# A stand-in for `docker` in tests. It logs its arguments and uses namespaces of this machine.
# Without the permission to create those, everything runs without isolation, and mounts must lead to
# the same path. $ENGINE_STATE is the directory for its log and pipes.
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

state=$ENGINE_STATE/engine-${name:-$1}
case $verb in
run)
    shift # The image: this machine.
    mkfifo "$state"
    export mounts
    # Background jobs have no input unless it is redirected.
    exec 4<&0
    if [ "$(id -u)" -eq 0 ]; then
        unshare --mount --pid --fork --kill-child sh -c '
            mount -t tmpfs none /mnt
            for mount in $mounts; do
                mkdir -p "${mount#*:}"
                mount --bind "${mount%%:*}" "${mount#*:}"
            done
            mount -t proc proc /proc
            exec "$0" "$@"' "$program" "$@" <&4 &
    else
        "$program" "$@" <&4 &
    fi
    container=$!
    exec 4<&- </dev/null
    # The engine: like a real one it starts the processes in the container itself, so that they do
    # not end with the program that asked for them.
    while :; do
        while read -r call; do
            # Background jobs of a shell ignore interrupts.
            enter='env --default-signal'
            if [ "$(id -u)" -eq 0 ]; then
                # The child of unshare is the first process in the container. (No line break
                # follows.)
                read -r first _ <"/proc/$container/task/$container/children" || :
                enter="$enter nsenter --target $first --mount --pid --"
            fi
            xargs -0 -x -a "$call/words" $enter <"$call/in" >"$call/out" 2>"$call/err" &
        done <"$state"
    done >/dev/null 2>&1 &
    wait "$container"
    ;;
exec)
    shift
    if ! [ -e "$state" ]; then echo "engine: no such container" >&2 && exit 1; fi
    call=$(mktemp -d "$ENGINE_STATE/call-XXXXXXXX")
    printf '%s\0' "$@" >"$call/words"
    mkfifo "$call/in" "$call/out" "$call/err"
    exec 4<&0
    cat <&4 >"$call/in" 2>/dev/null &
    exec 4<&- </dev/null
    echo "$call" >"$state"
    cat "$call/err" >&2 &
    errors=$!
    cat "$call/out"
    wait "$errors"
    rm -rf "$call"
    ;;
*) echo "engine: unknown command $verb" >&2 && exit 125 ;;
esac
