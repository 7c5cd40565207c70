import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { allEndpoints, listEndpoints } from '../src/index.ts'
import { callEndpoint } from './call-endpoint.ts'

interface Operation {
  readonly operationId: string
  readonly parameters: ReadonlyArray<{ readonly name: string; readonly in: string }>
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

async function served() {
  return (await callEndpoint('/__svc/api/openapi.json', { method: 'GET' })).json
}

test('the OpenAPI document is valid', async () => {
  const { valid, errors } = await new Validator().validate(await served())
  assert.ok(valid, JSON.stringify(errors, undefined, 2))
  const { valid: isTaken } = await new Validator().validate({ ...(await served()), info: {} })
  assert.equal(isTaken, false, 'the validator refuses what is not valid')
})

test('the OpenAPI document has each endpoint, with the parameters of its path, under an id of its own', async () => {
  const { paths } = (await served()) as unknown as Document
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, path, operation })),
  )
  assert.deepEqual(
    operations.map(({ name }) => name).toSorted(),
    listEndpoints(allEndpoints)
      .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`)
      .toSorted(),
  )
  const ids = operations.map(({ operation }) => operation.operationId)
  assert.deepEqual(
    ids.filter((id, index) => ids.indexOf(id) !== index),
    [],
  )
  for (const { name, path, operation } of operations) {
    const declared = operation.parameters.filter((parameter) => parameter.in === 'path').map((parameter) => parameter.name)
    assert.deepEqual(
      declared,
      [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter),
      name,
    )
  }
})
