import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { before, test } from 'node:test'
import { buildGuestForTest, IsolateHarness } from './harness/isolate-harness.ts'

let dir = ''
before(async (t) => {
  dir = await buildGuestForTest(t as never)
})

/** Expressions of a site's code and what they must give; both sides travel as JSON. */
type Table = readonly (readonly [expression: string, expected: unknown])[]

async function check(t: { after(fn: () => void): void }, table: Table, preamble = ''): Promise<void> {
  const harness = await IsolateHarness.start(t, dir)
  const failure = "(error) => 'throws ' + (error?.name ?? String(error))"
  const cases = table.map(([expression]) => `async () => (${expression})`)
  const body = `${preamble}
    const results = []
    for (const run of [${cases.join(',\n')}]) results.push((await run().catch(${failure})) ?? null)
    return Response.json(results)`
  const results = (await harness.evaluateAsync(body)) as unknown[]
  const actual = table.map(([expression], index) => [expression, results[index]])
  assert.deepEqual(
    actual,
    table.map(([expression, expected]) => [expression, expected]),
  )
}

test('features that escape the memory limit are absent', async (t) => {
  await check(t, [
    ['typeof WebAssembly + typeof SharedArrayBuffer + typeof Atomics', 'undefinedundefinedundefined'],
    ['new ArrayBuffer(1, { maxByteLength: 2 })', 'throws RangeError'],
    ['new (new Uint8Array(1).buffer.constructor)(1, { maxByteLength: 2 })', 'throws RangeError'],
    ['new (class extends ArrayBuffer {})(1, { maxByteLength: 2 })', 'throws RangeError'],
    ['Reflect.construct(ArrayBuffer, [1, { maxByteLength: 2 }], Object)', 'throws RangeError'],
    ["'resize' in ArrayBuffer.prototype", false],
    ['new ArrayBuffer(3, {}).byteLength', 3],
    ['new ArrayBuffer(3) instanceof ArrayBuffer && new Uint8Array(2).buffer instanceof ArrayBuffer', true],
    ['typeof __svc + typeof require + typeof setImmediate + typeof process.cwd', 'undefinedundefinedundefinedundefined'],
  ])
})

test('URLs are those of the WHATWG', async (t) => {
  await check(t, [
    ["new URL('nope')", 'throws TypeError'],
    ["new URL('../b?x=1#h', 'https://u:p@EXAMPLE.com:443/a/c/d').href", 'https://u:p@example.com/a/b?x=1#h'],
    ["new URL('http://[::1]:8080/%7Efoo/../bar baz').href", 'http://[::1]:8080/bar%20baz'],
    ["[new URL('http://a/b').origin, URL.canParse('x:'), URL.canParse('/'), URL.parse('/')]", ['http://a', true, false, null]],
    [
      "(() => { const u = new URL('http://a/?b=1'); u.searchParams.append('c', 'd e&'); u.hash = 'x'; u.port = '80'; return u.href })()",
      'http://a/?b=1&c=d+e%26#x',
    ],
    [
      "[...new URLSearchParams('?a=1&b=%20+&a=2&c')]",
      [
        ['a', '1'],
        ['b', '  '],
        ['a', '2'],
        ['c', ''],
      ],
    ],
    ["new URLSearchParams({ q: 'ä€😀' }).toString()", 'q=%C3%A4%E2%82%AC%F0%9F%98%80'],
    [
      "(() => { const p = new URLSearchParams([['b', '1'], ['a', '2'], ['b', '3']]); p.sort(); p.delete('b', '1'); return [p.toString(), p.size, p.has('b', '3')] })()",
      ['a=2&b=3', 2, true],
    ],
  ])
})

