declare module 'core-js-pure/actual/url/index.js' {
  import type { UrlConstructor } from './url-types.ts'

  const URL: UrlConstructor
  export default URL
}
declare module 'core-js-pure/actual/url-search-params/index.js' {
  import type { UrlSearchParamsConstructor } from './url-types.ts'

  const URLSearchParams: UrlSearchParamsConstructor
  export default URLSearchParams
}
declare module 'core-js-pure/actual/structured-clone.js' {
  const structuredClone: (value: unknown, options?: { transfer?: readonly unknown[] }) => unknown
  export default structuredClone
}
