/// <reference path="../modules.d.ts" />
import EventEmitter from 'events'
import { AsyncLocalStorage, AsyncResource } from '../context/async-local-storage.ts'
import { atob, btoa } from '../prelude/encoding/base64.ts'
import { Blob, File } from '../prelude/fetch/blob.ts'
import { URL, URLSearchParams } from '../prelude/fetch/url.ts'
import { Buffer } from '../prelude/node/buffer.ts'
import * as path from '../prelude/node/path.ts'
import { process } from '../prelude/node/process.ts'
import * as nodeUrl from '../prelude/node/url.ts'
import { util } from '../prelude/node/util.ts'
import { type BuiltinExports, registerBuiltin } from './builtins.ts'

/** The few modules of Node that packages for the edge load; each under its bare name and with `node:`. */
const modules: Readonly<Record<string, () => BuiltinExports>> = {
  async_hooks: () => ({ AsyncLocalStorage, AsyncResource }),
  buffer: () => ({ Buffer, Blob, File, atob, btoa, kMaxLength: 2 ** 32 }),
  // The class itself is the module: `new (require('events'))()`.
  events: () => EventEmitter as unknown as BuiltinExports,
  path: () => ({ ...path, posix: path }),
  url: () => ({ ...nodeUrl, URL, URLSearchParams }),
  util: () => ({ ...util }),
  process: () => process as unknown as BuiltinExports,
}

/** Registers the modules of Node that the guest serves. */
export function registerNodeBuiltins(): void {
  for (const [name, load] of Object.entries(modules)) {
    registerBuiltin(name, load)
    registerBuiltin(`node:${name}`, load)
  }
}
