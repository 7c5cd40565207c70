import type { Transform } from 'node:stream'

export function withSourcePositions(text: string): string
export function sourcePositions(): Transform
