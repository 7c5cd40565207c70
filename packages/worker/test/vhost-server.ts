import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { writeFiles } from '@svc/testkit'
import type { InjectOptions, MemoryResponse } from '../../engine/test/inject/index.ts'
import { PipelineServer, type TestSite } from './pipeline-server.ts'

/** Listen addresses of a test; no socket is bound. */
export const addresses = ['127.0.0.1:8080', '127.0.0.1:8081'] as const

/** A server of the pipeline with vhost files. */
export class VhostServer {
  readonly pipeline: PipelineServer
  readonly #sites: readonly TestSite[]

  private constructor(pipeline: PipelineServer, sites: readonly TestSite[]) {
    this.pipeline = pipeline
    this.#sites = sites
  }

  /** `{dir}` in the text stands for the directory of the files, `{on0}` and `{on1}` for listen addresses. */
  static async start(
    t: TestContext,
    conf: string,
    files: Readonly<Record<string, string>> = {},
    sites: readonly TestSite[] = [],
  ): Promise<VhostServer> {
    const pipeline = await PipelineServer.start(t, sites)
    pipeline.listen = addresses.map((name) => ({ name, host: '127.0.0.1', port: Number(name.split(':')[1]) }))
    const server = new VhostServer(pipeline, sites)
    writeFiles(pipeline.dir, files)
    await server.reload(conf)
    return server
  }

  async reload(conf: string): Promise<void> {
    const { pipeline } = this
    const text = conf.replace(/\{on(\d)\}/g, (_match, index) => addresses[Number(index)] ?? '').replaceAll('{dir}', pipeline.dir)
    writeFileSync(join(pipeline.dir, 'vhosts.conf'), `svc_cache_status on; ${text}`)
    await pipeline.reload(this.#sites, '[server]\nvhosts = ["vhosts.conf"]\n')
  }

  /** Sends a request to a.test on the first address unless told otherwise. */
  get(url: string, options: Omit<InjectOptions, 'url'> = {}): Promise<MemoryResponse> {
    return this.pipeline.get(url, { host: 'a.test', listener: addresses[0], ...options })
  }

  /** Outcome of a request in L0. */
  async l0(url: string, options: Omit<InjectOptions, 'url'> = {}): Promise<'hit' | 'other'> {
    const { headers } = await this.get(url, options)
    return String(headers['cache-status']).includes('svc-l0; hit') ? 'hit' : 'other'
  }
}
