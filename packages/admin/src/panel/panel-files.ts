import { existsSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ContentCoding } from '@svc/http'
import { AdminError } from '../errors/errors.ts'

/** The manifest that the build of the panel writes: names of its files, and its pages. */
interface Manifest {
  /** The script that begins, the style sheet, and the icon. */
  readonly script: string
  readonly style: string
  readonly icon: string
  /** Scripts that the first one imports. */
  readonly preload: readonly string[]
  /** By name: the type, and the codings in which the build has compressed it. */
  readonly files: Readonly<Record<string, { readonly type: string; readonly codings: readonly ContentCoding[] }>>
  /** By the path of a page: scripts that it needs besides. */
  readonly pages: Readonly<Record<string, readonly string[]>>
}

/** A file of the panel. Its name changes with its content. */
interface PanelFile {
  readonly name: string
  readonly contentType: string
  readonly codings: readonly ContentCoding[]
  read(coding: ContentCoding): Promise<Uint8Array>
}

const endings: Readonly<Partial<Record<ContentCoding, string>>> = { br: '.br', gzip: '.gz' }

/** The files of the panel, each read at its first use and kept: there are as many as the build made. */
export class PanelFiles {
  readonly manifest: Manifest
  readonly #dir: string
  readonly #read = new Map<string, Promise<Uint8Array>>()

  /** @throws PANEL_FILES when the panel is not built */
  constructor(dir = panelDir()) {
    this.#dir = dir
    this.manifest = JSON.parse(readFileSync(join(dir, 'manifest.json'), 'utf8')) as Manifest
  }

  /** Undefined: the build made no such file. */
  find(name: string): PanelFile | undefined {
    const facts = Object.hasOwn(this.manifest.files, name) ? this.manifest.files[name] : undefined
    if (facts === undefined) return undefined
    const { type: contentType, codings } = facts
    return { name, contentType, codings, read: (coding) => this.#bytes(`${name}${endings[coding] ?? ''}`) }
  }

  #bytes(name: string): Promise<Uint8Array> {
    const known = this.#read.get(name)
    if (known !== undefined) return known
    const bytes = readFile(join(this.#dir, name))
    this.#read.set(name, bytes)
    // The next request tries again.
    bytes.catch(() => this.#read.delete(name))
    return bytes
  }
}

/** Bundled programs have the panel beside them; from source it lies where the build puts it. */
function panelDir(): string {
  const beside = fileURLToPath(new URL('.', import.meta.url))
  const candidates = [beside, join(beside, '..'), join(beside, '../../../../dist')].map((dir) => join(dir, 'panel'))
  const found = candidates.find((dir) => existsSync(join(dir, 'manifest.json')))
  if (found === undefined) throw new AdminError('PANEL_FILES', { places: candidates.join(', ') })
  return found
}
