/** Legacy codes by name (WebIDL 2.8.1); newer names have code 0. */
const codes: Readonly<Record<string, number>> = {
  IndexSizeError: 1,
  HierarchyRequestError: 3,
  WrongDocumentError: 4,
  InvalidCharacterError: 5,
  NoModificationAllowedError: 7,
  NotFoundError: 8,
  NotSupportedError: 9,
  InUseAttributeError: 10,
  InvalidStateError: 11,
  SyntaxError: 12,
  InvalidModificationError: 13,
  NamespaceError: 14,
  InvalidAccessError: 15,
  TypeMismatchError: 17,
  SecurityError: 18,
  NetworkError: 19,
  AbortError: 20,
  URLMismatchError: 21,
  QuotaExceededError: 22,
  TimeoutError: 23,
  InvalidNodeTypeError: 24,
  DataCloneError: 25,
}

/** WebIDL `DOMException`: an error told apart by `name`. */
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
    return Object.hasOwn(codes, this.#name) ? (codes[this.#name] ?? 0) : 0
  }

  get [Symbol.toStringTag](): string {
    return 'DOMException'
  }
}

for (const [name, code] of Object.entries(codes)) {
  const constant = `${name
    .replace(/Error$/, '')
    .replace(/(?<=[a-z])(?=[A-Z])/g, '_')
    .toUpperCase()}_ERR`
  for (const target of [DOMException, DOMException.prototype])
    Object.defineProperty(target, constant, { value: code, enumerable: true })
}
