#!/bin/sh
# Fetches the peers that the benchmarks compare with: nginx, Varnish and wrk from Debian's packages (as root), Next.js from npm into a
# folder of its own outside of the workspaces, with the same pages as bench/sites/rows.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work="$here/.work/next"

if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
  if ! command -v wrk >/dev/null 2>&1 || [ ! -x /usr/sbin/nginx ] || [ ! -x /usr/sbin/varnishd ]; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends wrk nginx-light varnish >/dev/null
  fi
fi
command -v wrk >/dev/null 2>&1 || { echo "wrk is missing: sudo apt-get install wrk" >&2; exit 69; }

mkdir -p "$work"
rm -rf "$work/app"
cp -R "$here/sites/rows/app" "$work/app"
cat >"$work/package.json" <<'JSON'
{ "name": "bench-next", "private": true, "dependencies": { "next": "16.4.6", "react": "19.3.1", "react-dom": "19.3.1" },
  "devDependencies": { "typescript": "5.9.3", "@types/react": "19.3.0", "@types/node": "22.20.5" } }
JSON
cd "$work"
[ -d node_modules/next ] || npm install --no-audit --no-fund --no-package-lock
NEXT_TELEMETRY_DISABLED=1 npx next build
