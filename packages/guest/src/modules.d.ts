declare module '@oxc-project/runtime/helpers/*' {
  const helper: unknown
  export default helper
}
declare module 'core-js-pure/actual/url/index.js' {
  const URL: unknown
  export default URL
}
declare module 'core-js-pure/actual/url-search-params/index.js' {
  const URLSearchParams: unknown
  export default URLSearchParams
}
declare module 'events' {
  const EventEmitter: (new () => object) & Readonly<Record<string, unknown>>
  export default EventEmitter
}
/** React as the build of the guest bundles it (see build/guest.mjs). */
declare module 'svc:react' {
  type Exports = Readonly<Record<string, unknown>>
  type HtmlSource = import('./react/react-runtime.ts').HtmlSource

  export const compilerRuntime: Exports
  export const react: Exports
  export const jsxRuntime: Exports
  export const jsxDevRuntime: Exports
  export const reactDom: Exports
  export const server: Exports & { renderToReadableStream(element: unknown, options: object): Promise<HtmlSource> }
}