test('header fields follow the Fetch standard', async (t) => {
  await check(t, [
    ["new Headers({ 'a b': '1' })", 'throws TypeError'],
    ["new Headers({ a: 'x\\r\\ny: z' })", 'throws TypeError'],
    ["new Headers({ a: '\\u0100' })", 'throws TypeError'],
    ["new Headers([['a']])", 'throws TypeError'],
    ['new Headers(null)', 'throws TypeError'],
    ["Response.error().headers.set('a', 'b')", 'throws TypeError'],
    [
      "[...new Headers([['B', ' 2 '], ['a', '1'], ['b', '3'], ['Set-Cookie', 'x=1'], ['set-cookie', 'y=2']])]",
      [
        ['a', '1'],
        ['b', '2, 3'],
        ['set-cookie', 'x=1'],
        ['set-cookie', 'y=2'],
      ],
    ],
    ["new Headers([['set-cookie', 'a'], ['set-cookie', 'b']]).getSetCookie()", ['a', 'b']],
    [
      "(() => { const h = new Headers({ A: '1' }); h.append('a', '2'); h.set('B', '3'); h.delete('b'); return [h.get('A'), h.has('b'), h.get('none')] })()",
      ['1, 2', false, null],
    ],
  ])
})

test('requests and responses carry every kind of body', async (t) => {
  const read = 'const req = (body, headers) => new Request("http://a/", { method: "POST", body, headers })'
  const form =
    "(() => { const f = new FormData(); f.append('n', 'a\\nb'); f.append('f', new File(['\\0\\r\\n--x'], 'q\"\\r.bin', { type: 'a/b' })); f.append('n', 'ü'); return f })()"
  await check(
    t,
    [
      ["new Request('/relative')", 'throws TypeError'],
      ["new Request('http://u:p@a/')", 'throws TypeError'],
      ["new Request('http://a', { method: 'GET', body: 'x' })", 'throws TypeError'],
      ["new Request('http://a', { method: 'TRACE' })", 'throws TypeError'],
      ["new Response('x', { status: 204 })", 'throws TypeError'],
      ["new Response('', { status: 99 })", 'throws RangeError'],
      ["Response.redirect('http://a', 200)", 'throws RangeError'],
      ["(async () => { const r = new Response('x'); await r.text(); return r.text() })()", 'throws TypeError'],
      ["(async () => { const r = new Response('x'); await r.text(); return r.clone() })()", 'throws TypeError'],
      ["(async () => { const r = new Response('x'); r.body.getReader(); return r.text() })()", 'throws TypeError'],
      ["new Response('{').json()", 'throws SyntaxError'],
      ["new Response('x').formData()", 'throws TypeError'],
      [
        "new Response('--b\\r\\ncut', { headers: { 'content-type': 'multipart/form-data; boundary=b' } }).formData()",
        'throws TypeError',
      ],
      [
        "(async () => { const r = req('ü'); return [r.headers.get('content-type'), r.method, r.bodyUsed, await r.text(), r.bodyUsed] })()",
        ['text/plain;charset=UTF-8', 'POST', false, 'ü', true],
      ],
      ['(async () => [...await req(new Uint8Array([1, 2, 3]).subarray(1)).bytes()])()', [2, 3]],
      [
        "(async () => [...new Uint8Array(await req(new Blob(['a', new Uint8Array([98])], { type: 'X/Y' })).arrayBuffer())])()",
        [97, 98],
      ],
      ["req(new Blob(['a'], { type: 'X/Y' })).headers.get('content-type')", 'x/y'],
      ["(async () => [...await req(new URLSearchParams({ a: 'b c' })).formData()])()", [['a', 'b c']]],
      [
        `(async () => { const f = await req(${form}).formData(); const file = f.get('f'); return [f.getAll('n'), file.name, file.type, file.size, await file.text()] })()`,
        [['a\r\nb', 'ü'], 'q"\r.bin', 'a/b', 6, '\0\r\n--x'],
      ],
      [
        "(async () => { const r = new Response(new ReadableStream({ start(c) { c.enqueue(new TextEncoder().encode('ab')); c.enqueue(new Uint8Array([99])); c.close() } })); const copy = r.clone(); return [await r.text(), await copy.text()] })()",
        ['abc', 'abc'],
      ],
      [
        "(async () => { const r = Response.json({ a: [1] }, { status: 201 }); const c = r.clone(); return [r.status, r.headers.get('content-type'), await r.json(), await c.text(), c.ok] })()",
        [201, 'application/json', { a: [1] }, '{"a":[1]}', true],
      ],
      [
        "(() => { const r = Response.redirect('http://a/b', 303); return [r.status, r.headers.get('location'), r.body] })()",
        [303, 'http://a/b', null],
      ],
      [
        "(async () => { const a = req('body'); const b = new Request(a, { headers: { x: 'y' } }); return [a.bodyUsed, await b.text(), b.headers.get('x'), b.method] })()",
        [true, 'body', 'y', 'POST'],
      ],
      [
        "(async () => { let s = ''; for await (const part of new Response('hello').body) s += new TextDecoder().decode(part); return s })()",
        'hello',
      ],
      ["(async () => [...await new Blob(['abcdef']).slice(1, -1).bytes()])()", [98, 99, 100, 101]],
      [
        "(() => { const f = new FormData(); f.set('a', '1'); f.append('a', '2'); f.set('a', '3'); f.append('b', new Blob(['x'])); return [[...f.keys()], f.getAll('a'), f.get('b').name, f.get('b') instanceof File] })()",
        [['a', 'b'], ['3'], 'blob', true],
      ],
    ],
    read,
  )
})

