/** Directories that all programs of a machine share. */
const SHARED = new Set(
  [
    '/ /bin /boot /dev /dev/shm /etc /home /lib /media /mnt /opt /proc /run /sbin /srv /sys /tmp /usr /usr/lib /usr/local /usr/share',
    '/var /var/cache /var/lib /var/lock /var/log /var/run /var/spool /var/tmp /var/www',
  ].flatMap((line) => line.split(' ')),
)

/** True if other programs need the directory, so that it must not become private. `path`: with links resolved. */
export function isSharedDirectory(path: string): boolean {
  return SHARED.has(path)
}
