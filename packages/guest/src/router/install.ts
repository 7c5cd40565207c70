/// <reference path="../modules.d.ts" />

import { react } from 'svc:react'
import { registerHelpers } from '../helpers/register.ts'
import { runNotFound, runPage } from '../page/page-runner.ts'
import { runStaticPaths } from '../page/static-params.ts'
import { fetch } from '../prelude/fetch/fetch.ts'
import { registerRunner } from '../request/requests.ts'
import { requestFetch, type SendFetch } from '../scope/request-fetch.ts'
import { findScope } from '../scope/request-scope.ts'
import { runHandler } from './handler-runner.ts'
import { runMetadata } from './metadata-route-runner.ts'
import { runMiddleware } from './middleware-runner.ts'

/** A node of the tree that finds a call's result by its arguments: objects by identity, all else by value. */
interface CallNode {
  readonly objects: WeakMap<object, CallNode>
  readonly values: Map<unknown, CallNode>
  result?: { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: unknown }
}

type AnyFunction = (...args: unknown[]) => unknown

/**
 * React's `cache` for this server: equal calls within one request share a result or a thrown error. React's own does so in
 * its server-components renderer only. Outside of a request it calls through.
 */
function requestCache(compute: AnyFunction): AnyFunction {
  return (...args) => {
    const scope = findScope()
    if (scope === undefined) return compute(...args)
    let node = childOf(scope.memo<unknown, CallNode>(requestCache), compute)
    for (const arg of args) node = stepInto(node, arg)
    node.result ??= callOnce(compute, args)
    if (node.result.ok) return node.result.value
    throw node.result.error
  }
}

function callOnce(compute: AnyFunction, args: unknown[]): NonNullable<CallNode['result']> {
  try {
    return { ok: true, value: compute(...args) }
  } catch (error) {
    return { ok: false, error }
  }
}

function stepInto(node: CallNode, arg: unknown): CallNode {
  const isObject = (typeof arg === 'object' && arg !== null) || typeof arg === 'function'
  return isObject ? childOf(node.objects, arg) : childOf(node.values, arg)
}

function childOf<K>(map: { get(key: K): CallNode | undefined; set(key: K, node: CallNode): unknown }, key: K): CallNode {
  const known = map.get(key)
  if (known !== undefined) return known
  const made: CallNode = { objects: new WeakMap(), values: new Map() }
  map.set(key, made)
  return made
}

/** Registers everything that the router adds to the guest: runners, helper modules, `fetch` with `next`. Calls no host. */
export function installRouter(): void {
  registerHelpers()
  Object.defineProperty(react, 'cache', { value: requestCache, enumerable: true, configurable: true, writable: true })
  registerRunner('page', runPage)
  registerRunner('not-found', runNotFound)
  registerRunner('handler', runHandler)
  registerRunner('metadata', runMetadata)
  registerRunner('middleware', runMiddleware)
  registerRunner('static-paths', runStaticPaths)
  const site = requestFetch(fetch as unknown as SendFetch)
  Object.defineProperty(globalThis, 'fetch', { value: site, configurable: true, writable: true })
}
