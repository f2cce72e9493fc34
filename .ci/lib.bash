# Sourced by `.ci/run`, `.ci/long` and `.ci/tools`, from the top of the checkout.

export CARGO_TERM_COLOR=never
export CARGO_INCREMENTAL=0

# What is slow to get is kept outside the checkout, by version.
cache=${SMP_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kubectl-smp-test}

# The program, built quickly.
bin=$PWD/target/release/kubectl-smp
release() {
  cargo build --package kubectl-smp --release --locked
  "$bin" version
}

# The program as it is shipped.
dist=$PWD/target/dist/kubectl-smp
dist() {
  cargo build --package kubectl-smp --profile dist --locked
  "$dist" version
}

# Gets tools, and sets the variables that name them.
tools() {
  local lines
  lines=$(.ci/tools "$@")
  eval "$lines"
}

# An API server of this run's own, which stops at its end.
own_server() {
  export SMP_TEST_STATE=${TMPDIR:-/tmp}/kubectl-smp-live-$$
  trap 'tests/live/down' EXIT
  tools server
}

# What lies beside the checkout, for tests that can do with less.
shared_folder() {
  export SMP_TEST_SHARED=${SMP_TEST_SHARED:-$(cd .. && pwd)/shared}
  if [ ! -d "$SMP_TEST_SHARED" ]; then
    echo "without the definitions of $SMP_TEST_SHARED, which is not there"
    unset SMP_TEST_SHARED
  fi
}

debian_package() {
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qy "$1"
}

# The folder of a program of crates.io.
cargo_tool() { # name, version
  local folder=$cache/tools/$1-$2
  [ -x "$folder/bin/$1" ] || cargo install --quiet --locked --root "$folder" "$1@$2" >&2 || return
  printf '%s\n' "$folder/bin"
}

cargo_deny=0.20.2
cargo_fuzz=0.13.2
fuzz_targets=(parse kustomization schema repository pattern json_patch openapi kubeconfig apply merge3)

# Runs each target for SMP_FUZZ_SECONDS, from the inputs in `fuzz/corpus`, the manifests of the repository and what
# earlier runs found, which the cache keeps. With SMP_FUZZ_RUNS it runs that many inputs instead, from a fixed seed and
# without what earlier runs found: the same ones each time. Inputs that fail are kept in `fuzz/artifacts`.
fuzz_all() {
  local target found all tool options how
  tool=$(cargo_tool cargo-fuzz "$cargo_fuzz")
  PATH=$tool:$PATH
  # Instrumentation is for nightly compilers only; this one is told that it is one. Our code has no `unsafe`, so that a
  # sanitizer would find nothing in it.
  export RUSTC_BOOTSTRAP=1
  options=(--sanitizer none --codegen-units 16 --target-dir target/fuzz)
  cargo fuzz build "${options[@]}"
  if [ -n "${SMP_FUZZ_RUNS:-}" ]; then
    all=$(mktemp -d) how=(-seed=1 -runs="$SMP_FUZZ_RUNS")
    # shellcheck disable=SC2064 # The variable is gone by then.
    trap "rm -rf '$all'" EXIT
  else
    all=$cache/fuzz how=(-max_total_time="$SMP_FUZZ_SECONDS")
  fi
  for target in "${fuzz_targets[@]}"; do
    found=$all/$target
    mkdir -p "$found"
    case $target in
    parse | apply | merge3 | openapi) git ls-files -z 'examples/*.yaml' 'tests/cases/*.yaml' | seed "$found" ;;
    kustomization) git ls-files -z 'examples/*kustomization.yaml' 'tests/cases/*kustomization.yaml' | seed "$found" ;;
    esac
    cargo fuzz run "$target" "${options[@]}" "$found" "fuzz/corpus/$target" -- \
      "${how[@]}" -timeout=30 -verbosity=0 -print_final_stats=1
  done
}

# Copies files into one folder, each by the name that its contents give it.
seed() { # folder
  local file
  while IFS= read -r -d '' file; do
    cp "$file" "$1/$(sha1sum <"$file" | cut -d' ' -f1)"
  done
}

# Runs the named pieces, or all in the order of `pieces`, each in a process of its own, and prints how long each took.
# A piece that hangs is stopped after `limit`, so that its last output can be read.
run_pieces() {
  local piece start status=0
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
  durations=()
  for piece in "$@"; do
    start=$SECONDS
    timeout "$limit" bash ".ci/${0##*/}" "$piece" || status=$?
    durations+=("$(printf '%-12s %5d s' "$piece" $((SECONDS - start)))")
    ((status == 0)) || break
  done
  printf '\n== time\n'
  printf '%s\n' "${durations[@]}" "$(printf '%-12s %5d s' total "$SECONDS")"
  if ((status)); then
    echo "== $piece failed with status $status (124: not finished within $limit)" >&2
    exit "$status"
  fi
}
