/** Identifies requests that the instance itself has sent, in CDN-Loop (RFC 8586). */
export interface LoopMark {
  readonly instanceId: string
  /** Generated at each start of the master. Only receivers of the instance's requests know it. */
  readonly token: string
}

/** Bytes of a token before they are written as text. */
export const LOOP_TOKEN_BYTES = 16

function membersOf(value: string): string[] {
  return value.split(',').map((member) => member.replace(/[ \t]/g, ''))
}

/** The member of CDN-Loop that stands for one time that the instance sent a request on. */
export function loopMember({ instanceId, token }: LoopMark): string {
  return `svc;${instanceId};t=${token}`
}

/** Returns how often a value of CDN-Loop names an instance, truly or forged: either is a reason to forward no further. */
export function timesNamed(value: string, { instanceId }: LoopMark): number {
  const name = `svc;${instanceId}`
  return membersOf(value).filter((member) => member === name || member.startsWith(`${name};`)).length
}

/** Returns true if a value of CDN-Loop proves that the instance has sent the request, maybe by way of others. */
export function wasSentBy(value: string, mark: LoopMark): boolean {
  const own = loopMember(mark)
  return membersOf(value).includes(own)
}
