import { reactRuntime } from '../react/react-runtime.ts'

/** Makes an element with the React that the site uses. */
export function element(type: string, props: object): unknown {
  return (reactRuntime.jsxRuntime['jsx'] as (type: string, props: object) => unknown)(type, props)
}
