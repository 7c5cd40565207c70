import type { Place } from '../syntax/config-problem.ts'
import type { CompressionSpec } from './compression-spec.ts'
import type { FileTerms, SubFilterSpec } from './file-terms.ts'
import type { GeoSpec, GuardSpec, LimitZoneSpec, SplitSpec } from './guard.ts'
import type { PatternSpec, Template } from './template.ts'
import type { UpstreamContent, UpstreamSpec } from './upstream-spec.ts'

export type * from './compression-spec.ts'
export type * from './file-terms.ts'
export type * from './guard.ts'
export type * from './template.ts'
export type * from './upstream-spec.ts'

/**
 * Vhost files as every process gets them: read, checked and resolved. Plain data; inheritance between the levels is done
 * (nginx's rules: a list such as `add_header` is inherited only where a level has none of its own).
 *
 * Texts are bytes, one character for each (latin-1), as nginx compares and sends them: paths, patterns, values of fields,
 * directories of files. Everything that requests do not use is ordinary text: certificates, `place`, ids, addresses of upstreams.
 */
export interface WebSpec {
  /** In file order: the order decides between regular expressions and who is the default of an address. */
  readonly servers: readonly ServerSpec[]
  /** Groups of `upstream`, and one for each address that `proxy_pass`, `fastcgi_pass` or a route rule names directly. */
  readonly upstreams: readonly UpstreamSpec[]
  readonly maps: readonly MapSpec[]
  /** True if a variable reads which servers of upstreams were tried. */
  readonly recordsUpstreams: boolean
  /** True if a log has bodies of requests. */
  readonly recordsBodies: boolean
  /** Variables of `geo` and `split_clients`. */
  readonly computed: readonly (GeoSpec | SplitSpec)[]
  /** Of `limit_req_zone` and `limit_conn_zone`. */
  readonly limitZones: readonly LimitZoneSpec[]
  /** One for each `types` block; locations name them by their number. */
  readonly typeTables: readonly TypeTable[]
}

/** Media types by the ending of a file's name, in lower case. Of several for one ending the last counts. */
export type TypeTable = readonly (readonly [ending: string, type: string])[]

/** `ssl_verify_client` and the directives about it. */
export interface ClientCheck {
  readonly mode: 'on' | 'optional' | 'optional_no_ca'
  /** Absolute paths of PEM files. */
  readonly authorities: readonly string[]
  readonly crl: string | undefined
  /** Most certificates between that of a client and its authority. */
  readonly depth: number
}

/** `ssl_certificate` and `ssl_certificate_key`. */
interface ServerCertificateSpec {
  readonly cert: string
  readonly key: string
  /** `ssl_password_file`: passphrases of the key, one in each line. */
  readonly passwords?: string | undefined
  /** Place of each. */
  readonly at: { readonly cert: Place; readonly key: Place }
}

/** The engines by their names in the configuration. */
export type EngineName = 'uws' | 'node'

/** One `listen`. */
export interface ListenSpec {
  /** Name of the listen address, the same for all servers that share it: "0.0.0.0:80", "[::]:80", "unix:/run/web.sock". */
  readonly address: string
  readonly isTls: boolean
  readonly isDefault: boolean
  /** Connections begin with a header of the PROXY protocol; absent: the server does not say so. */
  readonly isProxied?: true
  /** Engine that the server names for the address; absent: none. */
  readonly engine?: EngineName
}

/** A name of `server_name`, lower case. */
export type ServerNameSpec =
  /** `www.example.org`, `*.example.org`, `.example.org` (the name and everything below it), `www.*`, "" (no Host at all). */
  { readonly kind: 'name'; readonly name: string } | { readonly kind: 'pattern'; readonly pattern: PatternSpec }

/** One `server` block. */
export interface ServerSpec {
  /** Id of its site; blocks with the same first name share one. */
  readonly site: string
  /** Place of the block, "file:line". */
  readonly place: string
  readonly listen: readonly ListenSpec[]
  readonly names: readonly ServerNameSpec[]
  /** First name as written, for `$server_name`; "" without one. */
  readonly name: string
  /** One for each kind of key; []: it names none. */
  readonly certificates: readonly ServerCertificateSpec[]
  /** `ssl_ciphers`: those of TLS 1.2, as OpenSSL writes them; undefined: those of the engine. */
  readonly ciphers: string | undefined
  /** Undefined: clients are not asked for a certificate. */
  readonly clientCheck: ClientCheck | undefined
  /** `ssl_reject_handshake`: handshakes for its names fail. */
  readonly rejectsHandshakes: boolean
  /** Of `ssl_protocols`; undefined: the version of the configuration. */
  readonly minTlsVersion: '1.2' | '1.3' | undefined
  /** `merge_slashes`: false if runs of "/" in a path stay. */
  readonly mergesSlashes: boolean
  /** Fields of requests that are more than ignored: those whose names are of letters, digits and "-", of "_" too, or all. */
  readonly fieldNames: 'plain' | 'underscores' | 'all'
  /** `rewrite`, `return`, `set`, `break` and `if` of the server level, in their order. They run before a location is looked for. */
  readonly rewrites: readonly RewriteStep[]
  /** Settings where no location matches. Its `rewrites` are empty: those of the server have run. */
  readonly fallback: LocationSettings
  readonly locations: readonly LocationSpec[]
}

