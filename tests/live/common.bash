# Sourced by `up` and `down`.

state=${SMP_TEST_STATE:-/tmp/kubectl-smp-live}
state=${state%/}
marker=$state/.kubectl-smp-live

die() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}

# Only a directory that `up` created may be removed.
check_state() {
    [[ $state == /* ]] || die "SMP_TEST_STATE must be an absolute path: $state"
    [[ ! -e $state || (-O $state && -f $marker) ]] ||
        die "$state exists and was not made by tests/live/up"
}

# Succeeds if the server named $1 runs. Its process id may have been reused; our
# process has the state directory among its arguments.
running() {
    local pid
    [[ -s $state/$1.pid ]] && pid=$(<"$state/$1.pid") &&
        grep -qzF -e "=$state/" "/proc/$pid/cmdline" 2>/dev/null
}

# Kills the servers: there is no data to save, and a graceful shutdown of
# kube-apiserver is slow.
stop() {
    local name i
    for name in kwok kube-controller-manager kube-apiserver etcd; do
        running "$name" || continue
        kill -KILL "$(<"$state/$name.pid")" 2>/dev/null || true
        for ((i = 0; i < 100; i++)); do
            running "$name" || break
            sleep 0.05
        done
    done
}
