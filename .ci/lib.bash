# Sourced by `.ci/run`, `.ci/long` and `.ci/tools`, from the top of the checkout.

export CARGO_TERM_COLOR=never
export CARGO_INCREMENTAL=0

# What is slow to get is kept outside the checkout, by version.
cache=${SMP_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kubectl-smp-test}

say() { printf '\n== %s (%ss)\n' "$1" "$SECONDS"; }

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

# Runs pieces, each in a shell of its own: those that were asked for, or all, in the order of `pieces`.
run_pieces() {
  local piece start took=
  (($#)) || set -- "${pieces[@]}"
  for piece in "$@"; do
    if [[ " ${pieces[*]} " != *" $piece "* ]]; then
      echo "usage: $0 [PIECE]..., where a piece is one of: ${pieces[*]}" >&2
      exit 2
    fi
  done
  for piece in "$@"; do
    say "$piece"
    start=$SECONDS
    ("$piece")
    took+=", $piece $((SECONDS - start)) s"
  done
  say "done"
  echo "${took#, }"
}
