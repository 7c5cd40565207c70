import type { Case } from './differential.ts'
import type { Choice } from './random-choice.ts'

const segments = [
  'a',
  'b.txt',
  'docs',
  'page.html',
  'x.txt',
  'p',
  'none',
  'deep',
  'img',
  'empty',
  'data.json',
  'large.txt',
  'unknown.zzz',
] as const
const joints = ['/', '/', '/', '/', '//', '%2F', '/./', '/../'] as const
const queries = [
  'a=1',
  'a=tail',
  'a=',
  'ip=10.1.2.3',
  'ip=127.0.0.1',
  'b=%20',
  'status=404',
  'status=503&a=1',
  'location=/p/x',
  'cookie=c=1;path=/',
] as const
const fields = [
  ['X-Test', 'long'],
  ['X-Test', 'm'],
  ['X-Test', 'ep'],
  ['Cookie', 'c=one; d=2'],
  ['Referer', 'http://good.test/a'],
  ['Referer', 'https://bad.test/'],
  ['Range', 'bytes=0-3'],
  ['Range', 'bytes=9999-'],
  ['Accept-Encoding', 'gzip'],
  ['Authorization', 'Basic dXNlcjpwdw=='],
  ['Authorization', 'Basic d3Jvbmc6cHc='],
  ['If-None-Match', '*'],
  ['If-Modified-Since', 'Fri, 01 Jan 2100 00:00:00 GMT'],
  ['If-Modified-Since', 'Thu, 01 Jan 1970 00:00:01 GMT'],
  ['If-Match', '"none"'],
  ['X-Client', '10.1.2.3, 127.0.0.1'],
  ['X-Client', '192.0.2.7'],
  ['User-Agent', 'agent'],
] as const

function randomFields(choice: Choice, method: string): Record<string, string> {
  const { 'If-Modified-Since': since, ...chosen } = Object.fromEntries(choice.some(fields, 3)) as Record<string, string>
  if (method === 'HEAD') delete chosen['Range']
  return since === undefined || chosen['If-None-Match'] !== undefined ? chosen : { ...chosen, 'If-Modified-Since': since }
}

/**
 * One request for a server of a random file. Not in it, for differences that the reference of vhost files names: X-Forwarded-For of a client
 * that is no trusted proxy, several ranges, ranges of HEAD, and If-Modified-Since beside If-None-Match.
 */
export function randomRequest(choice: Choice, servers: number): Case {
  const inner = Array.from({ length: choice.below(3) }, () => choice.of(joints) + choice.of(segments)).join('')
  const target = choice.chance(15) ? '/' : `/${choice.of(segments)}${inner}${choice.chance(30) ? '/' : ''}`
  const query = choice.chance(50) ? `?${choice.some(queries, 2).join('&')}` : ''
  const host = `${choice.of(['', '', '', 'www.', 'x.'])}s${choice.below(servers)}.test`
  const method = choice.of(['GET', 'GET', 'GET', 'GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'])
  const hasBody = method === 'POST' || method === 'PUT'
  return {
    target: `${target}${query}`,
    host,
    method,
    headers: randomFields(choice, method),
    ...(hasBody && { body: choice.of(['', 'a=1', 'a longer body of text']) }),
    // Engine uws speaks 1.1 alone.
    ...(choice.chance(10) && { version: '1.0', engine: 'node' }),
  }
}
