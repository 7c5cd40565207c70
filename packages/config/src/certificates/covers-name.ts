/** Whether a certificate for these names is good for a host name or for all names of `*.suffix` (RFC 6125 section 6.4.3). */
export function coversName(names: readonly string[], name: string): boolean {
  if (names.includes(name)) return true
  const dot = name.indexOf('.')
  return dot !== -1 && !name.startsWith('*') && names.includes(`*${name.slice(dot)}`)
}
