import * as z from 'zod'
import { filePath, integer } from './fields.ts'

/** `[deploy]`: where releases come from. */
export const deploy = z
  .strictObject({
    sources: filePath()
      .optional()
      .describe('Directory that a release may be taken from.')
      .meta({ computed: '`<state_dir>/incoming`', examples: ['/var/lib/svc/incoming'] }),
    max_bytes: integer(1).default(1_073_741_824).describe('Largest unpacked release in bytes.'),
  })
  .prefault({})
  .describe('Deploys over the management interface.')
