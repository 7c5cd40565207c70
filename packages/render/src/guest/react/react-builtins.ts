/// <reference path="./svc-react.d.ts" />
import { jsxDevRuntime, jsxRuntime, react, reactDom } from 'svc:react'
import { registerBuiltin } from '../registry/builtins.ts'

/** Serves the snapshot's React to sites that have none of their own. */
export function registerReact(): void {
  registerBuiltin('react', () => react)
  registerBuiltin('react/jsx-runtime', () => jsxRuntime)
  registerBuiltin('react/jsx-dev-runtime', () => jsxDevRuntime)
  registerBuiltin('react-dom', () => reactDom)
  // Markers that packages import for their effect in other bundlers.
  registerBuiltin('server-only', () => ({}))
  registerBuiltin('client-only', () => ({}))
}
