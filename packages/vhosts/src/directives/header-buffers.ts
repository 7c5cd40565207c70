import { parseCount, parseSize } from '../values/numbers.ts'
import type { DirectiveCall } from './directive-call.ts'
import { rule } from './rule.ts'

/** Bytes that the head of a request may have in nginx, and where that is written. */
interface HeaderBuffers {
  readonly bytes: number
  readonly call: DirectiveCall
}

/** `large_client_header_buffers`. */
export const largeClientHeaderBuffers = rule<HeaderBuffers>('large_client_header_buffers', {
  in: ['main', 'server'],
  args: 2,
  parse: (call) => {
    const count = parseCount(call.arg(0)) ?? call.invalidValue(0, 'expected a number')
    const size = parseSize(call.arg(1)) ?? call.invalidValue(1, 'expected a size such as 8k')
    return count === undefined || size === undefined ? undefined : { bytes: count * size, call }
  },
})
