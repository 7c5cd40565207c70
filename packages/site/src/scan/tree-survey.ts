import type { PatternSegment, SegmentNode, SlotParam } from '../manifest/manifest.ts'
import { isPatternSegment, parseSegmentName } from '../tree/segment-name.ts'

/** What a finished page tree shows besides its pages. */
export interface TreeSurvey {
  /** Parameters that only slots define. */
  readonly slotParams: readonly SlotParam[]
  /** Paths below the app directory of slots with neither a page nor a default: "/(shop)/@cart". */
  readonly emptySlots: readonly string[]
}

/** Looks through the tree of the page at `segments`. */
export function surveyTree(tree: SegmentNode, segments: readonly PatternSegment[]): TreeSurvey {
  const known = new Set(segments.map((segment) => (segment.kind === 'static' ? '' : segment.name)))
  const slotParams: SlotParam[] = []
  const emptySlots: string[] = []
  const visit = (node: SegmentNode, path: string, index: number) => {
    const name = parseSegmentName(node.segment)
    const isPart = node.segment !== '' && isPatternSegment(name)
    if (isPart && name.kind !== 'static' && !known.has(name.name)) {
      known.add(name.name)
      slotParams.push(Object.freeze({ name: name.name, index }))
    }
    const own = node.segment === '' ? path : `${path}/${node.segment}`
    for (const [slot, child] of Object.entries(node.slots)) {
      if (child !== null) visit(child, own, isPart ? index + 1 : index)
      else if (slot !== 'children') emptySlots.push(`${own}/@${slot}`)
    }
  }
  visit(tree, '', 0)
  return { slotParams: Object.freeze(slotParams), emptySlots }
}
