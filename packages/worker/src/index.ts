export * from './engine/inject/index.ts'
export type * from './render-client/renderer.ts'
