import assert from 'node:assert/strict'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { PluginReport } from '@svc/protocol'
import { tempDir, writeFiles } from '@svc/testkit'
import type { MemoryResponse } from '../../engine/test/inject/index.ts'
import { PipelineServer, shop } from './pipeline-server.ts'

/** A plugin of a test, in a file that is named after it. `hooks` is the text of its object. */
export function plugin(name: string, hooks: string, more = ''): Record<string, string> {
  return { [`${name}.mjs`]: `export default { name: '${name}', version: '1', ${more} hooks: { ${hooks} } }\n` }
}

const site = { ...shop, files: { ...shop.files, 'public/a.txt': 'file a', 'public/b.txt': 'file b' } }

/** The pipeline with a site and plugins. */
export class PluginServer {
  readonly dir: string
  readonly #more: string
  #server: PipelineServer | undefined

  private constructor(dir: string, more: string) {
    this.dir = dir
    this.#more = more
  }

  /** `more`: further text of the configuration. */
  static async start(t: TestContext, files: Readonly<Record<string, string>>, more = ''): Promise<PluginServer> {
    // Deadlines do not keep a process alive.
    const alive = setInterval(() => undefined, 60_000)
    t.after(() => clearInterval(alive))
    const own = new PluginServer(join(tempDir(t, 'plugins'), 'plugins'), more)
    own.write(files)
    own.#server = await PipelineServer.start(t, [site], own.#config)
    return own
  }

  get pipeline(): PipelineServer {
    assert.ok(this.#server, 'it is started')
    return this.#server
  }

  write(files: Readonly<Record<string, string>>): void {
    writeFiles(this.dir, files)
    chmodSync(this.dir, 0o755)
    for (const name of Object.keys(files)) chmodSync(join(this.dir, name), 0o644)
  }

  /** Rejects if the plugins cannot be loaded: the generation before stays. */
  reload(more = ''): Promise<void> {
    return this.pipeline.reload([site], this.#config + more)
  }

  get(url: string, options: Parameters<PipelineServer['get']>[1] = {}): Promise<MemoryResponse> {
    return this.pipeline.get(url, options)
  }

  report(name: string): PluginReport {
    const found = this.pipeline.plugins.report().find((one) => one.name === name)
    assert.ok(found, name)
    return found
  }

  get #config(): string {
    return `[plugins]\ndirectory = "${this.dir}"\n${this.#more}`
  }
}
