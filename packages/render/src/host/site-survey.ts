import { codeOf, messageOf } from '@svc/core'
import type { SiteSurvey } from '@svc/protocol'
import { problemText, type SiteManifest } from '@svc/site'

/** Sums up a scan for listings and the log. A scan that failed is a problem of its site like any other. */
export async function surveyOf(scanned: Promise<SiteManifest>): Promise<SiteSurvey> {
  try {
    const { routes, problems } = await scanned
    return {
      routes: routes.map(({ pattern, kind, file }) => ({ pattern, kind, file })),
      problems: problems.map((problem) => ({ severity: problem.severity, text: problemText(problem) })),
      hasStaticParams: routes.some((route) => route.hasStaticParams),
    }
  } catch (error) {
    if (codeOf(error) !== 'RENDER_SCAN') throw error
    const text = `${messageOf(error)}; nothing of the site is served until a scan of it succeeds`
    return { routes: [], problems: [{ severity: 'error', text }], hasStaticParams: false }
  }
}
