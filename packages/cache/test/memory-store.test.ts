import { MemoryStore } from '@svc/testkit'
import { cacheStoreContract } from './cache-store-contract.ts'

cacheStoreContract('memory store', async () => new MemoryStore())
