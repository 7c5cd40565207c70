import { execFileSync } from 'node:child_process'
import { chmod, copyFile, mkdir, readdir, readFile, rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { writeRelease } from './write-release.mjs'

/** The newest symbols that a native part needs: see `objdump -T`. */
const DEPENDS = 'libc6 (>= 2.30), libgcc-s1, libstdc++6 (>= 8), passwd, init-system-helpers (>= 1.52)'
const SCRIPTS = ['postinst', 'prerm', 'postrm']
const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' }

/** Architecture of the packages of this machine, as Debian names it. */
export function debianArchitecture() {
  return ARCHITECTURES[process.arch]
}

/** A version as Debian orders it: pre-releases come before the release. */
export function debianVersion(version) {
  return version.replace('-', '~')
}

function control(manifest, version, installedKib) {
  const fields = {
    Package: 'svc',
    Version: version,
    Architecture: debianArchitecture(),
    Maintainer: 'svc contributors <svc@localhost>',
    'Installed-Size': installedKib,
    Depends: DEPENDS,
    Recommends: 'ca-certificates',
    Suggests: 'redis-server',
    Section: 'httpd',
    Priority: 'optional',
    Description: `${manifest.description}\n It has its own Node.js. The service svc reads /etc/svc/svc.config.toml.`,
  }
  return `${Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')}\n`
}

async function put(path, content, mode = 0o644) {
  await mkdir(join(path, '..'), { recursive: true, mode: 0o755 })
  await writeFile(path, content, { mode })
  await chmod(path, mode)
}

/** Licence, change log and example of all keys. */
async function writeDocs(root, release, dir) {
  const text = await readFile(join(root, 'LICENSE'), 'utf8')
  const [, copyright = ''] = /^Copyright \(c\) (.+)$/m.exec(text) ?? []
  const licence = text
    .trimEnd()
    .split('\n')
    .map((line) => ` ${line === '' ? '.' : line}`)
    .join('\n')
  const header = await readFile(join(root, 'packaging/debian/copyright'), 'utf8')
  await put(join(dir, 'copyright'), `${header}Copyright: ${copyright}\nLicense: MIT\n${licence}\n`)
  await put(join(dir, 'changelog.gz'), gzipSync(await readFile(join(root, 'CHANGELOG.md')), { level: 9 }))
  for (const name of ['README.md', 'svc.config.toml.example']) await copyFile(join(release, name), join(dir, name))
}

/** Lays out the files of a package below a directory, as they will be below /. */
async function layOut(root, tree, version) {
  const release = join(tree, 'opt/svc/releases', version)
  await writeRelease(root, release, false)
  await symlink(`releases/${version}`, join(tree, 'opt/svc/current'))
  await mkdir(join(tree, 'usr/bin'), { recursive: true, mode: 0o755 })
  await symlink('/opt/svc/current/bin/svc', join(tree, 'usr/bin/svc'))
  const units = join(tree, 'usr/lib/systemd/system')
  await mkdir(units, { recursive: true, mode: 0o755 })
  for (const name of await readdir(join(release, 'systemd'))) {
    if (!name.endsWith('.in')) await rename(join(release, 'systemd', name), join(units, name))
  }
  await put(join(tree, 'usr/lib/sysctl.d/50-svc.conf'), await readFile(join(root, 'packaging/debian/50-svc.conf')))
  await writeDocs(root, release, join(tree, 'usr/share/doc/svc'))
  await put(join(tree, 'etc/svc/svc.config.toml'), await readFile(join(root, 'packaging/debian/svc.config.toml')))
}

/**
 * Builds a Debian package of a checkout that is installed and built.
 * @param options.work an empty directory
 * @param options.out path of the package
 * @param options.compression of dpkg-deb: "xz", "gzip", "none"
 */
export async function buildDebianPackage({ root, work, out, version, compression }) {
  const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  await chmod(work, 0o755)
  await layOut(root, work, version)
  const kib = Number.parseInt(execFileSync('du', ['-sk', '--apparent-size', work], { encoding: 'utf8' }), 10)
  const meta = join(work, 'DEBIAN')
  await put(join(meta, 'control'), control(manifest, version, kib))
  await put(join(meta, 'conffiles'), '/etc/svc/svc.config.toml\n')
  for (const name of SCRIPTS) await put(join(meta, name), await readFile(join(root, 'packaging/debian', name)), 0o755)
  execFileSync('dpkg-deb', ['--root-owner-group', `-Z${compression}`, '--build', work, out], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}
