#!/bin/sh
# Installs, upgrades, removes and purges the package on a copy of this machine's system, whose files stay as they are. Runs in
# namespaces of its own. Prints a line for each fact that the test is about.
#
#   debian-package.sh WORK FIRST.deb SECOND.deb
set -e
work=$1 first=$2 second=$3
root=$work/root
mkdir "$work/upper" "$work/overlay" "$root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/overlay" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mkdir -p "$root/run" "$root/srv" && mount -t tmpfs -o mode=755 tmpfs "$root/run" && mount -t tmpfs -o mode=755 tmpfs "$root/srv"
ip link set lo up
mountpoint -q "$root"
# Of a server of this machine, which stays as it is.
for path in etc/svc opt/svc var/lib/svc var/cache/svc var/log/svc; do rm -rf "${root:?}/$path"; done
cp "$first" "$root/srv/first.deb" && cp "$second" "$root/srv/second.deb"

inside() { chroot "$root" "$@"; }
fact() { echo "fact: $*"; }
apply() { inside env DEBIAN_FRONTEND=noninteractive dpkg --force-unsafe-io "$@" >>"$work/dpkg.log" 2>&1 || { cat "$work/dpkg.log" >&2; exit 1; }; }
state() { # state <when>
  fact "$1: package $(inside dpkg-query -W -f '${db:Status-Status} ${Version}' svc 2>/dev/null || echo none)"
  for path in /etc/svc /etc/svc/svc.config.toml /var/lib/svc/kept /opt/svc/current /opt/svc/releases/0.9.1 /usr/bin/svc /opt/svc; do
    fact "$1: $path $(inside stat -c '%A %U:%G' "$path" 2>/dev/null || echo absent)"
  done
}
node=/opt/svc/current/bin/node
get() { # get <url>: status and text
  inside "$node" -e 'fetch(process.argv[1]).then(async (r) => console.log(r.status, (await r.text()).replace(/\s+/g, " ").slice(0, 3000)))' "$1"
}

apply -i /srv/first.deb
state installed
fact "user: $(inside getent passwd svc | cut -d: -f6,7)"
fact "version: $(inside svc --version)"
fact "kernel: $(grep -v '^#' "$root/usr/lib/sysctl.d/50-svc.conf")"

# As systemd would: its directories, and the command of the unit.
inside install -d -o svc -g svc -m 700 /run/svc /var/lib/svc /var/cache/svc
inside svc new /srv/site >/dev/null 2>&1
inside chmod -R a+rX /srv/site
printf '\n[[sites]]\nid = "site"\nhostnames = ["127.0.0.1"]\nroot = "/srv/site"\n' >>"$root/etc/svc/svc.config.toml"
fact "check: $(inside runuser -u svc -- svc config check 2>&1)"
command=$(sed -n 's/^ExecStart=//p' "$root/usr/lib/systemd/system/svc.service")
inside runuser -u svc -- $command >"$work/server.log" 2>&1 &
server=$!
for _ in $(seq 600); do
  if grep -q '"event":"ready"' "$work/server.log" || ! kill -0 $server 2>/dev/null; then break; fi
  sleep 0.1
done
grep -q '"event":"ready"' "$work/server.log" || { cat "$work/server.log" >&2; exit 1; }
fact "health: $(get http://127.0.0.1:8080/health)"
fact "page: $(get http://127.0.0.1:8080/)"
fact "status: $(inside svc status | head -n 1)"
inside svc stop >/dev/null
wait $server || :
inside touch /var/lib/svc/kept

apply -i /srv/second.deb
state upgraded
fact "link: $(inside readlink /opt/svc/current)"
fact "kept: $(inside grep -c 'id = "site"' /etc/svc/svc.config.toml)"
apply -r svc
state removed
apply -P svc
state purged
fact "cache: $(inside ls -d /var/cache/svc 2>/dev/null || echo absent)"
fact "user after: $(inside getent passwd svc | cut -d: -f1)"
fact "units: $(inside find /etc/systemd /usr/lib/systemd /usr/lib/sysctl.d /var/lib/systemd -name '*svc*' | tr '\n' ' ')"
