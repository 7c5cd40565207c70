import { installContextualPromises } from './promise-then.ts'

/** Adds `Symbol.dispose` and `Symbol.asyncDispose`, which the engine does not have yet. */
function installDisposeSymbols(): void {
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

// Imported first by main.ts, for its effect: polyfills and React keep references to `then` while they are evaluated.

installDisposeSymbols()
installContextualPromises()
