declare module 'core-js-pure/actual/url/index.js' {
  const URL: unknown
  export default URL
}
declare module 'core-js-pure/actual/url-search-params/index.js' {
  const URLSearchParams: unknown
  export default URLSearchParams
}
declare module 'core-js-pure/actual/structured-clone.js' {
  const structuredClone: (value: unknown, options?: { transfer?: readonly unknown[] }) => unknown
  export default structuredClone
}
