import type { Transform } from 'node:stream'
import { promisify } from 'node:util'
import { brotliCompress, constants, createBrotliCompress, createGzip, createZstdCompress, gzip, zstdCompress } from 'node:zlib'
import type { ContentCoding } from '@svc/http'

/** A content coding that changes the bytes. */
export type RealCoding = Exclude<ContentCoding, 'identity'>

// Levels for content that is made for each request: near the knee of size against time for HTML. Compressed once and served
// often (a precompressed file) would be worth more.
const BROTLI_QUALITY = 4
const GZIP_LEVEL = 6
const ZSTD_LEVEL = 3
/** Window of streams, as a power of two: 512 KiB instead of 4 MiB, since each open stream has one. */
const STREAM_BROTLI_WINDOW = 19
const STREAM_ZSTD_WINDOW = 19

const runBrotli = promisify(brotliCompress)
const runGzip = promisify(gzip)
const runZstd = promisify(zstdCompress)

/** Compresses a whole body. */
export type Encode = (coding: RealCoding, body: Uint8Array) => Promise<Uint8Array>

/** Compresses a whole body on the thread pool. */
export function encodeWhole(coding: RealCoding, body: Uint8Array): Promise<Uint8Array> {
  switch (coding) {
    case 'br':
      return runBrotli(body, {
        params: {
          [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
          [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
          [constants.BROTLI_PARAM_SIZE_HINT]: body.byteLength,
        },
      })
    case 'gzip':
      return runGzip(body, { level: GZIP_LEVEL })
    case 'zstd':
      return runZstd(body, { params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL } })
  }
}

/** Makes an encoder that gives out everything it has after each write, so that a client can read along. */
export function createEncoder(coding: RealCoding): Transform {
  switch (coding) {
    case 'br':
      return createBrotliCompress({
        flush: constants.BROTLI_OPERATION_FLUSH,
        params: {
          [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
          [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
          [constants.BROTLI_PARAM_LGWIN]: STREAM_BROTLI_WINDOW,
        },
      })
    case 'gzip':
      return createGzip({ flush: constants.Z_SYNC_FLUSH, level: GZIP_LEVEL })
    case 'zstd':
      return createZstdCompress({
        flush: constants.ZSTD_e_flush,
        params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL, [constants.ZSTD_c_windowLog]: STREAM_ZSTD_WINDOW },
      })
  }
}
