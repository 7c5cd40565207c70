// Waits for a server to report that it is healthy. Prints one line with the last report.
//
//   bin/node scripts/deploy-health.mjs <svc> <config file> <seconds> <accepts degraded: yes|no> [<url>]
import { execFileSync } from 'node:child_process'
import { get as getPlain } from 'node:http'
import { get as getTls } from 'node:https'
import { setTimeout as pause } from 'node:timers/promises'

const [svc, config, seconds, accepts, given] = process.argv.slice(2)
const PAUSE_MS = 250
const REQUEST_MS = 5_000
const MAX_BODY_BYTES = 65_536

/** A wildcard is no address to connect to. */
function reachable(url) {
  return url.replace('//0.0.0.0', '//127.0.0.1').replace('//[::]', '//[::1]')
}

function status() {
  return JSON.parse(
    execFileSync(svc, ['status', '--json', '--config', config], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }),
  )
}

/** The health report, whatever certificate the server has: it is asked on this machine. */
function request(url) {
  const { promise, resolve, reject } = Promise.withResolvers()
  const get = url.startsWith('https:') ? getTls : getPlain
  const asked = get(url, { rejectUnauthorized: false, timeout: REQUEST_MS }, (response) => {
    let text = ''
    response.setEncoding('utf8').on('data', (data) => {
      text = (text + data).slice(0, MAX_BODY_BYTES)
    })
    response.on('error', reject).on('end', () => resolve({ code: response.statusCode, text }))
  })
  asked.on('timeout', () => asked.destroy(new Error(`no answer within ${REQUEST_MS} ms`))).on('error', reject)
  return promise
}

/** @returns the report as a line, and if it is good */
async function look() {
  const report = given ? undefined : status()
  const listen = report?.listen.find((url) => !url.includes('//unix:'))
  const url = given || (listen === undefined ? undefined : `${reachable(listen)}/__svc/health`)
  const isRunning = report === undefined || report.workers.every(({ state }) => state === 'ready')
  if (url === undefined) return { isGood: isRunning, line: `no TCP address to ask; workers are ${isRunning ? '' : 'not '}ready` }
  const { code, text } = await request(url)
  if (code === 404 && !given)
    return { isGood: isRunning, line: `${url} is disabled; workers are ${isRunning ? '' : 'not '}ready` }
  return {
    isGood: code === 200 || (code === 503 && accepts === 'yes'),
    line: `health report ${code} ${text.trim().slice(0, 500)}`,
  }
}

const endsAt = performance.now() + Number(seconds) * 1000
let last
do {
  try {
    last = await look()
  } catch (error) {
    last = { isGood: false, line: `no health report: ${error.stderr?.trim() || error.message}` }
  }
  if (!last.isGood) await pause(PAUSE_MS)
} while (!last.isGood && performance.now() < endsAt)
console.log(last.line)
process.exitCode = last.isGood ? 0 : 1
