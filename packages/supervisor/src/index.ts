export * from './errors.ts'
export { defaultTimings, type SupervisorTimings } from './fleet/timings.ts'
export type { MasterOptions } from './master/options.ts'
export { runMaster } from './master/run-master.ts'
