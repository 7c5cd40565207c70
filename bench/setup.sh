#!/bin/sh
# Fetches the peers that the benchmarks compare with: nginx, Varnish and wrk from Debian's packages (as root), Next.js from npm into
# folders of their own outside of the workspaces: with the same pages as bench/sites/rows, and with the best kept cache handler for Redis.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
  if ! command -v wrk >/dev/null 2>&1 || [ ! -x /usr/sbin/nginx ] || [ ! -x /usr/sbin/varnishd ]; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends wrk nginx-light varnish >/dev/null
  fi
fi
command -v wrk >/dev/null 2>&1 || { echo "wrk is missing: sudo apt-get install wrk" >&2; exit 69; }

# build NAME SITE MORE: makes .work/NAME of the pages of bench/sites/SITE, with MORE dependencies.
build() {
  dir="$here/.work/$1"
  mkdir -p "$dir"
  rm -rf "$dir/app"
  cp -R "$here/sites/$2/." "$dir"
  cat >"$dir/package.json" <<JSON
{ "name": "bench-$1", "private": true, "dependencies": { "next": "16.4.6", "react": "19.3.1", "react-dom": "19.3.1"$3 },
  "devDependencies": { "typescript": "5.9.3", "@types/react": "19.3.0", "@types/node": "22.20.5" } }
JSON
  cd "$dir"
  [ -d node_modules/next ] || npm install --no-audit --no-fund --no-package-lock
  NEXT_TELEMETRY_DISABLED=1 npx next build
}

# next: for the pages of one server. next-redis: for instances that share a Redis.
build next rows ''
build next-redis next-redis ', "redis": "5.8.3", "@fortedigital/nextjs-cache-handler": "3.3.0"'
