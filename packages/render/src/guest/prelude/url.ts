/// <reference path="./core-js-pure.d.ts" />
import CoreUrl from 'core-js-pure/actual/url/index.js'
import CoreUrlSearchParams from 'core-js-pure/actual/url-search-params/index.js'
import type { Url, UrlSearchParams } from './url-types.ts'

export const URL = CoreUrl
export type URL = Url
export const URLSearchParams = CoreUrlSearchParams
export type URLSearchParams = UrlSearchParams
