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

# Runs each target for SMP_FUZZ_SECONDS. Inputs are `fuzz/corpus`, the manifests of the repository, and cached inputs of
# earlier runs. With SMP_FUZZ_RUNS, runs that many inputs from a fixed seed without those of earlier runs, so that every
# run is the same. Failing inputs are written to `fuzz/artifacts`.
fuzz_all() {
  local target found all tool options how
  tool=$(cargo_tool cargo-fuzz "$cargo_fuzz")
  PATH=$tool:$PATH
  # Instrumentation needs nightly features, which this variable enables in a stable compiler. The code has no `unsafe`,
  # so a sanitizer would find nothing.
  export RUSTC_BOOTSTRAP=1
  # The inputs need seconds, the build minutes.
  export CARGO_PROFILE_RELEASE_OPT_LEVEL=1
  options=(--sanitizer none --codegen-units 16 --target-dir target/fuzz)
  cargo fuzz build "${options[@]}"
  if [ -n "${SMP_FUZZ_RUNS:-}" ]; then
    all=$(mktemp -d) how=(-seed=1 -runs="$SMP_FUZZ_RUNS")
    # shellcheck disable=SC2064 # The local variable is unset when the trap runs.
    trap "rm -rf '$all'" EXIT
  else
    all=$cache/fuzz how=(-max_total_time="$SMP_FUZZ_SECONDS")
  fi
  for target in "${fuzz_targets[@]}"; do
    found=$all/$target
    mkdir -p "$found"
    case $target in
    parse | readers | apply | merge3 | openapi) git ls-files -z 'examples/*.yaml' 'tests/cases/*.yaml' | seed "$found" ;;
    kustomization) git ls-files -z 'examples/*kustomization.yaml' 'tests/cases/*kustomization.yaml' | seed "$found" ;;
    esac
    cargo fuzz run "$target" "${options[@]}" "$found" "fuzz/corpus/$target" -- \
      "${how[@]}" -timeout=30 -verbosity=0 -print_final_stats=1
  done
}

# Copies files into one directory. Their names are hashes of their contents.
seed() { # folder
  local file
  while IFS= read -r -d '' file; do
    cp "$file" "$1/$(sha1sum <"$file" | cut -d' ' -f1)"
  done
}

# The files that each piece leaves and no later one uses.
declare -A disposable=()

# The piece that a run of all pieces starts first, beside the others, and the piece that must not run beside it.
beside='' alone=''

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
  [ -z "$all" ] || start_beside
  for piece in "$@"; do
    [[ -z $all || $piece != "$beside" ]] || continue
    if [[ -n $all && $piece = "$alone" ]]; then
      finish_beside || { status=$?; piece=$beside; break; }
    fi
    run_piece "$piece" || { status=$?; break; }
  done
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
  # shellcheck disable=SC2086 # Patterns are expanded.
  ((status)) || [ -z "$all" ] || rm -rf ${disposable[$1]:-}
  return "$status"
}

# Starts the piece `beside`. Its output is kept, and it ends with this run.
start_beside() {
  [ -n "$beside" ] || return 0
  besides_output=$(mktemp) besides_start=$SECONDS
  timeout "$limit" bash ".ci/${0##*/}" "$beside" >"$besides_output" 2>&1 &
  besides_process=$!
  # shellcheck disable=SC2064 # The process and file are those of now.
  trap "kill $besides_process 2>/dev/null || true; rm -f '$besides_output'" EXIT
}

# Waits for the piece `beside`, and prints its output. Returns its status.
finish_beside() {
  local status=0
  [ -n "$beside" ] || return 0
  wait "$besides_process" || status=$?
  cat "$besides_output"
  durations+=("$(printf '%-12s %5d s, beside others' "$beside" $((SECONDS - besides_start)))")
  # shellcheck disable=SC2086 # Patterns are expanded.
  ((status)) || rm -rf ${disposable[$beside]:-}
  return "$status"
}
