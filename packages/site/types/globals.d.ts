/** Globals of a site's code beyond the web platform (`lib: ["dom"]`), and files that it may import. */

declare namespace NodeJS {
  interface ProcessEnv {
    readonly [name: string]: string | undefined
  }
  interface Process {
    env: ProcessEnv
  }
}
declare var process: NodeJS.Process

/** Carries a value through everything that a function starts, across awaits. */
declare class AsyncLocalStorage<T> {
  static bind<F extends (...args: never[]) => unknown>(fn: F): F
  static snapshot(): <R>(fn: () => R) => R
  run<R>(store: T, fn: () => R): R
  exit<R>(fn: () => R): R
  getStore(): T | undefined
  enterWith(store: T): void
}

/** Data caching of `fetch`. */
interface RequestInit {
  next?: {
    /** Seconds; 0: not cached; false: until a tag drops it. */
    revalidate?: number | false
    tags?: readonly string[]
  }
}

declare module '*.module.css' {
  const classes: { readonly [name: string]: string }
  export default classes
}
declare module '*.css'
