import * as z from 'zod'
import { filePath, integer } from './fields.ts'

/** `[deploy]`: where releases come from. */
export const deploy = z
  .strictObject({
    sources: filePath()
      .optional()
      .describe('Directory from which releases may be deployed.')
      .meta({ computed: '`<state_dir>/incoming`', examples: ['/var/lib/svc/incoming'] }),
    max_bytes: integer(1).default(1_073_741_824).describe('Maximum size of an unpacked release, in bytes.'),
  })
  .prefault({})
  .describe('Deployment over the management interface.')
