import { errorClass } from '@svc/core'

/** An error of the `admin` package. */
export const AdminError = errorClass('AdminError', {
  /** No site has this id, or it belongs to another tenant than the user. */
  UNKNOWN_SITE: { status: 404, exposable: true, template: 'no site has the id "{site}"' },
  /** No site claims this host, or it belongs to another tenant than the user. */
  UNKNOWN_HOST: { status: 404, exposable: true, template: 'no site has the host "{host}"' },
  /** The endpoint concerns the session of its caller, who has none. */
  UNAUTHORIZED: { status: 401, exposable: true, template: 'log in, or send a bearer token' },
  /** No session or issued token has this id, or it has ended. */
  UNKNOWN_SESSION: { status: 404, exposable: true, template: 'no {kind} has the id "{jti}"' },
  /** No stored response has this key, or it belongs to another tenant than the user. */
  UNKNOWN_ENTRY: { status: 404, exposable: true, template: 'no stored response has the key "{key}"' },
  /** No page of the listing has had this cursor. */
  BAD_CURSOR: {
    status: 400,
    exposable: true,
    template: 'no page of this listing has this cursor: begin the listing without one',
  },
  /** The server watches no such alert, or it is about no site of the user's tenant. */
  UNKNOWN_ALERT: { status: 404, exposable: true, template: 'there is no alert {alert}: see GET /__svc/obs/alerts' },
  /** There is no such silence, or it is about no site of the user's tenant. */
  UNKNOWN_SILENCE: { status: 404, exposable: true, template: 'no silence has the id "{id}"' },
  /** The firewall has no such rule, or it is bound to no site of the user's tenant. */
  UNKNOWN_RULE: { status: 404, exposable: true, template: 'the firewall has no rule "{id}"' },
  /** The panel has no page of this name. */
  UNKNOWN_PAGE: { status: 404, exposable: true, template: 'the panel has no page "{page}"' },
  /** The panel has no file of this name: it may be of another version of the server. */
  UNKNOWN_ASSET: { status: 404, exposable: true, template: 'the panel has no file "{name}": reload the page' },
  /** The build has not made the panel. */
  PANEL_FILES: { template: 'failed to find the files of the panel in {places}: run the build' },
  /** The operation is about the whole instance, which no tenant may change. */
  NOT_FOR_TENANTS: { status: 403, exposable: true, template: 'a tenant_admin must not {operation}' },
})
