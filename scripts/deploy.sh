#!/bin/sh
# Puts a release of the server itself into service, and goes back by itself if that fails. See docs/releases.md.
set -eu

usage() {
  cat <<'HELP'
usage: deploy.sh [options]             build a release from this checkout and put it into service
       deploy.sh --swap-only [VERSION] put a built release into service (default: the newest that is not in service)
       deploy.sh --rollback            put the release before the present one into service

  --root DIR         where releases/ and the links current and previous are (default /opt/svc)
  --version NAME     name of the release to build (default: version of package.json and commit)
  --config FILE      configuration to check and serve (default /etc/svc/svc.config.toml)
  --site ID          restart only the unit svc-ID; the server itself keeps its release until its next restart
  --unit NAME        unit of the server (default svc)
  --health-url URL   health report (default: /__svc/health on the first listen address)
  --accept-degraded  a health report 503 is no failure: for a server that was degraded before
  --timeout SECS     for the unit to be ready, and then for a healthy report (default 120)
  --settle SECS      time that it must stay up and healthy (default 3)
  --keep N           releases to keep besides those in use (default 5)
  --dry-run          say the steps and change nothing

exit code: 0 done, 1 failed and the old release is in service, 2 failed and so did going back,
           64 usage, 69 no such release, 75 another deployment runs, 78 the release was rejected before the swap
HELP
}

say() { printf '%s\n' "deploy: $*"; }
die() { # die CODE TEXT...
  code=$1
  shift
  printf '%s\n' "deploy: $*" >&2
  exit "$code"
}

mode=build root=/opt/svc version='' config=/etc/svc/svc.config.toml site='' unit=svc health_url='' timeout=120 settle=3 keep=5 dry=no accept=no
needs_value() { [ "$2" -ge 2 ] || die 64 "$1 needs a value (deploy.sh --help)"; }
while [ $# -gt 0 ]; do
  case $1 in
    --swap-only)
      mode=swap
      case ${2:-} in '' | -*) ;; *)
        version=$2
        shift
        ;;
      esac
      ;;
    --rollback) mode=rollback ;;
    --dry-run) dry=yes ;;
    --accept-degraded) accept=yes ;;
    --help | -h)
      usage
      exit 0
      ;;
    --root | --version | --config | --site | --unit | --health-url | --timeout | --settle | --keep)
      needs_value "$1" $#
      name=$(printf '%s' "${1#--}" | tr - _)
      eval "$name=\$2"
      shift
      ;;
    *) die 64 "unknown argument $1 (deploy.sh --help)" ;;
  esac
  shift
done
for number in "$timeout" "$settle" "$keep"; do
  case $number in '' | *[!0-9]*) die 64 "not a number: $number (--timeout, --settle, --keep)" ;; esac
done
case $version$site in *[!A-Za-z0-9._-]* | .* | -*) die 64 "a version or site may have letters, digits, dot, hyphen, underscore: $version$site" ;; esac
source_dir=$(cd "$(dirname "$0")/.." && pwd -P)
[ -d "$root" ] || die 64 "no directory $root: create it, or name another with --root"
root=$(cd "$root" && pwd -P)
releases=$root/releases
[ -z "$site" ] || unit=svc-$site

release_of() { # the release that a link names, or nothing
  target=$(readlink "$root/$1" 2>/dev/null || :)
  case $target in releases/*) [ -d "$root/$target" ] && printf '%s' "${target#releases/}" ;; esac
  return 0
}
old=$(release_of current)
[ -n "$old" ] || [ ! -e "$root/current" ] || die 64 "$root/current is not a link into releases/: move it away first"

# --- a release -----------------------------------------------------------------------------------------------------

checksums() { # checksums DIR: of everything that does not change once it is built
  (cd "$1" && {
    find . -type f ! -path './dist/code-cache/*' ! -path ./release.sha256 -exec sha256sum {} +
    find . -type l -printf 'link  %p -> %l\n'
  } | LC_ALL=C sort -k 2)
}

as_service() { # runs a command as the user of the unit, who must be able to read the release and the configuration
  user=$(systemctl show -p User --value "$unit" 2>/dev/null || :)
  if [ "$(id -u)" -eq 0 ] && [ -n "$user" ] && [ "$user" != root ] && id "$user" >/dev/null 2>&1; then
    runuser -u "$user" -- "$@"
  else "$@"; fi
}

verify() { # verify DIR: that it is as it was built, and that it accepts the configuration
  [ -f "$1/release.sha256" ] || die 78 "$1 is not a whole release: it has no release.sha256"
  listed=$(mktemp)
  checksums "$1" >"$listed"
  if ! cmp -s "$listed" "$1/release.sha256"; then
    diff "$1/release.sha256" "$listed" | sed -n 's/^[<>] [0-9a-z]*  /  /p' | sort -u | head -5 >&2
    rm -f "$listed"
    die 78 "$1 was changed after it was built (the files above): build it again"
  fi
  rm -f "$listed"
  accepts "$1"
}

accepts() { # accepts DIR
  as_service "$1/bin/svc" config check --config "$config" >&2 || die 78 "${1##*/} rejects $config (above)"
}

