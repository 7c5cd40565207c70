/** Adds `Symbol.dispose` and `Symbol.asyncDispose`, which the engine does not have yet. */
export function installDisposeSymbols(): void {
  for (const name of ['dispose', 'asyncDispose'] as const) {
    if (Symbol[name] !== undefined) continue
    Object.defineProperty(Symbol, name, {
      value: Symbol(`Symbol.${name}`),
      writable: false,
      enumerable: false,
      configurable: false,
    })
  }
}
