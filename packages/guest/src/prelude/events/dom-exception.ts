/** Legacy names by their codes, which count from 1 (WebIDL 2.8.1); some are no longer used. Newer names have code 0. */
const legacyNames = [
  ...['IndexSize', '', 'HierarchyRequest', 'WrongDocument', 'InvalidCharacter', '', 'NoModificationAllowed', 'NotFound'],
  ...['NotSupported', 'InUseAttribute', 'InvalidState', 'Syntax', 'InvalidModification', 'Namespace', 'InvalidAccess', ''],
  ...['TypeMismatch', 'Security', 'Network', 'Abort', 'URLMismatch', 'QuotaExceeded', 'Timeout', 'InvalidNodeType', 'DataClone'],
]
const codes = new Map(legacyNames.flatMap((name, index) => (name === '' ? [] : [[`${name}Error`, index + 1]])))

/** WebIDL `DOMException`: an error identified by `name`. */
export class DOMException extends Error {
  readonly #name: string

  constructor(message = '', options: string | { name?: string; cause?: unknown } = 'Error') {
    const name = typeof options === 'string' ? options : (options.name ?? 'Error')
    super(message, typeof options === 'object' && 'cause' in options ? { cause: options.cause } : undefined)
    this.#name = name
  }

  override get name(): string {
    return this.#name
  }

  get code(): number {
    return codes.get(this.#name) ?? 0
  }

  get [Symbol.toStringTag](): string {
    return 'DOMException'
  }
}

for (const [name, code] of codes) {
  const constant = `${name
    .replace(/Error$/, '')
    .replace(/(?<=[a-z])(?=[A-Z])/g, '_')
    .toUpperCase()}_ERR`
  for (const target of [DOMException, DOMException.prototype])
    Object.defineProperty(target, constant, { value: code, enumerable: true })
}
