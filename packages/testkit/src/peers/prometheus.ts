import { join } from 'node:path'
import { Child } from '../processes/child.ts'
import { type Cleanup, tempDir, writeFiles } from '../processes/temp-dir.ts'

/** A Prometheus server of a test. */
export interface PrometheusPeer {
  readonly child: Child
  /** Its address as a URL without trailing slash. */
  readonly url: string
}

/** Starts a Prometheus with this configuration and empty storage. `executable` comes from `requireProgram`. */
export async function startPrometheus(t: Cleanup, executable: string, config: string): Promise<PrometheusPeer> {
  const dir = tempDir(t, 'prometheus')
  writeFiles(dir, { 'prometheus.yml': config })
  const args = [`--config.file=${join(dir, 'prometheus.yml')}`, `--storage.tsdb.path=${join(dir, 'data')}`]
  const child = new Child(t, executable, [...args, '--web.listen-address=127.0.0.1:0'], { cwd: dir })
  const listening = /msg="Listening on" address=(\S+)/
  const line = await child.waitForLine('address of Prometheus', (text) => listening.test(text))
  await child.waitForLine('ready line of Prometheus', (text) => text.includes('Server is ready to receive web requests'))
  return { child, url: `http://${listening.exec(line)?.[1]}` }
}
