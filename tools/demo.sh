#!/bin/sh
# All of it from end to end without a network: a made-up upstream with some trouble in it, stand-ins
# for the services behind links, and `tain up` against them, in a temporary folder that is gone
# afterwards. On a terminal it runs until Ctrl-C; without one it shows that the page answers and
# that a link is looked up, and ends.
#   tools/demo.sh [ids]
set -eu
cd "$(dirname "$0")/.."
tain=${BUILD:-build}/tain
ids=${1:-60000}

work=$(mktemp -d)
db=${DEMO_DB:-$work/demo.db}
upstream=
up=
finish() {
    [ -z "$up" ] || kill "$up" 2>/dev/null || true
    [ -z "$up" ] || wait "$up" || true
    [ -z "$upstream" ] || kill "$upstream" 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Waits for the line of a process ($1) in a file ($2) that names its address.
address() {
    until grep -q ' at http' "$2"; do
        kill -0 "$1" 2>/dev/null || { echo "demo.sh: $3 did not start" >&2; exit 1; }
        sleep 0.05
    done
    sed -n 's/.* at \(http[^ ]*\).*/\1/p' "$2"
}

"$tain" demo --port 0 --maxitem "$ids" --fresh --grow 0.14 --services \
    --fault share=0.002:status=500:times=2 --fault rate=0.002:reset \
    --fault share=0.001:garbage:times=1 --fault id=4242:status=503 >"$work/upstream" &
upstream=$!
hn=$(address "$upstream" "$work/upstream" "the upstream")
until grep -q '^# ready' "$work/upstream"; do sleep 0.05; done
grep '^export ' "$work/upstream" >"$work/services" # where Reddit and the others are made up
. "$work/services"
echo "a made-up Hacker News of $ids items, with some trouble in it: $hn"

start() {
    "$tain" up --upstream "$hn" --db "sqlite:$db" --listen "127.0.0.1:${DEMO_PORT:-0}" \
        --metrics-bind none --link-stories front --rps 2000 --retry-max-ms 1000 "$@" &
    up=$!
}
echo "\$ $tain up --upstream $hn"
if [ -t 1 ] && [ -t 2 ]; then
    echo
    echo "Open the address below in a browser. The newest days come first, history behind."
    echo "Ctrl-C stops it and leaves nothing behind."
    echo
    echo "Paste one of these at /add and watch who discussed it, and what it says, come in:"
    sed -n 's/^# \(.*: .*\)/    \1/p' "$work/upstream"
    echo
    start --log-level warn
    wait "$up"
    exit
fi

start >"$work/up"
page=$(address "$up" "$work/up" "tain up")
echo "tain is up at $page"

# Nobody is looking: it shows what a reader would have seen, and stops.
python3 - "$page" "$(sed -n 's/^# an article: //p' "$work/upstream")" <<'PY'
import json, sys, time, urllib.parse, urllib.request

def get(path):
    with urllib.request.urlopen(sys.argv[1] + path, timeout=120) as answer:
        return answer.read().decode()

def until(ask, what):
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        answer = ask()
        if answer:
            return answer
        time.sleep(0.2)
    sys.exit(f'demo.sh: {what} did not come')

def stories():
    ids = json.loads(get('v0/topstories.json'))[:3]
    items = [json.loads(get(f'v0/item/{story}.json')) for story in ids]
    page = get('')
    there = all(f'item?id={story}' in page for story in ids)
    return there and len(items) == 3 and all(items) and items

def hits():
    return json.loads(get('api/v1/search?query=bicycles'))['nbHits']

print('the page answers, and these are on top:')
for item in until(stories, 'stories'):
    print('   ', item.get('title'))
print('and search finds', until(hits, 'the search index'), 'items about bicycles')

def add(url):
    form = urllib.parse.urlencode({'url': url}).encode()
    with urllib.request.urlopen(sys.argv[1] + 'add', form, timeout=120) as page:
        return page.geturl().rsplit('/', 1)[1]  # it led to the page of the link

def looked_up():
    tasks = json.loads(get(f'api/link/{link}/processing'))
    return tasks if all(task['status'] != 'pending' for task in tasks.values()) else None

link = add(sys.argv[2])
tasks = until(looked_up, 'the end of a link')
known = json.loads(get('api/check?' + urllib.parse.urlencode({'url': sys.argv[2]})))
print('a link is added:', sys.argv[2])
for name in ('reddit', 'hn', 'summary'):
    print('   ', name, tasks[name]['status'])
print('   ', known['link']['summary'])
PY
kill "$up"
wait "$up"
up=
echo
"$tain" status --db "sqlite:$db"
