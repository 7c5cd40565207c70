import { type FSWatcher, watch } from 'node:fs'
import { lstat, realpath } from 'node:fs/promises'
import { basename, dirname, sep } from 'node:path'
import type { AsyncSubscription } from '@parcel/watcher'
import { asError } from '@svc/core'
import { ignoredGlobs, type OwnDirectories } from './tree-snapshot.ts'

/** Receives the events of one directory. */
interface FileEventsListener {
  /** Events at or below these paths, which begin with the root as given. At most half a second old. */
  onPaths(paths: readonly string[]): void
  /** The events have ended: the directory or its link was removed, or the system has no watches left. */
  onEnd(error: Error | undefined): void
}

/** Events of the files below one directory. Linked directories inside it give none. */
export interface FileEvents {
  close(): Promise<void>
}

/**
 * Subscribes to the system's events of a directory. For a link, both its target and the link itself are watched. Without a named
 * backend the library first runs the command `watchman`, and waits for it.
 * @throws the system's error: ENOENT, or ENOSPC if there are no watches left
 */
export async function openFileEvents(root: string, own: OwnDirectories, listener: FileEventsListener): Promise<FileEvents> {
  const { subscribe } = await import('@parcel/watcher')
  const target = await realpath(root)
  let isOpen = true
  const end = (error?: Error) => {
    if (!isOpen) return
    isOpen = false
    listener.onEnd(error)
  }
  const link = (await lstat(root)).isSymbolicLink() ? watchLink(root, target, end) : undefined
  let subscription: AsyncSubscription
  try {
    subscription = await subscribe(
      target,
      (error, events) => {
        if (!isOpen) return
        if (error !== null) end(asError(error))
        else if (events.some(({ path, type }) => path === target && type === 'delete')) end()
        else listener.onPaths(events.map(({ path }) => (path === target ? root : below(target, path, root))))
      },
      { backend: 'inotify', ignore: [...ignoredGlobs, ...own.map((directory) => below(root, directory, target))] },
    )
  } catch (error) {
    link?.close()
    throw error
  }
  return {
    async close() {
      isOpen = false
      link?.close()
      // A deleted directory cannot be unsubscribed from, and need not be.
      await subscription.unsubscribe().catch(() => undefined)
    },
  }
}

/** Moves a path below `from` to below `to`; returns any other path unchanged. */
function below(from: string, path: string, to: string): string {
  return path.startsWith(from + sep) ? to + path.slice(from.length) : path
}

/** Calls `onMoved` when the target of a link changes. */
function watchLink(link: string, target: string, onMoved: () => void): FSWatcher {
  const watcher = watch(dirname(link.endsWith(sep) ? link.slice(0, -1) : link), { persistent: false }, (_, name) => {
    if (name !== null && name !== basename(link)) return
    realpath(link).then((now) => now !== target && onMoved(), onMoved)
  })
  watcher.on('error', () => onMoved())
  return watcher
}
