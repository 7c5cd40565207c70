import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { Child, fetchHttp, PROCESS_WAIT_MS, startServer, svcCommand, tempDir, waitFor, writeFiles } from '@svc/testkit'
import { client, isStored } from './backend.ts'
import { CachedOrigin, cachingConfig } from './cached-origin.ts'
import { freePlaces } from './nginx/differential.ts'

test('cache directives of locations and cache settings of route rules', async (t) => {
  const origin = await CachedOrigin.start(t, (request, response, number) => {
    const control = request.url?.includes('fresh') ? { 'cache-control': 'max-age=3600' } : {}
    response.writeHead(request.url?.includes('missing') ? 404 : 200, control).end(String(number))
  })
  const dir = tempDir(t, 'locations')
  const pass = `proxy_pass http://${origin.host}`
  const locations = [
    `location /none/ { ${pass}; }`,
    `location /off/ { ${pass}; proxy_cache off; }`,
    `location /on/ { ${pass}; proxy_cache zone; }`,
    `location /valid/ { ${pass}; proxy_cache zone; proxy_cache_valid 200 1h; }`,
    `location /any/ { ${pass}; proxy_cache zone; proxy_cache_valid any 1h; }`,
    `location /skipped/ { ${pass}; proxy_cache zone; proxy_cache_bypass $cookie_new $arg_new; proxy_no_cache $arg_own;
      add_header X-Cache $upstream_cache_status always; }`,
    `location /keyed/ { ${pass}; proxy_cache zone; proxy_cache_key $request_method$host$uri$cookie_lang; add_header X-Cache $upstream_cache_status; }`,
    `location /uses/ { ${pass}; proxy_cache zone; proxy_cache_min_uses 2; add_header X-Cache $upstream_cache_status; }`,
    `location /named/ { proxy_pass http://$arg_to; proxy_cache zone; }`,
  ]
  writeFiles(dir, {
    'web.conf': `server { listen 127.0.0.1:0; svc_cache_status on; server_name a.localhost; gzip off; ${locations.join('\n')} }`,
  })
  const rule = `[[route_rules]]\npattern = "/rule/*"\nupstream = "http://${origin.host}"\n`
  const server = await startServer(t, { config: `[server]\nworkers = 1\nvhosts = ["${dir}/web.conf"]\n${rule}` })
  const get = client(server, 'a.localhost')
  const cases: readonly (readonly [string, boolean])[] = [
    ['/none/fresh', false],
    ['/off/fresh', false],
    ['/on/fresh', true],
    ['/on/silent', false],
    ['/valid/silent', true],
    ['/valid/missing', false],
    ['/any/missing', true],
    ['/rule/fresh', true],
    ['/rule/silent', false],
  ]
  for (const [path, expected] of cases) assert.equal(await isStored(get, path), expected, path)

  const skipped = '/skipped/fresh'
  const word = async (path: string, options = {}) => (await get(path, options)).headers['x-cache']
  assert.equal(await word('/skipped/fresh-word'), 'MISS')
  await waitFor('a hit', async () => (await word('/skipped/fresh-word')) === 'HIT', PROCESS_WAIT_MS)
  assert.equal(await word('/skipped/fresh-word', { headers: { cookie: 'new=1' } }), 'BYPASS')
  assert.equal(await word('/skipped/fresh-word', { method: 'POST' }), undefined)
  assert.equal(await isStored(get, skipped), true)
  const old = (await get(skipped)).text
  const renewed = (await get(skipped, { headers: { cookie: 'new=1' } })).text
  assert.notEqual(renewed, old)
  await waitFor('the new answer', async () => (await get(skipped)).text === renewed, PROCESS_WAIT_MS)
  assert.equal((await get(skipped, { headers: { cookie: 'new=0' } })).text, renewed)
  assert.equal(await isStored(get, `${skipped}?own=1`), false)

  const hit = async (path: string, headers = {}) =>
    waitFor('a hit', async () => (await word(path, { headers })) === 'HIT', PROCESS_WAIT_MS)
  assert.equal(await word('/keyed/fresh?a=1'), 'MISS')
  await hit('/keyed/fresh?a=2')
  assert.equal(await word('/keyed/fresh?a=3', { headers: { cookie: 'lang=de' } }), 'MISS')
  await hit('/keyed/fresh', { cookie: 'lang=de' })
  await get('/keyed/fresh?a=4', { method: 'POST' })
  assert.equal(await word('/keyed/fresh'), 'MISS')
  assert.deepEqual([await word('/uses/fresh'), await word('/uses/fresh')], ['MISS', 'MISS'])
  await hit('/uses/fresh')

  // The upstream is part of the key: responses of an upstream that the client names are not shared.
  const other = await CachedOrigin.start(t, (_request, response) => {
    response.writeHead(200, { 'cache-control': 'max-age=3600' }).end('other')
  })
  assert.equal(await isStored(get, `/named/fresh?to=${origin.host}`), true)
  assert.equal((await get(`/named/fresh?to=${other.host}`)).text, 'other')
  const { status } = await fetchHttp(`${server.url}/on/fresh`, { host: 'a.localhost', method: 'HEAD' })
  assert.equal(status, 200)
})

