export * from './path-pattern.ts'
export * from './rule-table.ts'
export * from './rule-target.ts'
