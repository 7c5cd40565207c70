import { mkdir, readdir, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '@svc/core'
import { SupervisorError } from '@svc/processes'

/** A render host that can write the heap of an isolate of a site. */
interface SnapshotHost {
  readonly id: string
  readonly process: {
    readonly peer: {
      call(
        name: 'heapSnapshot',
        request: { site: string; target: { file: string; maxBytes: number } },
        options: { timeoutMs: number },
      ): Promise<{ readonly bytes?: number | undefined }>
    }
  }
}

/** A snapshot that was taken. */
interface HeapSnapshot {
  /** Absolute path. */
  readonly file: string
  readonly bytes: number
  /** Id of the render host. */
  readonly host: string
}

const MAX_BYTES = 1024 * 1024 * 1024
/** Snapshots that are kept, with the latest. */
const MAX_KEPT = 3
/** An isolate with a full heap of the usual limit takes about 20 seconds. */
const TIMEOUT_MS = 80_000
const SUFFIX = '.heapsnapshot'

/** Has render hosts write heap snapshots into `<state_dir>/heap-snapshots`, one at a time, and keeps the last few. */
export class HeapSnapshots {
  readonly #dir: string
  readonly #now: () => number
  #isBusy = false

  constructor(stateDir: string, now: () => number) {
    this.#dir = join(stateDir, 'heap-snapshots')
    this.#now = now
  }

  /**
   * Takes a snapshot of an isolate of a site.
   * @param hosts those that render the site
   * @throws SUP_SNAPSHOT, and RENDER_SNAPSHOT of the host
   */
  async take(site: string, hosts: readonly SnapshotHost[]): Promise<HeapSnapshot> {
    if (this.#isBusy) throw new SupervisorError('SUP_SNAPSHOT', 'another heap snapshot is being taken')
    this.#isBusy = true
    try {
      await mkdir(this.#dir, { recursive: true, mode: 0o700 })
      await this.#clean(MAX_KEPT - 1)
      await this.#requireSpace()
      return await this.#takeFrom(site, hosts)
    } finally {
      this.#isBusy = false
    }
  }

  async #takeFrom(site: string, hosts: readonly SnapshotHost[]): Promise<HeapSnapshot> {
    const time = new Date(this.#now()).toISOString().replaceAll(/[-:]/g, '')
    const file = join(this.#dir, `${time}-${site.replaceAll(/[^\w.-]/g, '_').slice(0, 64)}${SUFFIX}`)
    for (const { id, process } of hosts) {
      const { bytes } = await this.#ask(process, site, file)
      if (bytes !== undefined) return { file, bytes, host: id }
    }
    throw new SupervisorError('SUP_SNAPSHOT', `no isolate of ${site} runs: request a page of it first`)
  }

  /** A snapshot cannot be aborted: one that is too late is deleted with the next ones. */
  async #ask({ peer }: SnapshotHost['process'], site: string, file: string): Promise<{ readonly bytes?: number | undefined }> {
    const request = { site, target: { file, maxBytes: MAX_BYTES } }
    try {
      return await peer.call('heapSnapshot', request, { timeoutMs: TIMEOUT_MS })
    } catch (error) {
      const code = codeOf(error)
      if (code === 'CORE_TIMEOUT') throw new SupervisorError('SUP_SNAPSHOT', `${file} is not complete yet: it takes long`)
      if (code !== 'CORE_PEER_GONE') throw error
      await rm(file, { force: true })
      throw new SupervisorError('SUP_SNAPSHOT', 'the render host ended while it took a heap snapshot')
    }
  }

  async #requireSpace(): Promise<void> {
    const { bavail, bsize, blocks } = await statfs(this.#dir)
    if (blocks === 0 || bavail * bsize >= 2 * MAX_BYTES) return
    const message = `a heap snapshot needs ${(2 * MAX_BYTES) / 2 ** 20} MB of free space in ${this.#dir}`
    throw new SupervisorError('SUP_SNAPSHOT', message)
  }

  /** Deletes all but the latest: their names begin with their time. */
  async #clean(kept: number): Promise<void> {
    const names = (await readdir(this.#dir)).filter((name) => name.endsWith(SUFFIX)).sort()
    for (const name of names.slice(0, Math.max(0, names.length - kept))) await rm(join(this.#dir, name), { force: true })
  }
}
