import { isToken, splitOutsideQuotes } from '@svc/http'

/** The value of a dictionary key: a boolean, a number, a token, a string, or something else. */
type Item = string | number | boolean | undefined

const KEY = /^[a-z*][a-z0-9_.*-]*$/

/**
 * Parses a targeted cache control field (RFC 9213 section 2.1: a dictionary of structured fields, RFC 8941) and writes it as a
 * Cache-Control field. Undefined: it is malformed or empty, and must be ignored. Parameters of members and members of another
 * type than their directive has are left out.
 */
export function targetedControl(value: string | undefined): string | undefined {
  if (value === undefined) return undefined
  const members = new Map<string, Item>()
  for (const part of splitOutsideQuotes(value, ',')) {
    const [member = '', ...parameters] = splitOutsideQuotes(part, ';')
    const equals = member.indexOf('=')
    const key = equals === -1 ? member : member.slice(0, equals)
    const item = equals === -1 ? true : parseItem(member.slice(equals + 1))
    if (!KEY.test(key) || item === undefined || parameters.some((parameter) => !isParameter(parameter))) return undefined
    members.set(key, item)
  }
  // A comma at the end makes a dictionary malformed.
  if (members.size === 0 || value.trimEnd().endsWith(',')) return undefined
  return [...members].flatMap(([key, item]) => directive(key, item)).join(', ')
}

function directive(key: string, item: Item): string[] {
  if (item === true) return [key]
  if (item === false) return []
  return typeof item === 'number' ? [`${key}=${item}`] : []
}

function isParameter(text: string): boolean {
  const equals = text.indexOf('=')
  return (
    KEY.test(equals === -1 ? text : text.slice(0, equals)) && (equals === -1 || parseItem(text.slice(equals + 1)) !== undefined)
  )
}

function parseItem(text: string): Item {
  if (text === '?1') return true
  if (text === '?0') return false
  if (/^-?\d{1,15}$/.test(text)) return Number(text)
  if (/^-?\d{1,12}\.\d{1,3}$/.test(text) || /^"[\x20-\x7e]*"$/.test(text) || /^:[A-Za-z0-9+/=]*:$/.test(text)) return text
  return /^[A-Za-z*]/.test(text) && isToken(text.replaceAll(/[:/]/g, '')) ? text : undefined
}
