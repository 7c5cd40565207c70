/// <reference path="./svc-react.d.ts" />
import { compilerRuntime, jsxDevRuntime, jsxRuntime, react, reactDom } from 'svc:react'
import { registerBuiltin } from '../registry/builtins.ts'
import { reactDomClient, reactDomServer } from './react-dom-parts.ts'

/** Serves the server's React to all sites: the renderer takes elements of its own copy only. */
export function registerReact(): void {
  registerBuiltin('react', () => react)
  registerBuiltin('react/jsx-runtime', () => jsxRuntime)
  registerBuiltin('react/jsx-dev-runtime', () => jsxDevRuntime)
  registerBuiltin('react/compiler-runtime', () => compilerRuntime)
  registerBuiltin('react-dom', () => reactDom)
  registerBuiltin('react-dom/client', reactDomClient)
  for (const build of ['', '.edge', '.browser', '.node', '.bun']) registerBuiltin(`react-dom/server${build}`, reactDomServer)
  // Markers that packages import for their effect in other bundlers.
  registerBuiltin('server-only', () => ({}))
  registerBuiltin('client-only', () => ({}))
}
