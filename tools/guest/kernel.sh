#!/usr/bin/env bash
# kernel.sh SERIES DIR: puts Debian's cloud kernel of that series (6.1, 6.12) into DIR:
#   vmlinuz, release, lib/modules/RELEASE/ (only what modules.txt names, uncompressed)
# The package is downloaded and unpacked, never installed: the host's /boot stays as it is.
# Exit status 77: there is no such package here, with the reason.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
series=$1
dir=$2
PATH=$PATH:/usr/sbin:/sbin

skip() {
  echo "SKIP: kernel $series: $*" >&2
  exit 77
}

case $series in
  6.1) meta=linux-image-cloud-amd64 ;;
  *) meta=linux-image-$series-cloud-amd64 ;;
esac

mkdir -p "$(dirname "$dir")"
exec 9> "$dir.lock"
flock 9
if [ -e "$dir/complete" ] && [ "$dir/complete" -nt "$here/modules.txt" ] &&
   [ "$dir/complete" -nt "$here/kernel.sh" ]; then
  exit 0
fi
[ "$(uname -m)" = x86_64 ] || skip "the guests are x86-64 and this machine is $(uname -m)"
for tool in apt-get depmod xz; do
  command -v $tool > /dev/null || skip "$tool is missing: tools/deps.sh test"
done

# The meta package names the newest release of the series that the configured apt sources have.
newest() {
  apt-cache depends --important "$meta" 2> /dev/null |
    awk '/Depends: linux-image-.*cloud-amd64$/ {print $2; exit}'
}
fetch() {
  package=$(newest)
  [ -n "$package" ] || return 1
  case ${package#linux-image-} in "$series".*) ;; *) return 1 ;; esac
  (cd "$work" && apt-get download -qq "$package" 2> download.log)
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
package=
if ! fetch; then
  # The lists may be absent or older than the archive.
  as_root=
  [ "$(id -u)" = 0 ] || as_root='sudo -n'
  $as_root apt-get update -qq > /dev/null 2>&1 || true
  fetch || skip "the apt sources offer no ${package:-$meta} to download"
fi
dpkg-deb -x "$work"/linux-image-*.deb "$work/unpacked"
release=$(basename "$work"/unpacked/lib/modules/*)
depmod -b "$work/unpacked" "$release"

rm -rf "$dir"
modules=$dir/lib/modules/$release
mkdir -p "$modules"
grep -v '^#' "$here/modules.txt" | while read -r name; do
  # modules.dep lists a module and all it needs; what is built in is in modules.builtin.
  awk -F: -v pattern="(^|/)$name\\\\.ko(\\\\.xz)?\$" '$1 ~ pattern {print $1 $2}' \
    "$work/unpacked/lib/modules/$release/modules.dep" | tr ' ' '\n' > "$work/files"
  if ! [ -s "$work/files" ] &&
     ! grep -q "/$name\.ko\$" "$work/unpacked/lib/modules/$release/modules.builtin"; then
    echo "kernel $release has no module $name (modules.txt)" >&2
    exit 1
  fi
  cat "$work/files"
done | sort -u | while read -r file; do
  [ -n "$file" ] || continue
  mkdir -p "$modules/$(dirname "$file")"
  cp "$work/unpacked/lib/modules/$release/$file" "$modules/$file"
  case $file in *.xz) xz -d "$modules/$file" ;; esac
done
cp "$work/unpacked/lib/modules/$release"/modules.{builtin,builtin.modinfo,order} "$modules/"
depmod -b "$dir" "$release" 2> /dev/null
cp "$work/unpacked/boot/vmlinuz-$release" "$dir/vmlinuz"
echo "$release" > "$dir/release"
touch "$dir/complete"