test('text is encoded and decoded as the Encoding standard says', async (t) => {
  const bytes = (...values: number[]) => `new Uint8Array([${values.join()}])`
  await check(t, [
    ["new TextDecoder('utf-7')", 'throws RangeError'],
    ["new TextDecoder('GBK')", 'throws RangeError'],
    [`new TextDecoder('iso-8859-15').decode(${bytes(0xa4, 0xe4)})`, '€ä'],
    [`new TextDecoder('utf-8', { fatal: true }).decode(${bytes(0xff)})`, 'throws TypeError'],
    [`new TextDecoder('utf-8', { fatal: true }).decode(${bytes(0xe2, 0x82)})`, 'throws TypeError'],
    [`new TextDecoder('utf-16le', { fatal: true }).decode(${bytes(0x00, 0xd8)})`, 'throws TypeError'],
    ["[...new TextEncoder().encode('aü€😀\\ud800')]", [97, 195, 188, 226, 130, 172, 240, 159, 152, 128, 239, 191, 189]],
    [
      "(() => { const b = new Uint8Array(5); return [new TextEncoder().encodeInto('a😀b', b), [...b]] })()",
      [{ read: 3, written: 5 }, [97, 240, 159, 152, 128]],
    ],
    ["(() => { const b = new Uint8Array(3); return new TextEncoder().encodeInto('a😀', b) })()", { read: 1, written: 1 }],
    [
      `new TextDecoder().decode(${bytes(0x61, 0xc0, 0xaf, 0xed, 0xa0, 0x80, 0xf0, 0x9f, 0x98, 0x62)})`,
      'a\ufffd\ufffd\ufffd\ufffd\ufffd\ufffdb',
    ],
    [`new TextDecoder().decode(${bytes(0xef, 0xbb, 0xbf, 0x61)})`, 'a'],
    [`new TextDecoder('utf-8', { ignoreBOM: true }).decode(${bytes(0xef, 0xbb, 0xbf, 0x61)})`, '\ufeffa'],
    [
      "(() => { const d = new TextDecoder(); const b = new TextEncoder().encode('x€😀y'); let s = ''; for (const byte of b) s += d.decode(new Uint8Array([byte]), { stream: true }); return s + d.decode() })()",
      'x€😀y',
    ],
    [
      "(() => { const d = new TextDecoder('utf-16le'); let s = ''; for (const byte of [0xff, 0xfe, 0x3d, 0xd8, 0x00, 0xde, 0x61, 0]) s += d.decode(new Uint8Array([byte]), { stream: true }); return s + d.decode() })()",
      '😀a',
    ],
    [`new TextDecoder('latin1').decode(${bytes(0x80, 0xe4, 0x41)})`, '€äA'],
    [
      "(async () => { const s = new TextEncoderStream(); const w = s.writable.getWriter(); w.write('\\ud83d'); w.write('\\ude00'); w.close(); const all = []; for await (const c of s.readable) all.push(...c); return all })()",
      [240, 159, 152, 128],
    ],
    [
      "(async () => { const source = new Blob(['héllo']).stream().pipeThrough(new TextDecoderStream()); let s = ''; for await (const c of source) s += c; return s })()",
      'héllo',
    ],
    ["atob('a')", 'throws InvalidCharacterError'],
    ["btoa('€')", 'throws InvalidCharacterError'],
    ["[btoa(''), btoa('a'), btoa('ab\\xff'), atob(' YQ = = '), atob('YWL/').charCodeAt(2)]", ['', 'YQ==', 'YWL/', 'a', 255]],
  ])
})

