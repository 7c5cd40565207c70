export type * from './render-client/renderer.ts'
