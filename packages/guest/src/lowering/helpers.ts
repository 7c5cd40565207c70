/// <reference path="../modules.d.ts" />
import assertClassBrand from '@oxc-project/runtime/helpers/assertClassBrand'
import checkInRHS from '@oxc-project/runtime/helpers/checkInRHS'
import classPrivateFieldGet2 from '@oxc-project/runtime/helpers/classPrivateFieldGet2'
import classPrivateFieldInitSpec from '@oxc-project/runtime/helpers/classPrivateFieldInitSpec'
import classPrivateFieldLooseBase from '@oxc-project/runtime/helpers/classPrivateFieldLooseBase'
import classPrivateFieldLooseKey from '@oxc-project/runtime/helpers/classPrivateFieldLooseKey'
import classPrivateFieldSet2 from '@oxc-project/runtime/helpers/classPrivateFieldSet2'
import classPrivateMethodInitSpec from '@oxc-project/runtime/helpers/classPrivateMethodInitSpec'
import decorate from '@oxc-project/runtime/helpers/decorate'
import decorateMetadata from '@oxc-project/runtime/helpers/decorateMetadata'
import decorateParam from '@oxc-project/runtime/helpers/decorateParam'
import defineProperty from '@oxc-project/runtime/helpers/defineProperty'
import objectDestructuringEmpty from '@oxc-project/runtime/helpers/objectDestructuringEmpty'
import objectSpread2 from '@oxc-project/runtime/helpers/objectSpread2'
import readOnlyError from '@oxc-project/runtime/helpers/readOnlyError'
import setFunctionName from '@oxc-project/runtime/helpers/setFunctionName'
import superPropGet from '@oxc-project/runtime/helpers/superPropGet'
import superPropSet from '@oxc-project/runtime/helpers/superPropSet'
import taggedTemplateLiteral from '@oxc-project/runtime/helpers/taggedTemplateLiteral'
import toPropertyKey from '@oxc-project/runtime/helpers/toPropertyKey'
import toSetter from '@oxc-project/runtime/helpers/toSetter'
import usingCtx from '@oxc-project/runtime/helpers/usingCtx'
import writeOnlyError from '@oxc-project/runtime/helpers/writeOnlyError'
import { asyncGeneratorDelegate, asyncIterator, awaitAsyncGenerator, wrapAsyncGenerator } from './async-generator.ts'
import { asyncToGenerator } from './async-to-generator.ts'

/** The compiler's own assigns: an own `__proto__` of the source, as in the JSON of a client, became the prototype of the rest. */
function objectWithoutProperties(source: unknown, excluded: readonly PropertyKey[]): object {
  if (source === null || source === undefined) return {}
  const from = Object(source) as Record<PropertyKey, unknown>
  const rest = {}
  for (const key of Reflect.ownKeys(from)) {
    if (excluded.includes(key) || !Object.prototype.propertyIsEnumerable.call(from, key)) continue
    Object.defineProperty(rest, key, { value: from[key], enumerable: true, configurable: true, writable: true })
  }
  return rest
}

/**
 * Defines the global `babelHelpers`, which compiled modules of a site refer to: the helpers of the compiler, with functions of
 * ours for all that waits, since it must keep the context.
 */
export function installLoweringHelpers(): void {
  const helpers = Object.freeze({
    assertClassBrand,
    asyncGeneratorDelegate,
    asyncIterator,
    asyncToGenerator,
    awaitAsyncGenerator,
    checkInRHS,
    classPrivateFieldGet2,
    classPrivateFieldInitSpec,
    classPrivateFieldLooseBase,
    classPrivateFieldLooseKey,
    classPrivateFieldSet2,
    classPrivateMethodInitSpec,
    decorate,
    decorateMetadata,
    decorateParam,
    defineProperty,
    extends: Object.assign,
    objectDestructuringEmpty,
    objectSpread2,
    objectWithoutProperties,
    readOnlyError,
    setFunctionName,
    superPropGet,
    superPropSet,
    taggedTemplateLiteral,
    toPropertyKey,
    toSetter,
    usingCtx,
    wrapAsyncGenerator,
    writeOnlyError,
  })
  Object.defineProperty(globalThis, 'babelHelpers', { value: helpers, writable: false, enumerable: false, configurable: false })
}