test('structuredClone copies values and refuses the rest', async (t) => {
  await check(t, [
    ['structuredClone(() => 1)', 'throws DataCloneError'],
    ['structuredClone(Symbol())', 'throws DataCloneError'],
    ['structuredClone(Promise.resolve())', 'throws DataCloneError'],
    ['structuredClone(1, { transfer: [{}] })', 'throws DataCloneError'],
    [
      '(() => { const o = { d: new Date(5), r: /x/gi, m: new Map([[{ k: 1 }, new Set([1])]]), n: null, b: 2n > 1n, a: [1, , 3] }; o.self = o; const c = structuredClone(o); return [c !== o, c.self === c, c.d.getTime(), String(c.r), [...c.m.keys()][0].k, [...[...c.m.values()][0]], 1 in c.a] })()',
      [true, true, 5, '/x/gi', 1, [1], false],
    ],
    [
      "(() => { const e = structuredClone(new RangeError('m', { cause: 1 })); return [e instanceof RangeError, e.message, e.cause] })()",
      [true, 'm', 1],
    ],
    [
      '(() => { const b = new ArrayBuffer(4); new Uint8Array(b)[1] = 7; const v = new Uint16Array(b, 2, 1); const c = structuredClone({ b, v }, { transfer: [b] }); return [b.byteLength, [...new Uint8Array(c.b)], c.v.buffer === c.b, c.v.length] })()',
      [0, [0, 7, 0, 0], true, 1],
    ],
    [
      '(() => { class A { x = 1; get y() { return 2 } } const c = structuredClone(new A()); return [c.x, c.y, c.constructor === Object] })()',
      [1, null, true],
    ],
  ])
})

test('crypto computes on the host, for HMAC and AES-GCM', async (t) => {
  const key =
    'const raw = new TextEncoder().encode("secret"); const hmac = (usages) => crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, true, usages); const hex = (b) => Buffer.from(b).toString("hex"); const data = new TextEncoder().encode("data")'
  const signature = createHmac('sha256', 'secret').update('data').digest('hex')
  await check(
    t,
    [
      ['crypto.getRandomValues(new Float32Array(1))', 'throws TypeMismatchError'],
      ['crypto.getRandomValues(new Uint8Array(65537))', 'throws QuotaExceededError'],
      ["crypto.subtle.digest('MD5', data)", 'throws NotSupportedError'],
      ["hmac(['verify']).then((k) => crypto.subtle.sign('HMAC', k, data))", 'throws InvalidAccessError'],
      ['hmac([])', 'throws SyntaxError'],
      ["hmac(['encrypt'])", 'throws SyntaxError'],
      ["crypto.subtle.importKey('raw', raw, 'AES-GCM', true, ['encrypt'])", 'throws DataError'],
      [
        "crypto.subtle.generateKey({ name: 'AES-GCM', length: 128 }, false, ['encrypt']).then((k) => crypto.subtle.exportKey('raw', k))",
        'throws InvalidAccessError',
      ],
      ["crypto.subtle.digest('sha-256', data).then(hex)", '3a6eb0790f39ac87c94f3856b2dd2c5d110e6811602261a9a923d3bb23adc8b7'],
      ["hmac(['sign']).then((k) => crypto.subtle.sign('HMAC', k, data)).then(hex)", signature],
      [
        `hmac(['verify']).then(async (k) => [await crypto.subtle.verify('HMAC', k, Buffer.from('${signature}', 'hex'), data), await crypto.subtle.verify('HMAC', k, Buffer.from('${signature}', 'hex').fill(0, 0, 1), data), await crypto.subtle.verify('HMAC', k, new Uint8Array(0), data)])`,
        [true, false, false],
      ],
      [
        "hmac(['sign']).then((k) => crypto.subtle.exportKey('jwk', k))",
        { kty: 'oct', k: 'c2VjcmV0', alg: 'HS256', ext: true, key_ops: ['sign'] },
      ],
      [
        "(async () => { const k = await crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, true, ['encrypt', 'decrypt']); const iv = crypto.getRandomValues(new Uint8Array(12)); const alg = { name: 'AES-GCM', iv, additionalData: raw }; const sealed = await crypto.subtle.encrypt(alg, k, data); const open = await crypto.subtle.decrypt(alg, k, sealed); return [sealed.byteLength, new TextDecoder().decode(open)] })()",
        [20, 'data'],
      ],
      [
        "(async () => { const k = await crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, true, ['encrypt', 'decrypt']); return crypto.subtle.decrypt({ name: 'AES-GCM', iv: new Uint8Array(12) }, k, new Uint8Array(32)) })()",
        'throws OperationError',
      ],
      [
        '/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()) && crypto.randomUUID() !== crypto.randomUUID()',
        true,
      ],
    ],
    key,
  )
})

