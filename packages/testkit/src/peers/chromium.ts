import type { Browser } from 'playwright-core'
import type { Cleanup } from '../processes/temp-dir.ts'

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/**
 * Starts a headless browser that ends with the test. `executable` comes from `requireProgram`.
 * @param flags further options of its command line
 */
export async function startBrowser(t: Cleanup, executable: string, flags: readonly string[] = []): Promise<Browser> {
  // Loaded here alone: it takes longer to load than most tests run.
  const { chromium } = await import('playwright-core')
  const browser = await chromium.launch({ executablePath: executable, headless: true, args: [...FLAGS, ...flags] })
  t.after(() => browser.close())
  return browser
}