build() {
  command -v npm >/dev/null 2>&1 || die 69 'npm is missing: building a release needs it (Node.js 20 or later)'
  staging=$releases/.building-$version
  say "building $version"
  sources=$staging/sources release=$staging/$version
  mkdir "$staging" "$sources"
  if [ -e "$source_dir/.git" ]; then git -C "$source_dir" archive HEAD | tar -x -C "$sources"
  else tar -c -C "$source_dir" --exclude=./node_modules --exclude=./dist --exclude='./.svc' . | tar -x -C "$sources"; fi
  [ -f "$sources/package.json" ] || die 1 "failed to copy the sources to $sources (is the disk full?)"
  rm -rf "${sources:?}/test" "${sources:?}/bench"
  # The files of the release are those of the sources' directory, which is deleted: linked, they need no room twice.
  (cd "$sources" && npm install --omit=dev --no-save --no-audit --no-fund --loglevel=error && npm run --silent build &&
    bin/node scripts/release-directory.mjs --link "$release") >&2 || die 1 'the build failed (above); nothing was changed'
  rm -rf "${sources:?}"
  chmod -R a+rX,go-w "$release"
  checksums "$release" >"$release/release.sha256"
  accepts "$release"
  sync -f "$release"
  mv -T "$release" "$releases/$version"
  rm -rf "${staging:?}"
  staging=''
}

in_use() { # in_use VERSION: linked, or a process runs from it
  [ "$1" = "$(release_of current)" ] || [ "$1" = "$(release_of previous)" ] ||
    readlink /proc/[0-9]*/exe 2>/dev/null | grep -qF "$releases/$1/"
}

clean() { # deletes the oldest releases
  # The names have no blanks: see the check of the version.
  # shellcheck disable=SC2012
  ls -1t "$releases" | tail -n "+$((keep + 1))" | while read -r name; do
    in_use "$name" && continue
    say "deleting the release $name"
    mv -T "$releases/$name" "$releases/.deleting-$name" && rm -rf "$releases/.deleting-$name"
  done
}

# --- the swap ------------------------------------------------------------------------------------------------------

link() { # link NAME VERSION: one rename, so that the link always names a whole release
  ln -sfn "releases/$2" "$root/.$1.new"
  mv -fT "$root/.$1.new" "$root/$1"
}

other_units() { # of sites with a process of their own: an old one may not understand a new server
  [ -z "$site" ] || return 0
  systemctl list-units --plain --no-legend --state=active,activating "$unit-*.service" 2>/dev/null | while read -r other _; do
    if runs_current "$other"; then printf '%s\n' "$other"; fi
  done
}

runs_current() { systemctl show -p ExecStart --value "$1" 2>/dev/null | grep -qF "$root/current/dist/cli.js"; }

job=''
attend() { # runs a command that a signal to this script interrupts; a shell takes no signal while it waits for one in the foreground
  "$@" &
  job=$!
  wait "$job"
}

report() { exec "$@" >"$root/.health" 2>&1; } # to be attended: not for the output of a signal's handler

restart() {
  systemctl reset-failed "$unit" >/dev/null 2>&1 || :
  # A unit that failed again and again has taken its sockets down.
  if [ -z "$site" ] && systemctl is-enabled --quiet "$unit.socket" 2>/dev/null; then
    systemctl reset-failed "$unit.socket" >/dev/null 2>&1 || :
    systemctl start "$unit.socket" || :
  fi
  attend timeout "$timeout" systemctl restart "$unit" || {
    [ $? -ne 124 ] || why="$unit was not ready within $timeout s"
    return 1
  }
  for other in $(other_units); do systemctl restart "$other" || {
    why="$other failed to start"
    return 1
  }; done
}

main_pid() { systemctl show -p MainPID --value "$unit"; }

