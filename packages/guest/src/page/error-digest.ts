/** A short id of an error, equal for equal errors: FNV-1a (32 bit) over message and stack, as eight hex digits. */
export function digestOf(thrown: unknown): string {
  if (typeof thrown === 'object' && thrown !== null && 'digest' in thrown && typeof thrown.digest === 'string') {
    return thrown.digest
  }
  return fnv1a(describe(thrown))
}

function describe(thrown: unknown): string {
  if (thrown instanceof Error) return `${thrown.name}: ${thrown.message}\n${thrown.stack ?? ''}`
  return String(thrown)
}

function fnv1a(text: string): string {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  }
  return (hash >>> 0).toString(16).padStart(8, '0')
}