test('events and abort signals follow the DOM', async (t) => {
  await check(t, [
    ['new AbortSignal()', 'throws TypeError'],
    ['AbortSignal.abort().throwIfAborted()', 'throws AbortError'],
    ["new EventTarget().dispatchEvent({ type: 'x' })", 'throws TypeError'],
    [
      'new Promise((_, reject) => { AbortSignal.timeout(1).onabort = (event) => reject(event.target.reason) })',
      'throws TimeoutError',
    ],
    [
      "(() => { const a = new AbortController(), b = new AbortController(); const any = AbortSignal.any([a.signal, b.signal]); const nested = AbortSignal.any([any]); b.abort('why'); a.abort('late'); return [any.reason, nested.reason, nested.aborted] })()",
      ['why', 'why', true],
    ],
    [
      "(() => { const t = new EventTarget(); const log = []; const f = () => log.push('f'); t.addEventListener('x', f); t.addEventListener('x', f); t.addEventListener('x', { handleEvent(e) { log.push(e.type); e.preventDefault() } }, { once: true }); t.addEventListener('x', () => { throw new Error('logged') }); t.addEventListener('x', (e) => { log.push('stop'); e.stopImmediatePropagation() }); t.addEventListener('x', () => log.push('never')); const first = t.dispatchEvent(new Event('x', { cancelable: true })); const c = new AbortController(); t.addEventListener('y', f, { signal: c.signal }); c.abort(); t.dispatchEvent(new CustomEvent('y', { detail: 1 })); t.removeEventListener('x', f); return [first, log, t.dispatchEvent(new Event('x'))] })()",
      [false, ['f', 'x', 'stop', 'stop'], true],
    ],
    [
      "(() => { const e = new DOMException('m', 'AbortError'); return [e.code, new DOMException('', 'constructor').code, e instanceof Error, DOMException.ABORT_ERR, String(e)] })()",
      [20, 0, true, 20, 'AbortError: m'],
    ],
    [
      'new Promise((resolve) => { const { port1, port2 } = new MessageChannel(); port2.onmessage = (event) => resolve(event.data); port1.postMessage({ a: [1] }) })',
      { a: [1] },
    ],
  ])
})

