import * as streams from 'web-streams-polyfill'
import { AsyncLocalStorage } from '../context/async-local-storage.ts'
import { console } from './console/console.ts'
import { CryptoKey, crypto, SubtleCrypto } from './crypto/crypto.ts'
import { atob, btoa } from './encoding/base64.ts'
import { TextDecoder, TextDecoderStream, TextEncoder, TextEncoderStream } from './encoding/text-coding.ts'
import { AbortController, AbortSignal } from './events/abort-signal.ts'
import { DOMException } from './events/dom-exception.ts'
import { CustomEvent, Event, EventTarget } from './events/event-target.ts'
import { Blob, File } from './fetch/blob.ts'
import { fetch } from './fetch/fetch.ts'
import { FormData } from './fetch/form-data.ts'
import { Headers } from './fetch/headers.ts'
import { Request } from './fetch/request.ts'
import { Response } from './fetch/response.ts'
import { URL, URLSearchParams } from './fetch/url.ts'
import { MessageChannel, MessageEvent, MessagePort } from './message-channel.ts'
import { Buffer } from './node/buffer.ts'
import { process } from './node/process.ts'
import { restoreName } from './restore-name.ts'
import { structuredClone } from './structured-clone.ts'
import { performance } from './time/performance.ts'
import { clearTimeout, queueMicrotask, setInterval, setTimeout } from './time/timers.ts'

/** Everything that a site finds on `globalThis` beyond ECMAScript. */
const globals: Readonly<Record<string, unknown>> = {
  ...streams,
  AbortController,
  AbortSignal,
  AsyncLocalStorage,
  Blob,
  Buffer,
  CryptoKey,
  CustomEvent,
  DOMException,
  Event,
  EventTarget,
  File,
  FormData,
  Headers,
  MessageChannel,
  MessageEvent,
  MessagePort,
  Request,
  Response,
  SubtleCrypto,
  TextDecoder,
  TextDecoderStream,
  TextEncoder,
  TextEncoderStream,
  URL,
  URLSearchParams,
  atob,
  btoa,
  clearInterval: clearTimeout,
  clearTimeout,
  console,
  crypto,
  fetch,
  global: globalThis,
  performance,
  process,
  queueMicrotask,
  self: globalThis,
  setInterval,
  setTimeout,
  structuredClone,
}

/** Functions that have two names. */
const publicNames: Readonly<Record<string, string>> = { clearInterval: 'clearTimeout' }

/** Defines the globals of the prelude. */
export function installPrelude(): void {
  for (const [name, value] of Object.entries(globals)) {
    restoreName(value, publicNames[name] ?? name)
    Object.defineProperty(globalThis, name, { value, writable: true, enumerable: false, configurable: true })
  }
}