export interface LocationSpec extends LocationSettings {
  readonly match: LocationMatch
  readonly place: string
  /** `limit_except`: settings for all methods but some, which have no rewriting. */
  readonly limitExcept: { readonly methods: readonly string[]; readonly settings: LocationSettings } | undefined
  /** Locations inside of it. */
  readonly locations: readonly LocationSpec[]
}

/** Prefixes are compared with the decoded path. `first`: `^~`, no regular expression is tried when it is the longest one. */
export type LocationMatch =
  | { readonly kind: 'exact'; readonly path: string }
  | { readonly kind: 'prefix'; readonly path: string; readonly isFirst: boolean }
  | { readonly kind: 'pattern'; readonly pattern: PatternSpec }
  /** `@name`: only inner redirects lead there. */
  | { readonly kind: 'named'; readonly name: string }

/** Settings for requests of a location, or of a server outside of all locations. */
export interface LocationSettings {
  /** `rewrite`, `return`, `set`, `break` and `if` of this level, in their order. */
  readonly rewrites: readonly RewriteStep[]
  /** undefined: nothing is served from disk. */
  readonly files: FilesSpec | undefined
  readonly tryFiles: TryFilesSpec | undefined
  readonly addHeaders: readonly AddHeaderSpec[]
  readonly expires: ExpiresSpec | undefined
  /** undefined: as usual. */
  readonly fileTerms: FileTerms | undefined
  /** `types`: numbers of tables, the last one first to be asked. undefined: this server knows the types of files. */
  readonly types: readonly number[] | undefined
  /** `default_type`: of other files and of texts; "": none. undefined: that of this server. */
  readonly defaultType: string | undefined
  /** Of text; undefined: that of each file, and none elsewhere. */
  readonly charset: { readonly name: Template; readonly types: readonly string[] } | undefined
  /** `set_real_ip_from`: undefined where it names no proxy. */
  readonly realIp: RealIpSpec | undefined
  /** `allow` and `deny` in their order; the first that fits decides. */
  readonly access: readonly AccessRule[]
  /** `satisfy any`: one of `access` and `authBasic` is enough. */
  readonly satisfiesAny: boolean
  readonly authBasic: { readonly realm: Template; readonly userFile: Template } | undefined
  /** undefined: bodies stay as they are. */
  readonly subFilter: SubFilterSpec | undefined
  /** `client_body_timeout` and `send_timeout`: how long a client may stall, in milliseconds. undefined: as long as elsewhere. */
  readonly stallLimits: { readonly bodyMs: number | undefined; readonly sendMs: number | undefined } | undefined
  /** True if responses have the field Cache-Status. */
  readonly hasCacheStatus: boolean
  readonly guard: GuardSpec
  /** Bytes; 0: no limit. undefined: `server.max_body_bytes`. */
  readonly maxBodyBytes: number | undefined
  readonly errorPages: readonly ErrorPageSpec[]
  readonly isInternal: boolean
  /** None: requests are not logged. */
  readonly accessLogs: readonly AccessLogSpec[]
  readonly redirects: RedirectSpec
  /** `gzip` and its terms. `default`: as everywhere else. */
  readonly compression: 'off' | 'default' | CompressionSpec
  readonly content: ContentSpec
}

/** A log of requests. */
export interface AccessLogSpec {
  /** Of its file, in characters; "" is the log of this server. */
  readonly path: string
  /** Undefined: the usual one, "combined" for a file. */
  readonly format: LogFormatSpec | undefined
  /** Requests for which it is empty or "0" are not logged; undefined: all are. */
  readonly condition: Template | undefined
}

/** `log_format`. */
export interface LogFormatSpec {
  readonly escape: 'default' | 'json' | 'none'
  readonly text: Template
}

/** How a path becomes the target of a redirect. */
export interface RedirectSpec {
  /** False: it stays a path. */
  readonly isAbsolute: boolean
  /** True if the port of the listen address is in it, where that is not the usual one. */
  readonly hasPort: boolean
  /** True if it names the server by its first name, else as the client did. */
  readonly hasServerName: boolean
}

