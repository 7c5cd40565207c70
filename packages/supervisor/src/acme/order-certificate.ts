import { codeOf, deferred, messageOf, withDeadline } from '@svc/core'
import { SupervisorError } from '@svc/processes'
import type { AcmeStore } from './acme-store.ts'
import { type Acme, type Refusal, reasonText, withAuthority } from './authority-client.ts'
import type { Proofs } from './proofs.ts'

/** Where certificates are ordered, and by whom. */
export interface AcmeSettings {
  /** URL of the directory (RFC 8555 section 7.1.1). */
  readonly authority: string
  readonly email: string | undefined
}

/** A certificate as it was issued. PEM. */
export interface IssuedCertificate {
  readonly keyPem: string
  readonly chainPem: string
}

const ORDER_TIMEOUT_MS = 600_000
const CHALLENGE = 'http-01'

type Client = InstanceType<Acme['Client']>

/** A client with its account, which is made when there is none, and told a changed mail address. */
async function clientFor(acme: Acme, store: AcmeStore, { authority, email }: AcmeSettings): Promise<Client> {
  const known = await store.account(authority)
  const account = known ?? { keyPem: (await acme.crypto.createPrivateEcdsaKey()).toString() }
  // Before it is used: a key that is lost with its account is one more account next time.
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

/** What an order is made with. */
interface OrderParts {
  readonly store: AcmeStore
  readonly proofs: Proofs
  /** Gives the order up. */
  readonly signal: AbortSignal
}

/** One try, with the proofs that it has published put into `tokens`. */
async function order(acme: Acme, host: string, settings: AcmeSettings, parts: OrderParts, tokens: Set<string>) {
  const { store, proofs, signal } = parts
  const client = await clientFor(acme, store, settings)
  const [key, csr] = await acme.crypto.createCsr({ altNames: [host] }, await acme.crypto.createPrivateEcdsaKey())
  const chainPem = await client.auto({
    csr,
    challengePriority: [CHALLENGE],
    // Asking ourselves says nothing of how the authority gets here.
    skipChallengeVerification: true,
    challengeCreateFn: async (_authorization, challenge, proof) => {
      if (challenge.type !== CHALLENGE) {
        throw new SupervisorError('SUP_CERTIFICATE', `the authority offers no proof over HTTP for ${host}`)
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
 * Orders a certificate for one host name with a proof over HTTP (RFC 8555 sections 7.4 and 8.3). With it the terms of the
 * authority are agreed to. When this settles, nothing more is asked of the authority.
 * @throws SUP_CERTIFICATE with what the authority says; `data.refusal` and `data.retryAfterMs` where it wants to be left alone; `data.isProving`
 * when it had come as far as to the proof;
 * SUP_AUTHORITY where it cannot be asked
 */
export async function orderCertificate(host: string, settings: AcmeSettings, parts: OrderParts): Promise<IssuedCertificate> {
  const over = new AbortController()
  const signal = AbortSignal.any([parts.signal, over.signal])
  const tokens = new Set<string>()
  const gaveUp = deferred<never>()
  signal.addEventListener('abort', () => gaveUp.reject(new SupervisorError('SUP_CERTIFICATE', 'the order was given up')))
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
    const message = reason === '' ? 'the authority refused without a reason' : reason
    throw new SupervisorError('SUP_CERTIFICATE', message, { cause, data })
  } finally {
    over.abort()
    await Promise.allSettled([...tokens].map((token) => parts.proofs.withdraw(token)))
  }
}

/** Why the authority does not want to go on; undefined: for other reasons. */
export function refusalOf(error: unknown): { readonly refusal: Refusal; readonly retryAfterMs: number } | undefined {
  const data = error instanceof SupervisorError ? error.data : undefined
  return data?.['refusal'] === undefined ? undefined : (data as { refusal: Refusal; retryAfterMs: number })
}

/** An account that the authority does not know any more is replaced by another one. */
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
