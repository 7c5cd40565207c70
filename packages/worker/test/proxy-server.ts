import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { tempDir, writeFiles } from '@svc/testkit'
import { type EngineName, type RunningEngine, startEngine } from '../../engine/test/start-engine.ts'
import { CannedRenderer } from './canned-renderer.ts'
import { serveDirectory } from './served-directory.ts'

/** Listen address of the vhost files of tests; the port that is bound is another. */
export const ADDRESS = '127.0.0.1:8099'

/** A server with sockets in this process. */
export interface ProxyServer extends RunningEngine {
  /** Logged failures. */
  readonly failures: readonly string[]
}

/** Options of a test. */
export interface ProxyOptions {
  /** @default "uws" */
  readonly engine?: EngineName
  /** Beside the server, e.g. `upstream` blocks. */
  readonly outside?: string
  /** Lines of the configuration file below `[server]`. */
  readonly config?: string
}

/** Starts an engine with the stages of a worker and one server block with these directives. */
export async function startProxy(t: TestContext, directives: string, options: ProxyOptions = {}): Promise<ProxyServer> {
  const dir = tempDir(t, 'proxy')
  writeFiles(dir, {
    'svc.config.toml': `[server]\nvhosts = ["web.conf"]\n${options.config ?? ''}`,
    'web.conf': `svc_cache_status on; ${options.outside ?? ''}\nserver { listen ${ADDRESS}; ${directives} }`,
  })
  const failures: string[] = []
  const { l0, onExchange } = await serveDirectory(dir, {
    listen: [{ name: ADDRESS, host: '127.0.0.1', port: 0 }],
    renderer: new CannedRenderer((site) => join(dir, site)),
    app: { name: 'app', run: () => 'next' },
    onProblem: (error) => assert.fail(error),
    onFailure: ({ message }, status) => failures.push(`${status} ${message}`),
  })
  const running = await startEngine(t, options.engine ?? 'uws', onExchange, { ready: l0, maxBodyBytes: 1 << 30 }, ADDRESS)
  return { ...running, failures }
}
