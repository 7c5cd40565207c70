export { type InjectOptions, type InjectWebSocketOptions, inject, injectWebSocket } from './inject.ts'
export type { MemoryResponse, MemoryWebSocket } from './memory-exchange.ts'
