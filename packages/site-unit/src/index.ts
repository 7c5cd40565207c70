export type { SiteUnitOptions } from './options.ts'
export { runSiteUnit } from './run-site-unit.ts'
