export { type InjectOptions, inject } from './inject.ts'
export type { MemoryResponse } from './memory-exchange.ts'
