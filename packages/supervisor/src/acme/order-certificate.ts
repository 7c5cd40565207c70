import { messageOf, withDeadline } from '@svc/core'
import { SupervisorError } from '../errors.ts'
import type { AcmeStore } from './acme-store.ts'
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

const REQUEST_TIMEOUT_MS = 30_000
const ORDER_TIMEOUT_MS = 600_000
const CHALLENGE = 'http-01'

/** The library is large, and most servers never order anything. */
async function acmeClient() {
  const { default: acme } = await import('acme-client')
  acme.axios.defaults.timeout = REQUEST_TIMEOUT_MS
  return acme
}

type Acme = Awaited<ReturnType<typeof acmeClient>>
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

/**
 * Orders a certificate for one host name with a proof over HTTP (RFC 8555 sections 7.4 and 8.3). With it the terms of the
 * authority are agreed to.
 * @throws SUP_CERTIFICATE with what the authority says
 */
export async function orderCertificate(
  host: string,
  settings: AcmeSettings,
  { store, proofs }: { readonly store: AcmeStore; readonly proofs: Proofs },
): Promise<IssuedCertificate> {
  const acme = await acmeClient()
  const order = async () => {
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
        await proofs.publish(challenge.token, proof)
      },
      challengeRemoveFn: (_authorization, challenge) => proofs.withdraw(challenge.token),
    })
    return { keyPem: key.toString(), chainPem }
  }
  try {
    return await withDeadline(orderAgainIfForgotten(order, settings, store), ORDER_TIMEOUT_MS, `the certificate for ${host}`)
  } catch (cause) {
    const reason = messageOf(cause)
    throw new SupervisorError('SUP_CERTIFICATE', reason === '' ? 'the authority refused without a reason' : reason, { cause })
  }
}

/** An account that the authority does not know any more is replaced by another one. */
async function orderAgainIfForgotten<T>(order: () => Promise<T>, { authority }: AcmeSettings, store: AcmeStore): Promise<T> {
  const wasKnown = (await store.account(authority))?.url !== undefined
  try {
    return await order()
  } catch (error) {
    if (!wasKnown || !/account/i.test(messageOf(error))) throw error
    await store.forgetAccount(authority)
    return order()
  }
}
