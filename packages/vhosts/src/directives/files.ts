import type { FilesSpec, Template } from '../spec/spec.ts'
import { trailingText, withoutTrailing } from '../values/template.ts'
import { EVERYWHERE, MANY, rule } from './rule.ts'

function withoutFinalSlash(dir: Template): Template {
  return trailingText(dir).endsWith('/') && !(dir.length === 1 && dir[0] === '/') ? withoutTrailing(dir, 1) : dir
}

/** `root`. */
export const root = rule<Pick<FilesSpec, 'kind' | 'dir'>>('root', {
  args: 1,
  slot: 'files',
  parse: (call) => {
    const own = /\$\{?(document_root|realpath_root)\b/.exec(call.arg(0))?.[1]
    if (own !== undefined) return call.fail(`the $${own} variable cannot be used in the "root" directive`, 0)
    const dir = call.pathTemplate(0)
    call.needs('root', dir)
    return dir === undefined ? undefined : { kind: 'root', dir: withoutFinalSlash(dir) }
  },
})

/** `alias`. */
export const alias = rule<Pick<FilesSpec, 'kind' | 'dir'>>('alias', {
  in: ['location'],
  args: 1,
  slot: 'files',
  parse: (call) => {
    const dir = call.pathTemplate(0)
    call.needs('alias', dir)
    return dir === undefined ? undefined : { kind: 'alias', dir }
  },
})

/** `index`. */
export const index = rule<readonly Template[]>('index', {
  in: EVERYWHERE,
  args: [1, MANY],
  isMany: true,
  parse: (call) => {
    const names = call.args.map((text, at) =>
      text === '' ? call.fail('index "" in "index" directive is invalid', at) : call.template(at),
    )
    const known = names.filter((name) => name !== undefined)
    return known.length === names.length ? known : undefined
  },
})
