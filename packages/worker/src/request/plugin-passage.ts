import type { ResponseHead } from '@svc/http'
import type { PluginRoute } from '@svc/site/types/plugin'
import type { StageResult } from './stage-result.ts'

/** Fields for the code of a site, where they are not those of the request. */
export type CodeFields = [name: string, value: string][] | undefined

/** The plugins that a request passes. Nothing throws; promises never reject. */
export interface PluginPassage {
  /** True if heads of responses are changed: what others get from a cache would not be. */
  readonly seesResponses: boolean
  /** True while a hook decides how an error is answered. */
  readonly isAnswering: boolean
  /** It is known where the request leads. Called again after an inner redirect, which changes nothing. */
  routed(route: PluginRoute): StageResult | Promise<StageResult>
  /**
   * A page is about to be answered. Changes the request that its code sees.
   * @param fields those that middleware has set for the code, if it has
   * @returns these, changed
   */
  rendering(fields: CodeFields): CodeFields | Promise<CodeFields>
  /** The final head of a response, as it is to be sent. */
  shaped(head: ResponseHead): ResponseHead | Promise<ResponseHead>
  /** Answers an error, or has `answer` do it. False: no plugin wants to see errors. */
  failed(error: { readonly status: number; readonly code: string }, answer: () => void): boolean
}

/** Goes on with a request when its plugins have seen where it leads. */
export function afterRoute(
  plugins: PluginPassage,
  route: PluginRoute,
  go: () => StageResult | Promise<StageResult>,
): StageResult | Promise<StageResult> {
  const seen = plugins.routed(route)
  if (seen instanceof Promise) return seen.then((result) => (result === 'answered' ? result : go()))
  return seen === 'answered' ? seen : go()
}
