import { tempDir } from '@svc/testkit'
import { cacheStoreContract } from './cache-store-contract.ts'
import { openStore, roomy } from './store/store-fixture.ts'

cacheStoreContract('lmdb store', (t) => openStore(t, roomy(tempDir(t))))
