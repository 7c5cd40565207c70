/** The body of the health endpoint. */
interface Health {
  readonly status: 'healthy' | 'degraded'
  readonly uptime_secs: number
  readonly checks: Record<string, string>
}

/** Free space of a file system that the service writes to. */
export interface DiskSpace {
  readonly path: string
  /** 0 to 1; what an unprivileged process may use. */
  readonly freeRatio: number
}

/** Parts of the instance, measured. A part that is left out is not there and gets no check. */
interface HealthInputs {
  readonly uptimeMs: number
  readonly renderPool: {
    /** Render hosts that should be up, and those that are. */
    readonly hostsWanted: number
    readonly hostsReady: number
    /** Sites with a process of their own that is not there. */
    readonly absentSites?: readonly string[]
    /** Sites whose renders wait while they have no thread. */
    readonly starvedSites: readonly string[]
    /** Sites whose isolates, or render hosts, end again and again. */
    readonly loopingSites: readonly string[]
  }
  /** Shown only while something is wrong with connection workers. */
  readonly workers: { readonly wanted: number; readonly ready: number; readonly isCrashLooping: boolean }
  readonly disks: readonly DiskSpace[]
  /** Reason why the ISR store is unusable; undefined: it works. */
  readonly isrCache?: { readonly problem: string | undefined }
  readonly redis?: { readonly problem: string | undefined }
  /** Unreadable, mismatched or expired certificates; nearing expiry is not a fault. */
  readonly tlsCerts?: { readonly problems: readonly string[] }
}

const MIN_FREE_RATIO = 0.05

function verdict(problem: string | undefined): string {
  return problem === undefined ? 'ok' : `degraded: ${problem}`
}

function renderPoolProblem(pool: HealthInputs['renderPool']): string | undefined {
  if (pool.hostsReady < pool.hostsWanted) return `${pool.hostsReady} of ${pool.hostsWanted} render hosts are up`
  const { absentSites = [] } = pool
  if (absentSites.length > 0) return `no process serves ${absentSites.join(', ')}`
  if (pool.loopingSites.length > 0) return `isolates are crash-looping: ${pool.loopingSites.join(', ')}`
  if (pool.starvedSites.length > 0) return `no render thread for ${pool.starvedSites.join(', ')}`
  return undefined
}

function workersProblem(workers: HealthInputs['workers']): string | undefined {
  if (workers.isCrashLooping) return `workers are crash-looping, ${workers.ready} of ${workers.wanted} are up`
  return workers.ready === 0 ? 'no worker is up' : undefined
}

function diskProblem(disks: readonly DiskSpace[]): string | undefined {
  const full = disks.filter((disk) => disk.freeRatio < MIN_FREE_RATIO)
  if (full.length === 0) return undefined
  return full.map((disk) => `${(disk.freeRatio * 100).toFixed(1)} % free at ${disk.path}`).join(', ')
}

/** Judges the instance: healthy when every part that exists is. */
export function evaluateHealth(inputs: HealthInputs): Health {
  const checks: Record<string, string> = { render_pool: verdict(renderPoolProblem(inputs.renderPool)) }
  if (inputs.isrCache !== undefined) checks['isr_cache'] = verdict(inputs.isrCache.problem)
  if (inputs.redis !== undefined) checks['redis'] = verdict(inputs.redis.problem)
  if (inputs.tlsCerts !== undefined)
    checks['tls_certs'] = verdict(inputs.tlsCerts.problems.length === 0 ? undefined : inputs.tlsCerts.problems.join('; '))
  if (inputs.disks.length > 0) checks['disk_space'] = verdict(diskProblem(inputs.disks))
  const workers = workersProblem(inputs.workers)
  if (workers !== undefined) checks['workers'] = verdict(workers)
  const isHealthy = Object.values(checks).every((check) => check === 'ok')
  return { status: isHealthy ? 'healthy' : 'degraded', uptime_secs: Math.floor(inputs.uptimeMs / 1000), checks }
}
