import * as z from 'zod'
import { parseUrl } from '../values/addresses.ts'
import { filePath, integer } from './fields.ts'

const certificate = z
  .strictObject({
    cert: filePath().describe('Certificate chain in PEM form.'),
    key: filePath().describe('Private key in PEM form.'),
  })
  .describe('A certificate and its key.')
  .meta({ examples: [{ cert: 'tls/example.org.pem', key: 'tls/example.org.key' }] })

/** `[tls]`: certificates, of files and automatic ones. */
export const tls = z
  .strictObject({
    min_version: z.enum(['1.2', '1.3']).default('1.2').describe('Lowest TLS version. "1.3" needs server.engine = "node".'),
    certs: z.array(certificate).default([]).describe('Certificates from files. SNI selects among them.'),
    auto: z.boolean().default(false).describe('Obtains certificates over ACME for host names that have none.'),
    email: z
      .string()
      .regex(/^[^\s@]+@[^\s@]+$/, 'expected a mail address')
      .optional()
      .describe('Contact address for the certificate authority.')
      .meta({ examples: ['admin@example.org'] }),
    acme_directory: z
      .string()
      .refine((value) => parseUrl(value, ['https', 'http']) !== undefined, 'expected an https URL')
      .default('https://acme-v02.api.letsencrypt.org/directory')
      .describe('Directory URL of the ACME server (RFC 8555 section 7.1.1).'),
    redirect_http: z.boolean().default(false).describe('Redirects plain HTTP of a host with a certificate to https (308).'),
    hsts_max_age_secs: integer(0)
      .default(0)
      .describe('max-age of the Strict-Transport-Security field, in seconds. 0: the field is not sent.'),
  })
  .prefault({})
  .describe('TLS certificates and versions.')
