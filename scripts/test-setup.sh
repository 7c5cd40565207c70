#!/bin/sh
# Installs the Debian packages that the integration tests use, when it may; else says what is missing. Tests that need a
# missing package are skipped by name, and fail under CI=true.
set -eu

missing=""
need() { # need <package> <command>...: the package counts as there when one of the commands is
  package=$1
  shift
  for command in "$@"; do
    if command -v "$command" >/dev/null 2>&1 || [ -x "/usr/sbin/$command" ]; then return 0; fi
  done
  missing="$missing $package"
}

need nginx-light nginx
need redis-server redis-server
need php-fpm php-fpm php-fpm8.2 php-fpm8.4 php-fpm8.3 php-fpm8.1
need uwsgi-core uwsgi
for kind in static filter; do
  [ -f "/usr/lib/nginx/modules/ngx_http_brotli_${kind}_module.so" ] || missing="$missing libnginx-mod-http-brotli-$kind"
done
[ -f /usr/lib/uwsgi/plugins/python3_plugin.so ] || missing="$missing uwsgi-plugin-python3"
need openssl openssl
need curl curl
need bsdutils script
need iproute2 ip
need prometheus prometheus
need systemd systemd-analyze
need chromium chromium chromium-browser google-chrome
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "missing packages:$missing" >&2
  echo "tests that need them are left out; install them with: sudo apt-get install$missing" >&2
  exit 0
fi

echo "installing$missing" >&2
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086 # a list of words
apt-get install -y -qq --no-install-recommends $missing >/dev/null