serves() { # serves VERSION: the unit is up, runs this release, and its report is healthy, now and after a while
  why="$unit did not start"
  restart || return 1
  systemctl is-active --quiet "$unit" || return 1
  pid=$(main_pid)
  case $(readlink "/proc/$pid/exe" || :) in
    "$releases/$1/"*) ;;
    *)
      why="$unit did not start the release $1"
      return 1
      ;;
  esac
  for wait in "$timeout" 1; do
    healthy=yes
    attend report "$releases/$1/bin/node" "$releases/$1/scripts/deploy-health.mjs" \
      "$releases/$1/bin/svc" "$config" "$wait" "$accept" "$health_url" || healthy=no
    why=$(cat "$root/.health")
    [ $healthy = yes ] || return 1
    [ "$wait" = 1 ] || attend sleep "$settle"
    [ "$(main_pid)" = "$pid" ] || {
      why="$unit died after it had started"
      return 1
    }
  done
}

back() { # back REASON: the old release again; ends the script
  trap '' INT TERM HUP
  swapped=no
  # A short time was for the new release.
  [ "$timeout" -ge 120 ] || timeout=120
  say "FAILED: $1" >&2
  # Without the access lines.
  journalctl -u "$unit" -n 200 -o cat --no-pager 2>/dev/null | grep -v '^{"time"' | tail -n 15 | sed 's/^/  | /' | cut -c 1-300 >&2 || :
  if [ -z "$old" ]; then
    rm -f "$root/current"
    die 2 "there is no release to go back to; $new is in $releases"
  fi
  link current "$old"
  if [ -n "$before" ]; then link previous "$before"; else rm -f "$root/previous"; fi
  serves "$old" || die 2 "$old FAILED too: $why. Look at: systemctl status $unit; journalctl -u $unit"
  die 1 "$old is in service again; $new is in $releases for you to look at"
}

swapped=no staging=''
ended() {
  status=$?
  trap - EXIT
  [ -z "$staging" ] || rm -rf "$staging"
  rm -f "$root/.current.new" "$root/.previous.new" "$root/.health"
  exit "$status"
}
interrupted() {
  [ -z "$job" ] || kill "$job" 2>/dev/null || :
  [ "$swapped" = no ] || back 'interrupted'
  exit 130
}

# --- the steps -----------------------------------------------------------------------------------------------------

case $mode in
  build)
    if [ -z "$version" ]; then
      version=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' "$source_dir/package.json")
      commit=$(git -C "$source_dir" rev-parse --short=12 HEAD 2>/dev/null || date -u +%Y%m%d%H%M%S)
      version=$version-$commit
    fi
    if [ -e "$source_dir/.git" ] && [ -n "$(git -C "$source_dir" status --porcelain)" ]; then
      die 64 "$source_dir has changes that are not committed: commit them, a release is built from the commit"
    fi
    [ ! -e "$releases/$version" ] || die 64 "there is a release $version: put it into service with --swap-only $version, or build it as another --version"
    ;;
  swap)
    # shellcheck disable=SC2012
    [ -n "$version" ] || version=$(ls -1t "$releases" 2>/dev/null | awk -v old="$old" '$0 != old { print; exit }')
    [ -n "$version" ] || die 69 "no other release in $releases"
    ;;
  rollback)
    version=$(release_of previous)
    [ -n "$version" ] || die 69 "no release to go back to: $root/previous names none"
    ;;
esac
new=$version
[ "$mode" = build ] || [ -d "$releases/$new" ] || die 69 "no release $new in $releases"
runs_current "$unit" ||
  die 64 "the unit $unit does not start $root/current/dist/cli.js: install it with $root/current/bin/svc systemd, or see systemd/"
[ "$new" != "$old" ] || [ -n "$site" ] || die 64 "$new is in service already (systemctl restart $unit restarts it)"

if [ "$dry" = yes ]; then
  [ "$mode" != build ] || say "would build $new from $source_dir in $releases/$new"
  say "would verify $new (checksums, svc config check --config $config)"
  say "would swap $root/current from ${old:-nothing} to $new"
  say "would restart $unit $(other_units | tr '\n' ' ')and wait for it to be ready and healthy, else go back to ${old:-nothing}"
  exit 0
fi

mkdir -p "$releases"
exec 9>"$root/.deploy.lock"
flock -n 9 || die 75 "another deployment is running in $root"
trap ended EXIT
trap interrupted INT TERM HUP
rm -rf "$releases"/.building-* "$releases"/.deleting-*
if [ "$mode" = build ]; then build; else verify "$releases/$new"; fi
before=$(release_of previous)
say "swapping ${old:-nothing} for $new"
# Until the verdict a signal goes back.
swapped=yes
[ -z "$old" ] || [ "$old" = "$new" ] || link previous "$old" || die 1 "failed to write to $root; nothing was swapped"
link current "$new" || die 1 "failed to write to $root; ${old:-nothing} stays in service"
serves "$new" || back "$why"
swapped=no
say "$new is in service: $why"
[ -z "$site" ] || say "only $unit was restarted; the server takes $new at its next restart"
clean
