import type { ComponentChildren } from 'preact'

type Tone = 'good' | 'warning' | 'bad' | 'idle'

/** Shapes besides colours: not all users see the difference of these. */
const shapes: Readonly<Record<Tone, string>> = { good: '●', warning: '▲', bad: '■', idle: '○' }

/** A state in a word, with a sign. */
export function Status({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }) {
  return (
    <span class={`status status-${tone}`}>
      <span aria-hidden="true">{shapes[tone]}</span> {children}
    </span>
  )
}

const tones: Readonly<Record<string, Tone>> = {
  ok: 'good',
  healthy: 'good',
  running: 'good',
  ready: 'good',
  idle: 'good',
  live: 'good',
  pending: 'warning',
  starting: 'warning',
  draining: 'warning',
  maintenance: 'warning',
  warming: 'warning',
  degraded: 'bad',
  failed: 'bad',
  firing: 'bad',
  crashed: 'bad',
  dead: 'bad',
}

/** The tone of a state that the server names; one that is not listed has none. */
export function toneOf(state: string): Tone {
  return tones[state] ?? 'idle'
}
