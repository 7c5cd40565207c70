export type * from './control-plane.ts'
export * from './endpoint.ts'
export * from './endpoint-table.ts'
export * from './endpoints.ts'
