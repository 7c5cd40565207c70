/** Fields that belong to one connection (RFC 9110 section 7.6.1), in lower case: what they say to one peer is not meant for the next. */
export const CONNECTION_FIELDS: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
