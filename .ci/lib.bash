# Sourced by `.ci/run`, `.ci/long` and `.ci/tools`, from the top of the checkout.

export CARGO_TERM_COLOR=never
export CARGO_INCREMENTAL=0

# What is slow to get is kept outside the checkout, by version.
cache=${SMP_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kubectl-smp-test}

# The release build.
bin=$PWD/target/release/kubectl-smp
release() {
  cargo build --release --locked
  "$bin" version
}

# Gets tools, and sets the variables that name them.
tools() {
  local lines
  lines=$(.ci/tools "$@")
  eval "$lines"
}

debian_package() {
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qy "$1"
}

# Runs pieces, each in a process of its own: those that were asked for, or all, in the order of `pieces`.
# One that hangs is ended after `limit`, so that what it printed last can be read.
run_pieces() {
  local piece start status took=
  (($#)) || set -- "${pieces[@]}"
  for piece in "$@"; do
    if [[ " ${pieces[*]} " != *" $piece "* ]]; then
      echo "usage: $0 [PIECE]..., where a piece is one of: ${pieces[*]}" >&2
      exit 2
    fi
  done
  if (($# == 1)); then
    printf '\n== %s\n' "$1"
    "$1"
    return
  fi
  for piece in "$@"; do
    start=$SECONDS status=0
    timeout "$limit" bash ".ci/${0##*/}" "$piece" || status=$?
    took+=", $piece $((SECONDS - start)) s"
    if ((status)); then
      echo "== $piece failed with status $status; 124 means: not done within $limit (${took#, })" >&2
      exit "$status"
    fi
  done
  printf '\n== done: %s\n' "${took#, }"
}
