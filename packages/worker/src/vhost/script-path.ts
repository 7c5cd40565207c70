import type { CompiledTemplate, FastcgiSpec } from '@svc/vhosts'
import type { Scope, ScriptPath } from './scope.ts'
import type { Templates } from './templates.ts'

/** Finds the script of a path: what `fastcgi_split_path_info` and `fastcgi_index` of a location say. */
export class ScriptPaths {
  readonly #pattern: RegExp | undefined
  readonly #index: CompiledTemplate<Scope> | undefined

  constructor({ splitPathInfo, index }: Pick<FastcgiSpec, 'splitPathInfo' | 'index'>, templates: Templates) {
    this.#pattern = splitPathInfo === undefined ? undefined : new RegExp(splitPathInfo.source, splitPathInfo.flags)
    this.#index = index === undefined ? undefined : templates.of(index)
  }

  of(scope: Scope): ScriptPath {
    const match = this.#pattern?.exec(scope.uri)
    const name = match?.[1] ?? scope.uri
    const isDirectory = this.#index !== undefined && name.endsWith('/')
    return { name: isDirectory ? name + (this.#index?.read(scope) ?? '') : name, info: match?.[2] ?? '' }
  }
}
