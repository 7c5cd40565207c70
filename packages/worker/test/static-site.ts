import { mkdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { tempDir, writeFiles } from '@svc/testkit'
import { StaticFiles } from '../src/static/index.ts'
import { type ClientBehaviour, type Recorded, RecordedExchange } from './recorded-exchange.ts'

/** A public directory of its own for one test, beside which lies a secret. */
export class StaticSite {
  readonly dir: string
  readonly root: string
  readonly files: StaticFiles
  readonly problems: string[] = []

  constructor(
    t: TestContext,
    contents: Readonly<Record<string, string | Buffer>> = {},
    options: Partial<ConstructorParameters<typeof StaticFiles>[0]> = {},
  ) {
    this.dir = tempDir(t, 'static')
    this.root = join(this.dir, 'public')
    mkdirSync(this.root)
    writeFiles(this.dir, { 'secret.txt': 'secret' })
    writeFiles(this.root, contents)
    this.files = new StaticFiles({ root: this.root, onProblem: (error) => this.problems.push(error.message), ...options })
  }

  pathOf(name: string): string {
    return join(this.root, name)
  }

  write(name: string, content: string | Buffer): void {
    writeFiles(this.root, { [name]: content })
  }

  /** Sets the time of modification, in seconds since the epoch. */
  touch(name: string, seconds: number): void {
    utimesSync(this.pathOf(name), seconds, seconds)
  }

  /** The response for a path, or `missing`. */
  async get(path: string, behaviour: ClientBehaviour = {}): Promise<Recorded | 'missing'> {
    const exchange = new RecordedExchange(behaviour)
    if ((await this.files.serve(exchange, path)) === 'served') return exchange.response()
    return exchange.isAnswered ? Promise.reject(new Error('missing, but answered')) : 'missing'
  }

  /** The response for a path that must be there. */
  async found(path: string, behaviour: ClientBehaviour = {}): Promise<Recorded> {
    const response = await this.get(path, behaviour)
    if (response === 'missing') throw new Error(`${path} is missing`)
    return response
  }
}
