import { AppError, codeOf } from '@svc/core'
import { problemOf } from '@svc/http'
import type { Release } from '@svc/protocol'
import * as z from 'zod/mini'
import { type EndpointResult, ok } from '../contract/endpoint.ts'
import { success } from '../contract/schemas.ts'

export const releaseFields = () =>
  z.object({
    id: z.string(),
    created_at: z.iso.datetime(),
    source: z.string(),
    sha256: z.optional(z.string()),
    state: z.enum(['ready', 'failed', 'retired']),
    live: z.boolean(),
  })

export const releaseSuccess = () => success({ release: releaseFields() })

/** The answer with the release that is in service, or with every error that keeps it from that. */
export async function releaseAnswer(served: Promise<Release>): Promise<EndpointResult> {
  try {
    return ok({ release: await served })
  } catch (error) {
    const errors = error instanceof AppError && codeOf(error) === 'DEPLOY_FAILED' ? error.data?.['errors'] : undefined
    if (!Array.isArray(errors)) throw error
    return { problem: { ...problemOf(error), errors: errors.map((message) => ({ path: '', message: String(message) })) } }
  }
}
