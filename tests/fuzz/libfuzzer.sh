#!/usr/bin/env bash
# libfuzzer.sh BUILD_DIRECTORY [SECONDS [TARGET...]]: the parsers of cloche-egress under libFuzzer
# with AddressSanitizer. Its findings stay in BUILD_DIRECTORY/fuzz; a crash ends it with status 1.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$1/fuzz seconds=${2:-60}
shift; shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(dns hello http h2 socks rule control canary)
mkdir -p "$out"
clang=$(command -v clang++-19 || command -v clang++)
sources=(tests/fuzz/libfuzzer.cc tests/fuzz/egress_targets.cc src/base/{ip_address,result,text}.cc
         src/egress/{canary_scanner,canary_set,client_hello,control,dns_message,h2_message,host_name,http_body,http_head,mask,rule,rule_text,server_certificate,socks}.cc)
newest=$(ls -t "${sources[@]}" src/egress/*.h | head -1)
if [ ! -x "$out/egress" ] || [ "$newest" -nt "$out/egress" ]; then
  "$clang" -std=c++23 -stdlib=libstdc++ \
    -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -iquote src \
    -iquote tests/fuzz -D_GNU_SOURCE -DFMT_HEADER_ONLY "${sources[@]}" -lz -o "$out/egress"
fi
for target in "${targets[@]}"; do
  mkdir -p "$out/$target"
  echo "fuzz $target for $seconds s"
  CLOCHE_FUZZ=$target "$out/egress" -max_total_time="$seconds" -max_len=4096 -print_final_stats=0 \
    -verbosity=0 -artifact_prefix="$out/$target-" "$out/$target" "tests/corpus/egress/$target"
done
