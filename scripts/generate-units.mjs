// Writes the units of systemd/ as `svc systemd` prints them for an installation in /opt/svc/current. Run with the bundled Node:
//
//   bin/node scripts/generate-units.mjs
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { socketUnitFile } from '../packages/cli/src/commands/socket-unit-file.ts'
import { unitFile } from '../packages/cli/src/commands/unit-file.ts'
import { loadConfig } from '../packages/config/src/index.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const units = { 'svc.service': undefined, 'svc-site.service.in': '@SITE@' }

const dir = await mkdtemp(join(tmpdir(), 'svc-units-'))
try {
  await writeFile(join(dir, 'svc.config.toml'), '')
  const loaded = await loadConfig({ file: 'svc.config.toml', env: {}, cwd: dir, isRoot: false })
  if (!loaded.ok) throw new Error(loaded.problems.map(({ message }) => message).join('\n'))
  await writeFile(join(root, 'systemd/svc.socket'), `${await socketUnitFile(loaded.listen)}\n`)
  for (const [name, site] of Object.entries(units)) {
    const text = unitFile({
      installation: '/opt/svc/current',
      user: 'svc',
      configFile: '/etc/svc/svc.config.toml',
      directories: { run: '/run/svc', state: '/var/lib/svc', cache: '/var/cache/svc' },
      logFiles: [],
      drainSeconds: loaded.config.scaling.graceful_shutdown_timeout_secs,
      site,
    })
    await writeFile(join(root, 'systemd', name), `${text}\n`)
  }
} finally {
  await rm(dir, { recursive: true })
}
