#!/bin/sh
# Installs pi for this user: downloads the archive of this platform, compares its checksum, and puts
# the program into ~/.local/bin.
#
#   PI_RELEASES  address of a release: the directory with SHA256SUMS and the archives
#   PI_BIN       directory of the program, instead of ~/.local/bin
#   PI_DATA      directory of manual and completions, instead of ~/.local/share
set -eu

fail() { printf 'install: %s\n' "$1" >&2; exit 1; }

# Without a published release there is no address to begin with, and none is guessed.
releases=${PI_RELEASES:-}
bin=${PI_BIN:-$HOME/.local/bin}
data=${PI_DATA:-$HOME/.local/share}

[ -n "$releases" ] || fail "set PI_RELEASES to the address of a release"
[ "$(uname -s)" = Linux ] || fail "there are no binaries for $(uname -s); build with: cargo install --path crates/pi"
case $(uname -m) in
  x86_64 | amd64) target=x86_64-unknown-linux-musl ;;
  aarch64 | arm64) target=aarch64-unknown-linux-musl ;;
  *) fail "there are no binaries for $(uname -m); build with: cargo install --path crates/pi" ;;
esac

if command -v curl > /dev/null; then
  fetch() { curl --fail --silent --show-error --location --output "$2" "$1"; }
elif command -v wget > /dev/null; then
  fetch() { wget --quiet --output-document "$2" "$1"; }
else
  fail "curl or wget is needed"
fi

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"

fetch "$releases/SHA256SUMS" SHA256SUMS || fail "cannot download $releases/SHA256SUMS"
archive=$(sed -n "s/^[0-9a-f]\{64\}  \(pi-.*-$target\.tar\.gz\)\$/\1/p" SHA256SUMS)
[ -n "$archive" ] || fail "the release has no archive for $target"
fetch "$releases/$archive" "$archive" || fail "cannot download $releases/$archive"
grep "  $archive\$" SHA256SUMS | sha256sum --check --quiet - > /dev/null 2>&1 ||
  fail "the checksum of $archive is wrong; nothing was installed"
tar -xzf "$archive"
cd "${archive%.tar.gz}"

mkdir -p "$bin" "$data/man/man1" "$data/bash-completion/completions" "$data/fish/vendor_completions.d"
# A running program cannot be overwritten, but it can be replaced.
cp pi "$bin/.pi.new"
chmod 755 "$bin/.pi.new"
mv "$bin/.pi.new" "$bin/pi"
cp man/pi.1 "$data/man/man1/pi.1"
cp completions/pi.bash "$data/bash-completion/completions/pi"
cp completions/pi.fish "$data/fish/vendor_completions.d/pi.fish"

printf 'installed %s\n' "$("$bin/pi" --version | sed "s|^|pi |") in $bin"
case ":$PATH:" in
  *":$bin:"*) ;;
  *) printf 'add %s to PATH to use it\n' "$bin" ;;
esac
