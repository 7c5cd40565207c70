import type { MessagePort } from 'node:worker_threads'
import type { HostToThread, RenderTask, ThreadBase } from '../contract/thread-messages.ts'
import { readGuestFiles } from './guest-files.ts'
import { PreparedIsolate } from './prepared-isolate.ts'
import { SiteThread } from './site-thread.ts'

/** A render thread from its start on: with everything loaded and an isolate started, it waits to be told its site. */
export class WaitingThread {
  readonly #site = Promise.withResolvers<SiteThread>()

  /** @throws RENDER_GUEST */
  constructor(base: ThreadBase, port: MessagePort) {
    const files = readGuestFiles(base.guestDir)
    const isolate = new PreparedIsolate(base, files)
    port.once('message', (message: HostToThread) => {
      if (message.t !== 'assign') return
      const { settings, services } = message
      this.#site.resolve(new SiteThread(settings, port, { files, isolate, services }))
    })
  }

  /** Runs a task of the pool, as soon as the site is known. */
  async run(tasks: readonly RenderTask[]): Promise<void> {
    const site = await this.#site.promise
    await site.run(tasks)
  }
}
