# Sourced by `.ci/run`, `.ci/long` and `.ci/tools`, from the top of the checkout.

export CARGO_TERM_COLOR=never
export CARGO_INCREMENTAL=0

# Downloads and builds of tools are cached outside the checkout, by version.
cache=${SMP_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kubectl-smp-test}

# What most pieces compile. With the same packages and features in each of them, nothing is compiled twice.
everything=(--workspace --all-features --locked)

# The program that tests run. An example needs the features of test dependencies, as the tests do.
bin=$PWD/target/debug/kubectl-smp
debug_program() {
  cargo build "${everything[@]}" --bin kubectl-smp --example build_in_memory
  "$bin" version
}

# The program as released.
dist=$PWD/target/dist/kubectl-smp
dist() {
  cargo build --package kubectl-smp --profile dist --locked
  "$dist" version
}

# Installs tools, and sets the variables that name them.
tools() {
  local lines
  lines=$(.ci/tools "$@")
  eval "$lines"
}

# Starts an API server for this run. It is stopped at the end.
own_server() {
  export SMP_TEST_STATE=${TMPDIR:-/tmp}/kubectl-smp-live-$$
  trap 'tests/live/down' EXIT
  tools server
}

# Optional test data next to the checkout.
shared_folder() {
  export SMP_TEST_SHARED=${SMP_TEST_SHARED:-$(cd .. && pwd)/shared}
  if [ ! -d "$SMP_TEST_SHARED" ]; then
    echo "without CRDs: missing $SMP_TEST_SHARED"
    unset SMP_TEST_SHARED
  fi
}

debian_package() {
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qy "$1"
}

# Installs a program from crates.io and prints its directory.
cargo_tool() { # name, version
  local folder=$cache/tools/$1-$2
  [ -x "$folder/bin/$1" ] || cargo install --quiet --locked --root "$folder" "$1@$2" >&2 || return
  printf '%s\n' "$folder/bin"
}

cargo_deny=0.20.2
cargo_fuzz=0.13.2
mdbook=0.5.4
fuzz_targets=(parse readers kustomization schema repository pattern json_patch openapi kubeconfig apply merge3 server)

# Prints the manifests of the repository that a target can start from. `fuzz/corpus` has further inputs.
fuzz_seeds() { # target
  case $1 in
  parse | readers | apply | merge3 | openapi) git ls-files 'examples/*.yaml' 'tests/cases/*.yaml' ;;
  kustomization) git ls-files 'examples/*kustomization.yaml' 'tests/cases/*kustomization.yaml' ;;
  esac
}

# A run of all pieces starts the pieces `beside` when the tests of `waiting` run. They use the processors while it waits.
beside=() waiting=''

# Runs the named pieces, or all in the order of `pieces`, each in its own process, and prints the durations.
# A piece that hangs is stopped after `limit`, so that its last output can be read.
run_pieces() {
  local piece status=0 all=
  (($#)) || { set -- "${pieces[@]}"; all=yes; }
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
  durations=()
  for piece in "$@"; do
    [[ -z $all || " ${beside[*]} " != *" $piece "* ]] || continue
    [[ -z $all || $piece != "$waiting" ]] || start_beside
    run_piece "$piece" || { status=$?; break; }
  done
  if [[ -n $all && -n $waiting && $status = 0 ]]; then
    piece=${beside[*]}
    finish_beside || status=$?
  fi
  printf '\n== time\n'
  printf '%s\n' "${durations[@]}" "$(printf '%-12s %5d s' total "$SECONDS")"
  if ((status)); then
    echo "== $piece failed with status $status (124: not finished within $limit)" >&2
    exit "$status"
  fi
}

run_piece() {
  local start=$SECONDS status=0
  timeout "$limit" bash ".ci/${0##*/}" "$1" || status=$?
  durations+=("$(printf '%-12s %5d s' "$1" $((SECONDS - start)))")
  return "$status"
}

# Starts the pieces `beside` with the lowest priority. Their output is kept, and they end with this run.
start_beside() {
  besides_output=$(mktemp) besides_start=$SECONDS
  nice -n 19 timeout "$limit" bash ".ci/${0##*/}" "${beside[@]}" >"$besides_output" 2>&1 &
  besides_process=$!
  # shellcheck disable=SC2064 # The process and file are those of now.
  trap "kill $besides_process 2>/dev/null || true; rm -f '$besides_output'" EXIT
}

# Waits for the pieces `beside`, and prints their output. Returns their status.
finish_beside() {
  local status=0
  wait "$besides_process" || status=$?
  cat "$besides_output"
  durations+=("$(printf '%-12s %5d s, with the pieces beside it' "$waiting" $((SECONDS - besides_start)))")
  return "$status"
}
