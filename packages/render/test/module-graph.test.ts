import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CompiledModule } from '@svc/compile/caches'
import { ModuleGraph } from '../src/thread/module-graph.ts'

test('the dependents of a file are found through cycles and watched files, and nothing else', () => {
  const module = (id: string, imports: string[], watches: string[] = []): CompiledModule => ({
    id,
    format: 'esm',
    code: '',
    dependencies: Object.fromEntries(imports.map((target) => [target, target])),
    maps: [],
    hash: '',
    watches,
    warnings: [],
  })
  const graph = new ModuleGraph()
  graph.add(module('page', ['a', 'builtin:react', '!gone']))
  graph.add(module('a', ['b']))
  graph.add(module('b', ['a', 'style']))
  graph.add(module('style', [], ['part']))
  graph.add(module('other', ['lib']))
  graph.add(module('lib', []))
  assert.deepEqual([...graph.dependentsOf(['part'])].sort(), ['a', 'b', 'page', 'style'])
  assert.deepEqual([...graph.dependentsOf(['lib'])].sort(), ['lib', 'other'])
  assert.deepEqual([...graph.dependentsOf(['unknown'])], [])
  graph.remove(['page', 'a'])
  assert.equal(graph.size, 4)
  assert.deepEqual([...graph.dependentsOf(['style'])].sort(), ['b', 'style'])
})
