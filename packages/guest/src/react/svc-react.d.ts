/** React as the build of the guest bundles it (see build/guest.mjs). */
declare module 'svc:react' {
  type Exports = Readonly<Record<string, unknown>>

  /** React's direct stream; has the shape of `HtmlSource`. */
  interface DirectStream {
    readonly allReady: Promise<void>
    pull(sink: { write(text: string): boolean; flush(): void; end(): void; error(error: unknown): void }): void
    cancel(reason: unknown): void
  }

  export const compilerRuntime: Exports
  export const react: Exports
  export const jsxRuntime: Exports
  export const jsxDevRuntime: Exports
  export const reactDom: Exports
  export const server: Exports & { renderToReadableStream(element: unknown, options: object): Promise<DirectStream> }
}
