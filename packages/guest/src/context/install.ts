// Imported first by main.ts, for its effect: polyfills and React keep references to `then` while they are evaluated.
import { installDisposeSymbols } from './dispose-symbols.ts'
import { installContextualPromises } from './promise-then.ts'

installDisposeSymbols()
installContextualPromises()
