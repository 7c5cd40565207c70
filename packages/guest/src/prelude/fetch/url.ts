/// <reference path="../../modules.d.ts" />
import CoreUrl from 'core-js-pure/actual/url/index.js'
import CoreUrlSearchParams from 'core-js-pure/actual/url-search-params/index.js'

export const URL = CoreUrl as typeof globalThis.URL
export type URL = InstanceType<typeof URL>
export const URLSearchParams = CoreUrlSearchParams as typeof globalThis.URLSearchParams
export type URLSearchParams = InstanceType<typeof URLSearchParams>
