import { type HeaderList, withoutControls } from '@svc/http'
import type { LocationSettings } from '@svc/vhosts'
import { readForAnswer, type Templates } from './templates.ts'
import type { VariableInput } from './variable-input.ts'

/** Adds the charset of a location to the Content-Type of a response. */
type CharsetAdder = (input: VariableInput, headers: HeaderList) => HeaderList

/** The other name of JavaScript: files have this one here. */
const SCRIPT = 'text/javascript'

/**
 * Compiles `charset`. A charset of an upstream or of `types` stays.
 * @param replacesOwn true if this server gives one to files: it is replaced
 */
export function compileCharset(
  { charset, content }: LocationSettings,
  replacesOwn: boolean,
  templates: Templates,
): CharsetAdder | undefined {
  // An application sets its own.
  if (charset === undefined || content.kind === 'app') return undefined
  const name = templates.of(charset.name)
  const types = new Set(charset.types)
  if (types.has('application/javascript')) types.add(SCRIPT)
  const isAny = types.has('*')
  return (input, headers) => {
    const at = headers.findIndex(([field]) => field.toLowerCase() === 'content-type')
    const value = headers[at]?.[1] ?? ''
    const [type = ''] = value.split(';', 1)
    const hasOwn = /;\s*charset=/i.test(value)
    if (at === -1 || (hasOwn && !replacesOwn) || !(isAny || types.has(type.trim().toLowerCase()))) return headers
    const text = withoutControls(readForAnswer(input, name))
    return text === '' ? headers : headers.with(at, ['content-type', `${type.trim()}; charset=${text}`])
  }
}
