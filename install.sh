#!/bin/sh
# Installs the kubectl-smp program for Linux or macOS, after its checksum was verified.
#
#   curl -fsSL https://raw.githubusercontent.com/kubectl-smp/kubectl-smp/main/install.sh | sh
#
# SMP_VERSION      version, such as 0.1.0 (default: the latest release)
# SMP_INSTALL_DIR  directory (default: ~/.local/bin)
# SMP_BASE_URL     directory with the archives and SHA256SUMS, instead of that of the release
set -eu

fail() {
  echo "install.sh: $*" >&2
  exit 1
}

releases=https://github.com/kubectl-smp/kubectl-smp/releases
case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
*) fail "no archive for $(uname -s); see $releases" ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "no archive for $(uname -m); see $releases" ;;
esac

if [ -n "${SMP_BASE_URL:-}" ]; then
  url=$SMP_BASE_URL
elif [ -n "${SMP_VERSION:-}" ]; then
  url=$releases/download/v${SMP_VERSION#v}
else
  url=$releases/latest/download
fi
directory=${SMP_INSTALL_DIR:-$HOME/.local/bin}
archive=kubectl-smp-$os-$arch.tar.gz

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
fetch() {
  curl --fail --silent --show-error --location --retry 3 --output "$temporary/$1" "$url/$1" || fail "cannot fetch $url/$1"
}
fetch "$archive"
fetch SHA256SUMS

want=$(awk -v name="$archive" '$2 == name || $2 == "*" name { print $1 }' "$temporary/SHA256SUMS")
[ -n "$want" ] || fail "SHA256SUMS has no checksum of $archive"
if command -v sha256sum >/dev/null; then
  got=$(sha256sum "$temporary/$archive" | cut -d' ' -f1)
else
  got=$(shasum -a 256 "$temporary/$archive" | cut -d' ' -f1)
fi
[ "$got" = "$want" ] || fail "$archive has the checksum $got instead of $want; nothing was installed"

tar -xzf "$temporary/$archive" -C "$temporary" kubectl-smp
mkdir -p "$directory"
# Written next to the old program and renamed, so that a running one is not damaged.
cp "$temporary/kubectl-smp" "$directory/.kubectl-smp.$$"
chmod 0755 "$directory/.kubectl-smp.$$"
mv "$directory/.kubectl-smp.$$" "$directory/kubectl-smp"
echo "installed $("$directory/kubectl-smp" version -o json | sed -n 's/.*"version": *"\([^"]*\)".*/\1/p') in $directory/kubectl-smp"
case :$PATH: in
*:"$directory":*) ;;
*) echo "add $directory to PATH, so that kubectl finds the plugin" ;;
esac
