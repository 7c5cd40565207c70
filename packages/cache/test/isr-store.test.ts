import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { IsrStore } from '../src/index.ts'
import { cacheStoreContract } from './cache-store-contract.ts'

async function openStore(t: TestContext): Promise<IsrStore> {
  const cacheDir = await mkdtemp(join(tmpdir(), 'svc-isr-'))
  const store = await IsrStore.open({ cacheDir, maxEntries: 1000, maxBytes: 64 << 20, graceMs: 0 })
  t.after(async () => {
    await store.close()
    await rm(cacheDir, { recursive: true })
  })
  return store
}

cacheStoreContract('lmdb store', openStore)
