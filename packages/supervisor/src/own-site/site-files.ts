import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { SiteConfig } from '@svc/config'
import { codeOf, Gate, replaceFile } from '@svc/core'
import { readPrivate, siteFilePath, siteFilesDir, siteSocket } from '@svc/processes'
import { type GenerationSpec, hostSpecOf, type SiteFile, siteFile } from '@svc/protocol'

const PRIVATE_DIRECTORY = 0o700
const TOKEN_BYTES = 32
const TOKEN_CHARS = Buffer.alloc(TOKEN_BYTES).toString('base64url').length

/** Returns the token of an earlier master's file, so that a unit survives a restart of the master. */
async function keptToken(path: string): Promise<string | undefined> {
  try {
    const { token } = siteFile(JSON.parse(await readPrivate(path)), path)
    return token.length === TOKEN_CHARS ? token : undefined
  } catch {
    // Missing, readable by others, or incomplete: a token in it must not be used.
    return undefined
  }
}

/** The files of the sites with processes of their own, `<run_dir>/sites/<id>.json`: one for each, for its user alone. */
export class SiteFiles {
  readonly #runDir: string
  readonly #tokens = new Map<string, string>()
  readonly #turn = new Gate(1)

  constructor(runDir: string) {
    this.#runDir = runDir
  }

  /** Undefined: the site has no file. */
  token(site: string): string | undefined {
    return this.#tokens.get(site)
  }

  /** Updates the files to a generation, one call after the other. Rejects if a write fails. */
  write(spec: GenerationSpec, sites: readonly SiteConfig[]): Promise<void> {
    return this.#turn.run(() => this.#write(spec, sites))
  }

  async #write(spec: GenerationSpec, sites: readonly SiteConfig[]): Promise<void> {
    const dir = siteFilesDir(this.#runDir)
    if (sites.length > 0) await mkdir(dir, { recursive: true, mode: PRIVATE_DIRECTORY })
    for (const site of sites) await this.#writeOne(spec, site)
    const wanted = new Set(sites.map(({ id }) => id))
    for (const id of this.#tokens.keys()) if (!wanted.has(id)) this.#tokens.delete(id)
    await removeOthers(dir, new Set(sites.map(({ id }) => `${id}.json`)))
  }

  async #writeOne(spec: GenerationSpec, site: SiteConfig): Promise<void> {
    const path = siteFilePath(this.#runDir, site.id)
    const token = this.#tokens.get(site.id) ?? (await keptToken(path)) ?? randomBytes(TOKEN_BYTES).toString('base64url')
    const { server, cache } = spec.config
    const content: SiteFile = {
      site: site.id,
      token,
      socket: siteSocket(this.#runDir, site.id),
      ownDirectories: [server.state_dir, server.run_dir, cache.dir, spec.moduleDir],
      spec: hostSpecOf(spec, [site]),
    }
    await replaceFile(path, `${JSON.stringify(content)}\n`)
    this.#tokens.set(site.id, token)
  }
}

/** Deletes files of sites that no longer have a process of their own. */
async function removeOthers(dir: string, wanted: ReadonlySet<string>): Promise<void> {
  try {
    const names = await readdir(dir)
    await Promise.all(names.filter((name) => !wanted.has(name)).map((name) => rm(join(dir, name), { force: true })))
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
}
