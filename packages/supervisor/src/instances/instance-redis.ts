import type { SharedCommands, SharedScript } from '@svc/cache'

/** A connection to Redis that waits for a stream, or listens to messages. */
export interface WaitingConnection {
  /** Rejects if the connection is lost. */
  command(name: string, args: readonly (string | Buffer)[]): Promise<unknown>
  close(): void
}

/** The Redis that the instances share, as a master uses it. */
export interface InstanceRedis extends SharedCommands {
  /** Keys lie on several nodes, and a script reaches those of one. */
  readonly isCluster: boolean
  /** @param deadlineMs how long it may take, if not as long as usual */
  script(script: SharedScript, keys: readonly string[], args: readonly (string | Buffer)[], deadlineMs?: number): Promise<unknown>
  command(name: string, args: readonly (string | Buffer)[]): Promise<unknown>
  /** Opens a connection of its own. Rejects if Redis is away. */
  open(): Promise<WaitingConnection>
  /**
   * Receives the messages of a channel as long as Redis is there. Returns how to stop.
   * @param onSubscribed messages come from now on: at the beginning, and after each loss
   */
  subscribe(channel: string, onMessage: (message: string) => void, onSubscribed?: () => void): () => void
}
