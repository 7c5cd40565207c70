import { useParameter } from '../address/router.ts'
import { ActionButton } from '../components/action-button.tsx'
import { Filters, TextFilter } from '../components/filters.tsx'
import { Link } from '../components/link.tsx'
import type { SiteDetails } from '../data/answers.ts'
import { useServices } from '../data/services.ts'
import { purgePath, purgeTag } from './purge-actions.ts'

interface SiteCacheProps {
  readonly site: SiteDetails
  readonly onDone: () => void
}

/** A tag as purges name it: one without a site means the tag on this one. */
function ownTag(tag: string, label: string): string {
  return tag.startsWith('route:') ? tag : `route:${label}:${tag}`
}

/** Purges of a site by path and by tag, with a count before. */
export function SiteCache({ site: { id, label }, onDone }: SiteCacheProps) {
  const { api } = useServices()
  const [path] = useParameter('path')
  const [tag] = useParameter('tag')
  const entries = `/__svc/admin/caches?${new URLSearchParams({ site: id })}`
  return (
    <>
      <Filters label="Purge a path">
        <TextFilter name="path" label="Path, with all its queries" isWhole maxLength={2_000} />
        {path.startsWith('/') && (
          <ActionButton key={path} needs="tenant_admin" action={purgePath(api, id, path)} onDone={onDone} />
        )}
      </Filters>
      <Filters label="Purge a tag">
        <TextFilter name="tag" label="Tag of this site" isWhole />
        {tag !== '' && <ActionButton key={tag} needs="tenant_admin" action={purgeTag(api, ownTag(tag, label))} onDone={onDone} />}
      </Filters>
      <p>
        <Link href={entries}>All entries of {id}</Link>
      </p>
    </>
  )
}
