import type { Gateway } from '../cgi/gateway.ts'
import { RepeatedHead } from '../http/repeated-head.ts'
import { FastcgiReader } from './fastcgi-reader.ts'
import { encodeParams, MAX_CONTENT_BYTES, RECORD, recordHead, requestBeginning } from './record.ts'

/** An empty record of STDIN. */
const END_OF_BODY = recordHead(RECORD.stdin, 0)

/** FastCGI 1.0 with one request at a time on a connection. */
export const fastcgi: Gateway = {
  protocol: {
    name: 'fastcgi',
    // An idle connection keeps a process of PHP from every other worker, so that none is kept where `keepalive` does not say so.
    maxIdle: 0,
    // Applications do not close idle connections.
    trustedIdleMs: Number.POSITIVE_INFINITY,
    makeReaders() {
      const repeated = new RepeatedHead()
      return (events) => new FastcgiReader(events, repeated)
    },
  },
  statesLength: false,
  encode: encodeParams,
  begin: (params, { keepsConnection, hasBody }) => requestBeginning(params, keepsConnection) + (hasBody ? '' : END_OF_BODY),
  /** In records of the longest kind. */
  writeBody(connection, bytes) {
    let takesMore = true
    connection.cork()
    for (let from = 0; from < bytes.byteLength; from += MAX_CONTENT_BYTES) {
      const content = bytes.subarray(from, from + MAX_CONTENT_BYTES)
      connection.writeText(recordHead(RECORD.stdin, content.byteLength))
      takesMore = connection.write(content)
    }
    connection.uncork()
    return takesMore
  },
  endOfBody: END_OF_BODY,
  abort: recordHead(RECORD.abortRequest, 0),
}
