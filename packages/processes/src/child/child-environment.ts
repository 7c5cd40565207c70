/** Variables of the master's environment that child programs need. All others, including secrets, stay with the master. */
const HOST_KEYS = ['PATH', 'TZ', 'LANG', 'NODE_COMPILE_CACHE'] as const
const WORKER_KEYS = [...HOST_KEYS, 'LC_ALL', 'HOME', 'TMPDIR', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR'] as const

type Environment = Readonly<Record<string, string | undefined>>

function pick(env: Environment, keys: readonly string[]): Record<string, string> {
  return Object.fromEntries(keys.flatMap((key) => (env[key] === undefined ? [] : [[key, env[key]]])))
}

/**
 * Returns the environment of a render host: of the operator's values only path, time zone and language. Without the allocator
 * settings every larger string that leaves an isolate costs fresh pages of the kernel.
 */
export function hostEnvironment(env: Environment, runDir: string): Record<string, string> {
  return {
    ...pick(env, HOST_KEYS),
    SVC_RUN_DIR: runDir,
    MALLOC_MMAP_THRESHOLD_: '33554432',
    MALLOC_TRIM_THRESHOLD_: '134217728',
    MALLOC_TOP_PAD_: '16777216',
  }
}

/** Settings that a worker gets in its environment. */
interface WorkerFacts {
  readonly runDir: string
  /** Read by engine uws when it loads, from nowhere else. */
  readonly maxHeaderBytes: number
  /** File descriptor for access lines. */
  readonly accessLogFd: number
}

/** Returns the environment of a worker. */
export function workerEnvironment(env: Environment, facts: WorkerFacts): Record<string, string> {
  return {
    ...pick(env, WORKER_KEYS),
    SVC_RUN_DIR: facts.runDir,
    SVC_ACCESS_LOG_FD: String(facts.accessLogFd),
    UWS_HTTP_MAX_HEADERS_SIZE: String(facts.maxHeaderBytes),
  }
}

/** node:cluster adds the master's whole environment to the given one; a key set to undefined is left out. */
export function onlyThese(env: Environment, wanted: Readonly<Record<string, string>>): Record<string, string | undefined> {
  const cleared = Object.fromEntries(Object.keys(env).map((key) => [key, undefined]))
  return { ...cleared, ...wanted }
}
