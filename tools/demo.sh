#!/bin/sh
# The main job from end to end without a network: a made-up upstream with some trouble in it, and a
# catch-up from it into ./demo.db, which is made anew each time.
#   tools/demo.sh [ids]
set -eu
cd "$(dirname "$0")/.."
tain=${BUILD:-build}/tain
ids=${1:-20000}
db=${DEMO_DB:-demo.db}

work=$(mktemp -d)
upstream=
finish() {
    [ -z "$upstream" ] || kill "$upstream" 2>/dev/null || true
    rm -rf "$work"
}
say() {
    echo "\$ $*"
    "$@"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

"$tain" demo --port 0 --maxitem $((ids + 20000)) \
    --fault share=0.002:status=500:times=2 --fault rate=0.002:reset \
    --fault share=0.001:garbage:times=1 --fault id=4242:status=503 >"$work/upstream" &
upstream=$!
until grep -q '^demo upstream at ' "$work/upstream"; do
    kill -0 "$upstream" 2>/dev/null || { echo "demo.sh: the upstream did not start" >&2; exit 1; }
    sleep 0.05
done
cat "$work/upstream"
url=$(sed -n 's/^demo upstream at \([^ ]*\) .*/\1/p' "$work/upstream")

rm -f "$db" "$db-wal" "$db-shm"
code=0
say "$tain" catchup --upstream "$url" --db "sqlite:$db" --end-id "$ids" --rps 0 \
    --retry-max-ms 1000 || code=$?
# 3: it ended, and something is left to look at: id 4242 fails at every try. The newest 20,000 ids
# are left alone because a null among them is asked for again, for a day, before it is believed.
[ "$code" -eq 0 ] || [ "$code" -eq 3 ] || exit "$code"
echo
say "$tain" status --db "sqlite:$db"
echo
echo "The archive is in $db: try  $tain export - --db sqlite:$db --end-id 3"
