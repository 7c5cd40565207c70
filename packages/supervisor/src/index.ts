export type { MasterOptions } from './master/options.ts'
export { runMaster } from './master/run-master.ts'
