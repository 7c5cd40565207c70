import { codeOf, messageOf, withDeadline } from '@svc/core'
import { SupervisorError } from '@svc/processes'
import type { AcmeProof } from '@svc/protocol'
import type { AcmeStore } from './acme-store.ts'
import { type Acme, type Refusal, reasonText, withAuthority } from './authority-client.ts'

/** The workers' responses to the authority's proof requests while an order is open. */
export class Proofs {
  readonly #open = new Map<string, string>()
  readonly #announce: (proofs: readonly AcmeProof[]) => Promise<void>

  /** @param announce resolves when every worker has them */
  constructor(announce: (proofs: readonly AcmeProof[]) => Promise<void>) {
    this.#announce = announce
  }

  get all(): AcmeProof[] {
    return Array.from(this.#open, ([token, proof]) => ({ token, proof }))
  }

  /** Resolves when every worker responds with the proof. */
  async publish(token: string, proof: string): Promise<void> {
    this.#open.set(token, proof)
    await this.#announce(this.all)
  }

  async withdraw(token: string): Promise<void> {
    if (this.#open.delete(token)) await this.#announce(this.all)
  }
}

/** The authority and the account for orders. */
export interface AcmeSettings {
  /** URL of the directory (RFC 8555 section 7.1.1). */
  readonly authority: string
  readonly email: string | undefined
}

/** An issued certificate. PEM. */
export interface IssuedCertificate {
  readonly keyPem: string
  readonly chainPem: string
}

const ORDER_TIMEOUT_MS = 600_000
const CHALLENGE = 'http-01'

type Client = InstanceType<Acme['Client']>

/** Returns a client with its account. Registers the account if there is none, and updates a changed mail address. */
async function clientFor(acme: Acme, store: AcmeStore, { authority, email }: AcmeSettings): Promise<Client> {
  const known = await store.account(authority)
  const account = known ?? { keyPem: (await acme.crypto.createPrivateEcdsaKey()).toString() }
  // Before its first use: if the key is lost, the next order has to register another account.
  if (known === undefined) await store.saveAccount(authority, account)
  const options = { directoryUrl: authority, accountKey: account.keyPem }
  const contact = email === undefined ? [] : [`mailto:${email}`]
  const client = new acme.Client(account.url === undefined ? options : { ...options, accountUrl: account.url })
  if (account.url === undefined) await client.createAccount({ termsOfServiceAgreed: true, contact })
  else if (account.email !== email) await client.updateAccount({ contact })
  else return client
  await store.saveAccount(authority, { keyPem: account.keyPem, url: client.getAccountUrl(), email })
  return client
}

/** Dependencies of an order. */
interface OrderParts {
  readonly store: AcmeStore
  readonly proofs: Proofs
  /** Aborts the order. */
  readonly signal: AbortSignal
}

/** Makes one attempt. Adds the tokens of published proofs to `tokens`. */
async function order(acme: Acme, host: string, settings: AcmeSettings, parts: OrderParts, tokens: Set<string>) {
  const { store, proofs, signal } = parts
  const client = await clientFor(acme, store, settings)
  const [key, csr] = await acme.crypto.createCsr({ altNames: [host] }, await acme.crypto.createPrivateEcdsaKey())
  const chainPem = await client.auto({
    csr,
    challengePriority: [CHALLENGE],
    // A request from this machine does not prove that the authority can reach it.
    skipChallengeVerification: true,
    challengeCreateFn: async (_authorization, challenge, proof) => {
      if (challenge.type !== CHALLENGE) {
        throw new SupervisorError('SUP_CERTIFICATE', `the authority offers no HTTP challenge for ${host}`)
      }
      signal.throwIfAborted()
      tokens.add(challenge.token)
      await proofs.publish(challenge.token, proof)
    },
    challengeRemoveFn: (_authorization, challenge) => proofs.withdraw(challenge.token),
  })
  return { keyPem: key.toString(), chainPem }
}

/**
 * Orders a certificate for one host name with a proof over HTTP (RFC 8555 sections 7.4 and 8.3). This accepts the authority's
 * terms of service. No request is sent to the authority after this has settled.
 * @throws SUP_CERTIFICATE with the authority's text; with `data.refusal` and `data.retryAfterMs` if it asks to retry later, and
 * `data.isProving` if the order had reached the proof; SUP_AUTHORITY if the authority is unreachable
 */
export async function orderCertificate(host: string, settings: AcmeSettings, parts: OrderParts): Promise<IssuedCertificate> {
  const over = new AbortController()
  const signal = AbortSignal.any([parts.signal, over.signal])
  const tokens = new Set<string>()
  const gaveUp = Promise.withResolvers<never>()
  signal.addEventListener('abort', () => gaveUp.reject(new SupervisorError('SUP_CERTIFICATE', 'the order was aborted')))
  try {
    const ordered = withAuthority(signal, (acme) => {
      const once = () => order(acme, host, settings, { ...parts, signal }, tokens)
      return orderAgainIfForgotten(once, settings, parts.store)
    })
    return await withDeadline(Promise.race([ordered, gaveUp.promise]), ORDER_TIMEOUT_MS, `the certificate for ${host}`)
  } catch (cause) {
    if (codeOf(cause) === 'SUP_AUTHORITY') throw cause
    const reason = reasonText(messageOf(cause))
    const data = { ...(cause instanceof SupervisorError ? cause.data : {}), isProving: tokens.size > 0 }
    const message = reason === '' ? 'the authority gave no reason' : reason
    throw new SupervisorError('SUP_CERTIFICATE', message, { cause, data })
  } finally {
    over.abort()
    await Promise.allSettled([...tokens].map((token) => parts.proofs.withdraw(token)))
  }
}

/** Returns the authority's refusal; undefined if the error has another reason. */
export function refusalOf(error: unknown): { readonly refusal: Refusal; readonly retryAfterMs: number } | undefined {
  const data = error instanceof SupervisorError ? error.data : undefined
  return data?.['refusal'] === undefined ? undefined : (data as { refusal: Refusal; retryAfterMs: number })
}

/** Retries once with a new account if the authority has deleted the old one. */
async function orderAgainIfForgotten<T>(once: () => Promise<T>, { authority }: AcmeSettings, store: AcmeStore): Promise<T> {
  const wasKnown = (await store.account(authority))?.url !== undefined
  try {
    return await once()
  } catch (error) {
    if (!wasKnown || refusalOf(error)?.refusal !== 'account') throw error
    await store.forgetAccount(authority)
    return once()
  }
}
