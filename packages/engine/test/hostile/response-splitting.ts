import { answered, get, type HostileCase } from './case.ts'

const hex = (text: string) => Buffer.from(text, 'latin1').toString('hex')
const split = (name: string, value: string) => [get(`/split?${hex(name)}=${hex(value)}`)]
const clean = { ...answered, lacks: 'injected' } as const

/** An application that is made to write what the client wants (RFC 9112 section 11.1). */
export const responseSplittingCases: readonly HostileCase[] = [
  { name: 'a good field is sent', send: split('X-Good', 'value'), ...answered, contains: 'X-Good: value' },
  { name: 'line end in a value', send: split('X-A', 'a\r\nX-B: injected'), ...clean },
  { name: 'line feed in a value', send: split('X-A', 'a\nX-B: injected'), ...clean },
  { name: 'carriage return in a value', send: split('X-A', 'a\rX-B: injected'), ...clean },
  { name: 'NUL in a value', send: split('X-A', 'a\0injected'), ...clean },
  {
    name: 'a whole response in a value',
    send: split('X-A', 'a\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 injected\r\n\r\n'),
    ...clean,
  },
  { name: 'line end in a name', send: split('X-A\r\nX-B', 'injected'), ...clean },
  { name: 'colon in a name', send: split('X-A: injected\r\nX-B', 'b'), ...clean },
  { name: 'space in a name', send: split('X A', 'injected'), ...clean },
  { name: 'empty name', send: split('', 'injected'), ...clean },
  {
    name: 'own Content-Length',
    send: split('Content-Length', '3'),
    ...answered,
    contains: '\r\n\r\nsplit',
    lacks: 'Content-Length: 3',
  },
  { name: 'own Transfer-Encoding', send: split('Transfer-Encoding', 'chunked'), ...answered, lacks: 'chunked' },
  { name: 'own Connection', send: split('Connection', 'injected'), ...clean },
  { name: 'own Date', send: split('Date', 'injected'), ...clean },
  { name: 'own Upgrade', send: split('Upgrade', 'injected'), ...clean },
  { name: 'bytes over 0x7f in a value', send: split('X-A', 'caf\xe9'), ...answered, contains: 'X-A: caf\xe9\r\n' },
]