test('Buffer does what Node does', async (t) => {
  const cases = [
    "Buffer.from('zz', 'nope')",
    'Buffer.from(5)',
    "Buffer.from('ü€').toString('hex')",
    "Buffer.from('c3bc', 'hex').toString()",
    "Buffer.from('aGk', 'base64').toString()",
    "Buffer.from('hi?>').toString('base64url')",
    "Buffer.from('aé', 'latin1').toJSON()",
    "Buffer.from('a😀', 'utf16le').toString('utf16le')",
    "Buffer.byteLength('ü€😀')",
    "Buffer.byteLength('aGk=', 'base64')",
    "Buffer.concat([Buffer.from('a'), Buffer.from('bc')], 2).toString()",
    "Buffer.alloc(5, 'ab').toString()",
    "Buffer.compare(Buffer.from('a'), Buffer.from('b'))",
    "Buffer.from('abcabc').indexOf('ca')",
    "Buffer.from('abcabc').lastIndexOf('bc')",
    "Buffer.from('abc').includes(98)",
    "Buffer.from('abc').equals(Buffer.from('abc'))",
    "(() => { const b = Buffer.from('abc'); b.slice(1)[0] = 120; return b.toString() })()",
    "(() => { const b = Buffer.alloc(4); return [b.write('ü€'), b.toString('hex')] })()",
    "(() => { const b = Buffer.alloc(8); b.writeUInt32BE(0xdeadbeef, 1); b.writeInt16LE(-2, 5); return [b.toString('hex'), b.readUInt32BE(1), b.readInt16LE(5), b.readUIntBE(1, 3), b.readIntLE(5, 2)] })()",
    '(() => { const b = Buffer.alloc(16); b.writeDoubleLE(1.5); b.writeBigUInt64BE(2n ** 60n, 8); return [b.readDoubleLE(0), String(b.readBigUInt64BE(8))] })()',
    'Buffer.alloc(2).readUInt32LE(0)',
    "Buffer.isBuffer(Buffer.from([1]).subarray(0)) && Buffer.isEncoding('HEX') && !Buffer.isEncoding('x') && !Buffer.isEncoding('constructor')",
    "Buffer.from({ type: 'Buffer', data: [1, 2] }).length",
    "Buffer.from(new Uint16Array([1, 256])).toString('hex')",
    "(() => { const t = Buffer.alloc(2); return [Buffer.from('abcd').copy(t, 0, 1), t.toString()] })()",
    'Buffer.from([0xe2, 0x82, 0x41]).toString()',
  ]
  const failure = (error: unknown) => `throws ${(error as Error).name}`
  const expected = cases.map((code): [string, unknown] => {
    try {
      return [code, JSON.parse(JSON.stringify(new Function(`return (${code})`)())) as unknown]
    } catch (error) {
      return [code, failure(error)]
    }
  })
  await check(t, expected)
})

test('console writes formatted lines with their level and request', async (t) => {
  const harness = await IsolateHarness.start(t, dir)
  const body = `
    console.log('%s is %d, %j', 'a', 1.5, { b: 1 }, [1, 'x'], new Map([['k', { deep: { er: { hid: 1 } } }]]))
    console.error(new TypeError('broken'))
    const loop = { a: 1 }; loop.self = loop
    console.warn(loop, null, undefined, 2n, Symbol('s'), () => 1, class K {}, new Headers({ x: 'y' }))
    console.group('in'); console.debug('side'); console.groupEnd()
    console.assert(true, 'no'); console.assert(false, 'yes'); console.count(); console.count()
    console.table([{ a: 1, b: 'x' }])
    console.log(new Proxy({}, { ownKeys() { throw 1 } }))
    return Response.json(1)`
  await harness.evaluateAsync(body)
  const lines = harness.log.map(({ level, text }) => `${level} ${text.split('\n')[0]}`)
  assert.deepEqual(lines, [
    `info a is 1.5, {"b":1} [ 1, 'x' ] Map(1) { 'k' => { deep: { er: [Object] } } }`,
    'error TypeError: broken',
    "warn { a: 1, self: [Circular] } null undefined 2n Symbol(s) [Function: (anonymous)] [class K] Headers { x: 'y' }",
    'info in',
    'debug   side',
    'error Assertion failed: yes',
    'info default: 1',
    'info default: 2',
    'info (index) | a | b  ',
    'info [cannot be shown]',
  ])
  assert.ok(harness.log.every(({ requestNumber }) => requestNumber === 1))
})

test('the environment is what the host configured and no more', async (t) => {
  await check(t, [
    ['process.env', { NODE_ENV: 'production', GREETING: 'hello' }],
    [
      "[Headers, Request, structuredClone, TextDecoder, AbortSignal, (await import('svc/server')).NextResponse, new Blob().constructor].map((f) => f.name)",
      ['Headers', 'Request', 'structuredClone', 'TextDecoder', 'AbortSignal', 'NextResponse', 'Blob'],
    ],
    ['performance.timeOrigin > 1.6e12 && performance.now() >= 0', true],
    ["(await import('node:util')).isDeepStrictEqual({ a: [new Set([1])] }, { a: [new Set([1])] })", true],
    ["(await import('path')).relative('/a/b', '/a/c/../d')", '../d'],
    [
      "(await import('path')).default.parse('/x/y.tar.gz')",
      { root: '/', dir: '/x', base: 'y.tar.gz', ext: '.gz', name: 'y.tar' },
    ],
  ])
})
