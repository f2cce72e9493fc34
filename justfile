# Recipes for development. `just --list` prints them; the scripts in `.ci` install the tools that they need.

# List the recipes
default:
    @just --list

# Run the tests that need no other tools
test *ARGS:
    cargo test --locked {{ARGS}}

# Run every piece of CI, including tests against kustomize, kubectl and an API server
test-all:
    .ci/run

# Check format, clippy, the language of texts and the dependencies
lint:
    .ci/run lint

# Run the tests against a real API server, which is started and stopped
live:
    .ci/run live

# Run long tests and benchmarks; without PIECE all of them
long *PIECE:
    .ci/long {{PIECE}}

# Update the inline snapshots of the tests
snapshots:
    INSTA_UPDATE=always INSTA_FORCE_PASS=1 cargo test --locked --no-fail-fast
    git diff --stat
