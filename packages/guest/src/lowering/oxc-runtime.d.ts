declare module '@oxc-project/runtime/helpers/*' {
  const helper: unknown
  export default helper
}
