#!/usr/bin/env bash
# deps.sh build|demo|test|bench|fuzz|tidy: installs the Debian packages that step needs, and nothing
# when they are there already (then it costs a few milliseconds and no rights). Packages of npm go
# below build/npm.
set -euo pipefail

build=(g++ cmake ninja-build make pkg-config libboost1.81-dev nlohmann-json3-dev libcli11-dev
       libfmt-dev libgit2-dev libnghttp2-dev libsqlite3-dev libssl-dev libtomlplusplus-dev zlib1g-dev btrfs-progs)
test=(libgtest-dev libgmock-dev clang-format-14
      qemu-system-x86 busybox-static cpio kmod xz-utils e2fsprogs  # the guests of tools/guest
      apparmor systemd  # parse the profiles and units that are installed
      bubblewrap sqlite3 tmux patch procps attr strace redis-server postgresql
      openssh-server openssh-client  # of tests/scenarios/signing.sh
      nftables iproute2 curl openssl  # the sandbox of tests/egress
      python3-yaml)  # reads what tests/property/readers.py makes, as a tool would
bench=(bubblewrap runc runsc firejail squid tinyproxy nginx-light wrk openssl)
tidy=(clang-tidy-19)
fuzz=(clang-19 libclang-rt-19-dev)
# The demo and the usefulness suite run these inside a sandbox. People have them from elsewhere too, so
# what counts is the command: "command package".
demo_tools=('git git' 'python3 python3' 'pip3 python3-pip')
test_tools=("${demo_tools[@]}" 'gcc gcc' 'nm binutils' 'node nodejs' 'npm npm' 'cargo cargo'
            'go golang-go' 'java default-jre-headless')

# The coding agent of a story; the last of its kind that runs with Debian's node.
test_npm=(@anthropic-ai/claude-code@1.0.128)

case ${1-} in
  build) packages=("${build[@]}") tools=() ;;
  demo) packages=("${build[@]}") tools=("${demo_tools[@]}") ;;
  test) packages=("${build[@]}" "${test[@]}") tools=("${test_tools[@]}") ;;
  bench) packages=("${build[@]}" "${bench[@]}") tools=('git git') ;;
  fuzz) packages=("${build[@]}" "${fuzz[@]}") tools=() ;;
  tidy) packages=("${build[@]}" "${test[@]}" "${tidy[@]}") tools=() ;;
  *) echo "usage: tools/deps.sh build|demo|test|bench|fuzz|tidy" >&2; exit 2 ;;
esac

# The venv of Debian's python3 is a package of its own; other Pythons bring theirs.
if [ "$1" = test ] && [ "$(command -v python3 || echo /usr/bin/python3)" = /usr/bin/python3 ]; then
  packages+=(python3-venv)
fi

# Without it the story that needs it is skipped, and says so.
install_from_npm() {
  local package name
  for package in "${test_npm[@]}"; do
    name=${package%@*}
    [ ! -e "build/npm/node_modules/$name/package.json" ] || continue
    echo "installing from npm: $package" >&2
    npm install --silent --no-fund --no-audit --no-update-notifier --prefix build/npm "$package" > /dev/null ||
      echo "npm could not install $package" >&2
  done
}
finish() {
  [ "$1" != test ] || install_from_npm
  exit 0
}

if ! command -v dpkg-query > /dev/null; then
  echo "deps.sh knows Debian's package names only; install their equivalents: ${packages[*]}" >&2
  exit 1
fi
installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' "${packages[@]}" 2> /dev/null |
  sed -n 's/^ii  *//p' || true)
missing=()
for package in "${packages[@]}"; do
  grep -qxF "$package" <<< "$installed" || missing+=("$package")
done
for tool in "${tools[@]}"; do
  command -v "${tool% *}" > /dev/null || missing+=("${tool#* }")
done
[ ${#missing[@]} -gt 0 ] || finish "$1"

as_root=()
if [ "$(id -u)" != 0 ]; then
  if ! command -v sudo > /dev/null; then
    echo "missing packages; as root: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "installing: ${missing[*]}" >&2
# The tests bring servers up themselves: none is started because its package was installed.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee $policy > /dev/null
  "${as_root[@]}" chmod 755 $policy
  trap '"${as_root[@]}" rm -f $policy' EXIT
fi
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null
finish "$1"
