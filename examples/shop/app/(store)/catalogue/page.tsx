import { permanentRedirect } from 'next/navigation'

/** Moved for good: status 308. */
export default function Catalogue(): never {
  permanentRedirect('/search')
}
