# Waits until the lease ends, which is descriptor 4. Then kills the process group that the first
# line of the lease names, and every process that has the mark in its environment, in any group and
# session. Other processes are out of reach. Reports on descriptor 3 that all are gone.
end_with_lease() {
    trap '' HUP INT TERM PIPE
    exec >/dev/null 2>&1
    group=
    read -r group <&4
    cat <&4
    if [ -n "$group" ]; then kill -KILL "-$group"; fi
    if [ -r /proc/self/environ ]; then
        # Until nothing is found twice: a process that is just being started has no environment yet.
        nothing=0 rounds=0
        while [ "$nothing" -lt 2 ] && [ "$rounds" -lt 2000 ]; do
            rounds=$((rounds + 1))
            # A process that takes this long to die hangs in the kernel.
            if [ "$rounds" -gt 500 ]; then sleep 1; fi
            nothing=$((nothing + 1))
            for found in $(grep -lsF "$mark" /proc/[0-9]*/environ); do
                nothing=0
                found=${found#/proc/}
                kill -KILL "${found%/environ}"
            done
        done
    else
        printf '%s gone\n' "$mark" >&3
        # There is no other way to find them, and this process group belongs to this script.
        kill -KILL 0
    fi
    printf '%s gone\n' "$mark" >&3
}
