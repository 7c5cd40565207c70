import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect as connectSocket, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import {
  type Channel,
  createIpcChannel,
  createPortChannel,
  createSocketChannel,
  type Frame,
  type SocketChannelOptions,
} from '../src/index.ts'

type Pair = readonly [Channel, Channel]

async function sockets(t: TestContext): Promise<readonly [Socket, Socket]> {
  const dir = mkdtempSync(join(tmpdir(), 'svc-channel-'))
  const listener = createServer().listen(join(dir, 's'))
  await once(listener, 'listening')
  const accepted = once(listener, 'connection')
  const near = connectSocket(join(dir, 's'))
  const [far] = (await accepted) as [Socket]
  t.after(() => {
    near.destroy()
    far.destroy()
    listener.close()
    rmSync(dir, { recursive: true })
  })
  return [near, far]
}

async function socketPair(t: TestContext, options?: SocketChannelOptions): Promise<Pair> {
  const [near, far] = await sockets(t)
  return [createSocketChannel(near, options), createSocketChannel(far, options)]
}

function portPair(): Pair {
  const { port1, port2 } = new MessageChannel()
  return [createPortChannel(port1), createPortChannel(port2)]
}

/** The other end is a real process that sends back all it gets. */
function echoProcess(t: TestContext): Channel {
  const dir = mkdtempSync(join(tmpdir(), 'svc-ipc-'))
  const file = join(dir, 'echo.ts')
  writeFileSync(
    file,
    `import { createIpcChannel } from ${JSON.stringify(new URL('../src/channel/ipc-channel.ts', import.meta.url).href)}
     const channel = createIpcChannel(process)
     channel.onFrame(({ head, bytes }) => head === 'close' ? channel.close() : channel.send(head, bytes))`,
  )
  const child = fork(file, { serialization: 'advanced', execArgv: ['--disable-warning=ExperimentalWarning'] })
  t.after(() => {
    child.kill('SIGKILL')
    rmSync(dir, { recursive: true })
  })
  return createIpcChannel(child)
}

/** Collects frames and lets a test wait for a number of them. */
function inbox(channel: Channel): { frames: Frame[]; got(count: number): Promise<void> } {
  const frames: Frame[] = []
  let check: () => void = () => undefined
  channel.onFrame((frame) => {
    frames.push(frame)
    check()
  })
  return {
    frames,
    got(count) {
      const { promise, resolve } = Promise.withResolvers<void>()
      check = () => {
        if (frames.length >= count) resolve()
      }
      check()
      return promise
    },
  }
}

const ended = (channel: Channel) => new Promise<Error | undefined>((resolve) => channel.onClosed(resolve))

const kinds: Readonly<Record<string, (t: TestContext) => Pair | Promise<Pair>>> = {
  socket: socketPair,
  port: portPair,
}

for (const [kind, make] of Object.entries(kinds)) {
  test(`${kind}: frames arrive whole, in order, with their bytes`, async (t) => {
    const [near, far] = await make(t)
    const { frames, got } = inbox(far)
    near.send({ n: 1 })
    near.send('two', new Uint8Array([1, 2, 3]))
    near.send([3], new Uint8Array(100_000).fill(7))
    near.send(null, new Uint8Array(0))
    await got(4)
    assert.deepEqual(frames[0]?.head, { n: 1 })
    assert.equal(frames[0]?.bytes, undefined)
    assert.deepEqual([...(frames[1]?.bytes ?? [])], [1, 2, 3])
    assert.equal(frames[2]?.bytes?.byteLength, 100_000)
    assert.ok(frames[2]?.bytes?.every((byte) => byte === 7))
    assert.equal(frames[3]?.head, null)
    near.close()
    far.close()
  })

  test(`${kind}: closing one end notifies both once, and sends nothing more`, async (t) => {
    const [near, far] = await make(t)
    const { frames } = inbox(far)
    const farEnded = ended(far)
    near.send('last')
    near.close()
    near.close()
    near.send('lost')
    assert.equal(await farEnded, undefined)
    assert.equal(await ended(near), undefined)
    assert.ok(frames.length <= 1)
    far.send('lost')
  })
}

test('socket: what was sent before close still arrives', async (t) => {
  const [near, far] = await socketPair(t)
  const { frames } = inbox(far)
  for (let i = 0; i < 1000; i++) near.send(i, new Uint8Array(1000))
  near.close()
  await ended(far)
  assert.equal(frames.length, 1000)
})

test('socket: bytes in pieces of any size make the same frames', async (t) => {
  const [near, far] = await sockets(t)
  const channel = createSocketChannel(far)
  const { frames, got } = inbox(channel)
  const head = Buffer.from('{"a":"é"}')
  const frame = Buffer.concat([Buffer.from([head.length, 0, 0, 0, 2, 0, 0, 0]), head, Buffer.from([8, 9])])
  for (const byte of Buffer.concat([frame, frame])) {
    near.write(Buffer.from([byte]))
    await new Promise((resolve) => setImmediate(resolve))
  }
  await got(2)
  assert.deepEqual(
    frames.map((one) => [one.head, [...(one.bytes ?? [])]]),
    [
      [{ a: 'é' }, [8, 9]],
      [{ a: 'é' }, [8, 9]],
    ],
  )
})

test('socket: a frame over the limit ends the channel with an error', async (t) => {
  const [near, far] = await socketPair(t, { maxFrameBytes: 1000 })
  inbox(far)
  near.send('x', new Uint8Array(2000))
  const reason = await ended(far)
  assert.equal((reason as { code?: string }).code, 'CORE_PROTOCOL')
})

test('socket: a head that is not JSON ends the channel with an error', async (t) => {
  const [near, far] = await sockets(t)
  const channel = createSocketChannel(far)
  inbox(channel)
  near.write(Buffer.from([1, 0, 0, 0, 0, 0, 0, 0, 0x7b]))
  const reason = await ended(channel)
  assert.equal((reason as { code?: string }).code, 'CORE_PROTOCOL')
})

test('port: a view into a shared pool is copied, memory of its own is handed over', async () => {
  const [near, far] = portPair()
  const { frames, got } = inbox(far)
  const pooled = Buffer.from('pooled')
  const own = new Uint8Array(8).fill(1)
  near.send(1, pooled)
  near.send(2, own)
  await got(2)
  assert.equal(Buffer.from(frames[0]?.bytes ?? []).toString(), 'pooled')
  assert.equal(pooled.toString(), 'pooled')
  assert.equal(own.byteLength, 0)
  assert.equal(frames[1]?.bytes?.byteLength, 8)
  near.close()
})

test('ipc: what was sent before close still arrives', async (t) => {
  const channel = echoProcess(t)
  const { frames } = inbox(channel)
  for (let i = 0; i < 50; i++) channel.send(i, new Uint8Array(100_000))
  channel.send('close')
  await ended(channel)
  assert.equal(frames.length, 50)
})

test('ipc: frames cross to a process and back, and its end closes the channel', async (t) => {
  const channel = echoProcess(t)
  const { frames, got } = inbox(channel)
  channel.send({ deep: [1, { two: 2 }] }, new Uint8Array([5, 6]))
  channel.send('plain')
  await got(2)
  assert.deepEqual(frames[0]?.head, { deep: [1, { two: 2 }] })
  assert.deepEqual([...(frames[0]?.bytes ?? [])], [5, 6])
  assert.equal(frames[1]?.bytes, undefined)
  channel.send('close')
  await ended(channel)
  channel.send('lost')
  channel.close()
})
