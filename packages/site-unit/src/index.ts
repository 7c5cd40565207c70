export { runSiteUnit } from './run-site-unit.ts'
export type { SiteUnitOptions } from './site-unit.ts'
