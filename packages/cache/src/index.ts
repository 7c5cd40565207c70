export type * from './purge/purge.ts'
export type * from './store/cache-store.ts'
export type * from './store/entry.ts'
