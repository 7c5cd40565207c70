import { changedValues, configDiff, formatProblem, type LoadResult, needsRestart } from '@svc/config'
import type { GenerationSpec, ReloadPreview } from '@svc/protocol'
import { shownValue } from './effective-values.ts'

/** Values and sites in each list of a preview. */
const MAX_LISTED = 200

/** A configuration of the files as a reload would serve it, or its problems. */
export type PreviewedLoad = LoadResult & {
  /** Overrides that would end. */
  readonly ending?: readonly string[]
}

/** The changes that a reload would make, or its errors. */
export async function reloadPreview(current: GenerationSpec, loaded: PreviewedLoad): Promise<ReloadPreview> {
  if (!loaded.ok) {
    const errors = loaded.problems.slice(0, MAX_LISTED).map((problem) => formatProblem(problem))
    const is_partial = loaded.problems.length > MAX_LISTED
    return { errors, notices: [], sites: { added: [], removed: [], changed: [] }, values: [], ending: [], is_partial }
  }
  const { sites } = await configDiff(current, loaded)
  const values = changedValues(current.config, loaded.config)
  const lists = [sites.added, sites.removed, sites.changed, values, loaded.notices, loaded.ending ?? []]
  return {
    errors: [],
    notices: loaded.notices.slice(0, MAX_LISTED),
    sites: {
      added: sites.added.slice(0, MAX_LISTED),
      removed: sites.removed.slice(0, MAX_LISTED),
      changed: sites.changed.slice(0, MAX_LISTED),
    },
    values: values.slice(0, MAX_LISTED).map(({ key, path, before, after }) => ({
      key,
      before: before === undefined ? null : shownValue(before),
      after: after === undefined ? null : shownValue(after),
      needs_restart: needsRestart(path),
    })),
    ending: (loaded.ending ?? []).slice(0, MAX_LISTED),
    is_partial: lists.some(({ length }) => length > MAX_LISTED),
  }
}
