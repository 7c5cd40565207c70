import { posix } from 'node:path'
import type { CompiledTemplate, FilesSpec, GatewaySpec } from '@svc/vhosts'
import { readForAnswer, type Templates } from './templates.ts'
import type { ScriptPath, VariableInput } from './variable-input.ts'

/** Finds the file of a request. */
export interface FilePaths {
  readonly kind: FilesSpec['kind']
  /** The text of the location with the `alias`; "" for a pattern, and with `root`. */
  readonly prefix: string
  /** `$document_root`. */
  dir(input: VariableInput): string
  /**
   * Absolute path for a decoded path. Undefined: it would lead out of the directory that the configuration names.
   * @param isWhole the location is a pattern with `alias`, and `uri` is to be added to it all the same (`try_files`)
   */
  path(input: VariableInput, uri: string, isWhole: boolean): string | undefined
}

/** Compiles `root` or `alias` of a location. */
export function compileFilePaths(spec: FilesSpec, templates: Templates): FilePaths {
  const template = templates.of(spec.dir)
  const fixed = fixedPartOf(spec)
  const skipped = spec.prefix.length
  const isPattern = spec.kind === 'alias' && spec.prefix === ''
  const dir = (input: VariableInput) => readForAnswer(input, template)
  return {
    kind: spec.kind,
    prefix: spec.prefix,
    dir,
    path(input, uri, isWhole) {
      const base = dir(input)
      const path = isPattern && !isWhole ? base : base + uri.slice(skipped)
      return isInside(path, fixed ?? base) ? path : undefined
    },
  }
}

/** The part of the directory's name that no request decides; undefined: all of it. */
function fixedPartOf({ dir }: FilesSpec): string | undefined {
  if (dir.every((piece) => typeof piece === 'string')) return undefined
  const [first] = dir
  return typeof first === 'string' ? first.slice(0, first.lastIndexOf('/') + 1) : '/'
}

/** True if `..` in a path leaves it in a directory. Paths of URLs have none; rewriting, variables and `alias` make some. */
function isInside(path: string, dir: string): boolean {
  if (path.includes('\0')) return false
  if (!path.includes('/..')) return true
  const normal = posix.normalize(path)
  const base = posix.normalize(dir)
  return base === '/' || normal === base || normal.startsWith(base.endsWith('/') ? base : `${base}/`)
}

/** Finds the script of a path by `fastcgi_split_path_info` and `fastcgi_index` of a location. */
export class ScriptPaths {
  readonly #pattern: RegExp | undefined
  readonly #index: CompiledTemplate<VariableInput> | undefined

  constructor({ splitPathInfo, index }: Pick<GatewaySpec, 'splitPathInfo' | 'index'>, templates: Templates) {
    this.#pattern = splitPathInfo === undefined ? undefined : new RegExp(splitPathInfo.source, splitPathInfo.flags)
    this.#index = index === undefined ? undefined : templates.of(index)
  }

  of(input: VariableInput): ScriptPath {
    const match = this.#pattern?.exec(input.uri)
    const name = match?.[1] ?? input.uri
    const isDirectory = this.#index !== undefined && name.endsWith('/')
    return { name: isDirectory ? name + (this.#index?.read(input) ?? '') : name, info: match?.[2] ?? '' }
  }
}
