import type { SubFilterSpec } from '../spec/spec.ts'
import { MANY, rule } from './rule.ts'

/** `sub_filter`. */
export const subFilter = rule<SubFilterSpec['pairs'][number]>('sub_filter', {
  args: 2,
  isMany: true,
  parse: (call) => {
    if (call.arg(0) === '') return call.fail('empty search pattern', 0)
    const text = call.template(0)
    const replacement = call.template(1)
    return text === undefined || replacement === undefined ? undefined : { text, replacement }
  },
})

/** `sub_filter_types`, in lower case. */
export const subFilterTypes = rule('sub_filter_types', {
  args: [1, MANY],
  parse: (call) => call.args.map((type) => type.toLowerCase()),
})

/** `sub_filter_once`. */
export const subFilterOnce = rule('sub_filter_once', { args: 1, parse: (call) => call.flag(0) })

/** `sub_filter_last_modified`. */
export const subFilterLastModified = rule('sub_filter_last_modified', { args: 1, parse: (call) => call.flag(0) })