test('the cache is switched on and off by reloads', async (t) => {
  const origin = await CachedOrigin.start(t, (_request, response, number) => {
    response.writeHead(200, { 'cache-control': 'max-age=3600' }).end(String(number))
  })
  const config = cachingConfig(t, origin, '[cache.l0]\nenabled = false\n[cache.proxy]\nenabled = false\n')
  const server = await startServer(t, { config })
  const get = client(server, 'a.localhost')
  const file = server.configFile ?? ''
  const text = readFileSync(file, 'utf8')
  const hits = async () => /svc-proxy; hit/.test(String((await get('/x')).headers['cache-status']))
  assert.deepEqual([(await get('/x')).text, (await get('/x')).text], ['1', '2'])
  for (const isOn of [true, false]) {
    writeFileSync(file, text.replace('[cache.proxy]\nenabled = false', `[cache.proxy]\nenabled = ${isOn}`))
    const command = new Child(t, svcCommand, ['reload', '--config', file])
    assert.equal((await command.exited).code, 0, command.stderr)
    if (isOn) await waitFor('a hit', hits, PROCESS_WAIT_MS)
    else assert.equal(await hits(), false)
  }
})

test('servers of one site share what they keep in one zone, and a purge of a path reaches all zones', async (t) => {
  const origin = await CachedOrigin.start(t, (_request, response, number) => {
    response.writeHead(200, { 'cache-control': 'max-age=3600' }).end(String(number))
  })
  const addresses = (await freePlaces(3)).map(({ hosts, port }) => `${hosts[0]}:${port}`)
  const servers = addresses.map((address, at) => {
    const location = `location / { proxy_pass http://${origin.host}; proxy_cache ${at === 2 ? 'other' : 'shared'}; }`
    return `server { listen ${address}; svc_cache_status on; server_name a.localhost; ${at === 0 ? '' : 'svc_site a.localhost;'} ${location} }`
  })
  const dir = tempDir(t, 'zones')
  writeFiles(dir, { 'web.conf': servers.join('\n') })
  const config = `[server]\nworkers = 1\nvhosts = ["${dir}/web.conf"]\n[cache.l0]\nenabled = false\n[endpoints]\nadmin = true\n`
  const server = await startServer(t, { config })
  const [first, second, third] = addresses
  const ask = async (address: string | undefined) => (await fetchHttp(`http://${address}/x`, { host: 'a.localhost' })).text
  const kept = (address: string | undefined, text: string) =>
    waitFor(
      `${text} at ${address}`,
      async () => {
        const answer = await fetchHttp(`http://${address}/x`, { host: 'a.localhost' })
        assert.equal(answer.text, text)
        return /svc-proxy; hit/.test(String(answer.headers['cache-status']))
      },
      PROCESS_WAIT_MS,
    )
  await kept(first, '1')
  assert.equal(await ask(second), '1')
  await kept(third, '2')
  assert.equal(await ask(first), '1')
  const purge = new Child(t, svcCommand, ['purge', 'proxy', '--host', 'a.localhost', '--config', server.configFile ?? ''])
  assert.equal((await purge.exited).code, 0, purge.stderr)
  assert.equal(await ask(third), '3')
  await kept(third, '3')
  assert.equal(await ask(second), '4')
})