export type RewriteStep =
  | {
      readonly kind: 'rewrite'
      readonly pattern: PatternSpec
      readonly replacement: Template
      /** `next`: no flag, go on with the next step. A replacement that begins with a scheme redirects. */
      readonly then: 'next' | 'last' | 'break' | 'redirect' | 'permanent'
      /** True if the arguments of the request are added: not with a final "?" in the replacement. */
      readonly keepsArgs: boolean
    }
  /** `text`: body, or target of a redirect. */
  | { readonly kind: 'return'; readonly status: number; readonly text: Template | undefined }
  | { readonly kind: 'set'; readonly variable: string; readonly value: Template }
  | { readonly kind: 'break' }
  | {
      readonly kind: 'if'
      readonly condition: ConditionSpec
      readonly steps: readonly RewriteStep[]
      /** Settings from then on, those of the location included; undefined: an `if` of a server has none. */
      readonly settings: LocationSettings | undefined
    }

/** The condition of `if`. */
export type ConditionSpec = (
  | { readonly kind: 'filled'; readonly value: Template }
  | { readonly kind: 'equal'; readonly value: Template; readonly text: Template }
  | { readonly kind: 'match'; readonly value: Template; readonly pattern: PatternSpec }
  | { readonly kind: 'file'; readonly test: FileTest; readonly path: Template }
) & { readonly isNegated: boolean }

/** `-f`, `-d`, `-e` and `-x`. */
export type FileTest = 'file' | 'directory' | 'any' | 'executable'

export interface FilesSpec {
  /** `root`: the path is added to it. `alias`: it stands for the location's prefix, or for the whole path of a pattern. */
  readonly kind: 'root' | 'alias'
  /** The text of the location with the `alias`, for which it stands; "" for a pattern, and with `root`. */
  readonly prefix: string
  /** Absolute. */
  readonly dir: Template
  readonly index: readonly Template[]
}

export interface TryFilesSpec {
  /** `isDirectory`: written with a final slash. */
  readonly candidates: readonly { readonly path: Template; readonly isDirectory: boolean }[]
  readonly last:
    | { readonly kind: 'uri'; readonly uri: Template }
    | { readonly kind: 'named'; readonly name: string }
    | { readonly kind: 'status'; readonly status: number }
}

export interface AddHeaderSpec {
  readonly name: string
  readonly value: Template
  readonly isAlways: boolean
}

export type ExpiresSpec =
  | FixedExpires
  /** With variables: one of the others, or none if it reads like none of them. */
  | { readonly kind: 'computed'; readonly value: Template; readonly isFromModified: boolean }

/** A value of `expires` without variables. */
export type FixedExpires =
  | { readonly kind: 'epoch' | 'max' | 'off' }
  /** `modified`: counted from the file's time. May be negative. */
  | { readonly kind: 'after'; readonly seconds: number; readonly isFromModified: boolean }
  /** `@15h30m`: at that time of day, in seconds. */
  | { readonly kind: 'daily'; readonly seconds: number }

/** Proxies that name the address of the client, and the field in which they do. */
export interface RealIpSpec {
  /** Addresses, CIDRs and "unix:". */
  readonly from: readonly string[]
  /** Lower case, or `PROXY_PROTOCOL`. */
  readonly field: string
  /** True if addresses of such proxies in the field are passed over. */
  readonly isRecursive: boolean
}

export interface AccessRule {
  readonly isAllowed: boolean
  /** Address, CIDR, "all" or "unix:". */
  readonly source: string
}

export interface ErrorPageSpec {
  readonly statuses: readonly number[]
  /** `=200`: this status. `=`: that of the page. undefined: that of the error. */
  readonly answer: number | 'own' | undefined
  readonly target:
    | { readonly kind: 'uri'; readonly uri: Template }
    | { readonly kind: 'named'; readonly name: string }
    /** Absolute URL: a redirect, 302 unless `answer` says otherwise. */
    | { readonly kind: 'redirect'; readonly url: Template }
}

/** The handler of a location. */
export type ContentSpec =
  | { readonly kind: 'files' }
  /** A transparent pixel. */
  | { readonly kind: 'empty_gif' }
  /** Counts of connections and requests. */
  | { readonly kind: 'stub_status' }
  /** `svc_app`: id of the application's site. */
  | { readonly kind: 'app'; readonly site: string }
  | UpstreamContent

/** `map`: `$variable` from `source`. */
export interface MapSpec {
  readonly variable: string
  readonly source: Template
  /** Texts in lower case, compared without regard to case; `*.suffix`, `.suffix` and `prefix.*` only with `hostnames`. */
  readonly texts: readonly { readonly text: string; readonly value: Template }[]
  /** In their order, after the texts. */
  readonly patterns: readonly { readonly pattern: PatternSpec; readonly value: Template }[]
  readonly fallback: Template
  readonly areHostnames: boolean
  /** `volatile`: found anew at each use. */
  readonly isVolatile: boolean
}
