import { asyncGeneratorDelegate, asyncIterator, awaitAsyncGenerator, wrapAsyncGenerator } from './async-generator.ts'
import { asyncToGenerator } from './async-to-generator.ts'
import { classHelpers } from './class-helpers.ts'
import { decoratorHelpers } from './decorator-helpers.ts'
import { objectHelpers } from './object-helpers.ts'
import { usingCtx } from './using-context.ts'

/** Defines the global `babelHelpers`, which compiled modules of a site refer to. */
export function installLoweringHelpers(): void {
  const helpers = Object.freeze({
    ...classHelpers,
    ...decoratorHelpers,
    ...objectHelpers,
    asyncGeneratorDelegate,
    asyncIterator,
    asyncToGenerator,
    awaitAsyncGenerator,
    usingCtx,
    wrapAsyncGenerator,
  })
  Object.defineProperty(globalThis, 'babelHelpers', { value: helpers, writable: false, enumerable: false, configurable: false })
}
