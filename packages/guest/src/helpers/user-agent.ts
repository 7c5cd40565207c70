/** Facts of a User-Agent field: a short list of browsers and systems, no complete detection. */
interface UserAgent {
  readonly ua: string
  readonly isBot: boolean
  readonly browser: { readonly name?: string; readonly version?: string }
  readonly os: { readonly name?: string }
  readonly device: { readonly type?: 'mobile' | 'tablet' }
}

/** More special names first: most browsers claim to be another one too. */
const browsers: readonly (readonly [name: string, token: RegExp])[] = [
  ['Edge', /Edg(?:e|A|iOS)?\/([\d.]+)/],
  ['Opera', /OPR\/([\d.]+)/],
  ['Samsung Internet', /SamsungBrowser\/([\d.]+)/],
  ['Firefox', /(?:Firefox|FxiOS)\/([\d.]+)/],
  ['Chrome', /(?:Chrome|CriOS)\/([\d.]+)/],
  ['Safari', /Version\/([\d.]+).*Safari\//],
]

const systems: readonly (readonly [name: string, token: RegExp])[] = [
  ['iOS', /iPhone|iPad|iPod/],
  ['Android', /Android/],
  ['Windows', /Windows/],
  ['Mac OS', /Mac OS X/],
  ['Chrome OS', /CrOS/],
  ['Linux', /Linux/],
]

const bots = /bot\b|crawler|spider|slurp|facebookexternalhit|embedly|preview|lighthouse|headless/i

/** Reads the User-Agent field of a request. */
export function userAgent({ headers }: { readonly headers: { get(name: string): string | null } }): UserAgent {
  return userAgentFromString(headers.get('user-agent') ?? '')
}

/** Reads the text of a User-Agent field. */
export function userAgentFromString(text: string | undefined): UserAgent {
  const ua = (text ?? '').slice(0, 1024)
  return { ua, isBot: bots.test(ua), browser: browserOf(ua), os: systemOf(ua), device: deviceOf(ua) }
}

function browserOf(ua: string): UserAgent['browser'] {
  for (const [name, token] of browsers) {
    const version = token.exec(ua)?.[1]
    if (version !== undefined) return { name, version }
  }
  return {}
}

function systemOf(ua: string): UserAgent['os'] {
  const found = systems.find(([, token]) => token.test(ua))
  return found === undefined ? {} : { name: found[0] }
}

function deviceOf(ua: string): UserAgent['device'] {
  if (/iPad|Tablet|Android(?!.*Mobile)/.test(ua)) return { type: 'tablet' }
  return /Mobi/.test(ua) ? { type: 'mobile' } : {}
}
