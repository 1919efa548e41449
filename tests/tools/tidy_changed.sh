#!/bin/bash
# clang-tidy on the C++ sources that changed since the merge base with main (or, on main itself, since
# the commit before); at most TIDY_LIMIT files (default 40). Without a history to compare with: a fixed
# sample of the tree. `tidy_changed.sh --all` looks at everything.
#
# Its commands are those of the preset "tidy", where every file includes what it uses: a precompiled header of
# GCC means nothing to clang.
set -euo pipefail
cd "$(dirname "$0")/../.."
database=build/tidy
limit=${TIDY_LIMIT:-40}
mkdir -p build
cmake --preset tidy >build/tidy.log || { cat build/tidy.log >&2; exit 1; }
# Sources of the tests include what protoc writes.
cmake --build $database --target drydock_cluster_proto >>build/tidy.log || { cat build/tidy.log >&2; exit 1; }

# A clone may belong to somebody else; reading it is harmless.
history() { git -c safe.directory='*' "$@" 2>/dev/null; }

all_sources() {
  find base strategies sim reports launcher tests bench -name '*.cc' | LC_ALL=C sort
}

# Commit to compare with; nothing if there is none.
base_commit() {
  local head branch base
  head=$(history rev-parse -q --verify HEAD) || return 0
  for branch in origin/main main; do
    base=$(history merge-base HEAD "$branch") || continue
    if [ -n "$base" ] && [ "$base" != "$head" ]; then
      echo "$base"
      return 0
    fi
  done
  history rev-parse -q --verify HEAD~1 || true
}

# A header is looked at through the source beside it, or else one source that includes it.
source_of() {
  local file=$1
  case $file in
    *.cc) echo "$file" ;;
    *.h)
      if [ -f "${file%.h}.cc" ]; then
        echo "${file%.h}.cc"
      else
        grep -rlF --include='*.cc' "#include \"$file\"" base strategies sim reports launcher tests bench |
          LC_ALL=C sort | head -n 1
      fi ;;
  esac
}

if [ "${1:-}" = --all ]; then
  limit=1000000
  candidates=$(all_sources)
elif base=$(base_commit) && [ -n "$base" ]; then
  echo "tidy: changes since $(history rev-parse --short "$base")"
  candidates=$(history diff --name-only --diff-filter=d "$base" -- '*.cc' '*.h'; history diff --name-only --diff-filter=d -- '*.cc' '*.h')
else
  echo "tidy: no history to compare with; a sample"
  candidates=$(all_sources | awk -v n="$limit" '{ all[NR] = $0 } END { step = NR > n ? NR / n : 1;
    for (i = 1; i <= NR; i += step) print all[int(i)] }')
fi

sources=()
while read -r file; do
  # Only what the build knows how to compile (fuzz targets and benchmarks belong to other presets).
  [ -n "$file" ] && grep -qF "/$file\"" $database/compile_commands.json && sources+=("$file")
done < <(for file in $candidates; do [ -f "$file" ] && source_of "$file"; done | LC_ALL=C sort -u)

if [ ${#sources[@]} -eq 0 ]; then
  echo "tidy: nothing to look at"
  exit 0
fi
if [ ${#sources[@]} -gt "$limit" ]; then
  echo "tidy: $limit of ${#sources[@]} files (TIDY_LIMIT)"
  sources=("${sources[@]:0:$limit}")
fi
printf '%s\0' "${sources[@]}" |
  xargs -0 -n 1 -P "${JOBS:-$(nproc)}" clang-tidy-14 --quiet -p $database 2> >(grep -v ' warnings generated' >&2)
echo "tidy: ${#sources[@]} files ok"
