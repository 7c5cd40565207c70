import type { SegmentNode } from '@svc/site'
import { type ReactRuntime, reactRuntime } from '../react/react-runtime.ts'

interface ReactContext {
  readonly Provider: unknown
}

const contexts = new WeakMap<object, ReactContext>()

/** The React context that tells a component below which layout it stands. One for each copy of React. */
export function layoutContext(runtime: ReactRuntime): unknown {
  const { react } = runtime
  const known = contexts.get(react)
  if (known !== undefined) return known
  const made = (react['createContext'] as (value: null) => ReactContext)(null)
  contexts.set(react, made)
  return made
}

/** URL segments below the layout that renders, with parameters filled in; groups and slots do not count. */
export function layoutSegments(params: Readonly<Record<string, string | readonly string[]>>, slot: string): readonly string[] {
  const runtime = reactRuntime
  const useContext = runtime.react['useContext'] as (context: unknown) => SegmentNode | null
  const layout = useContext(layoutContext(runtime))
  const segments: string[] = []
  for (let node = layout?.slots[slot]; node; node = node.slots['children']) {
    if (/^[@(]/.test(node.segment)) continue
    segments.push(node.param === undefined ? node.segment : textOf(params[node.param]))
  }
  return segments
}

function textOf(value: string | readonly string[] | undefined): string {
  return typeof value === 'object' ? value.join('/') : (value ?? '')
}
