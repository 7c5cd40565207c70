export { logPaths } from './logs/log-files.ts'
export type { MasterOptions } from './master/parts.ts'
export { runMaster } from './master/run-master.ts'
export { readOverrides } from './overrides/overrides.ts'
