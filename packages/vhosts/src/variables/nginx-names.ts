/** Variables that nginx and its standard modules for HTTP have, those whose name ends with that of a field, argument or cookie excepted. */
const NGINX_VARIABLES: ReadonlySet<string> = words(`
ancient_browser binary_remote_addr body_bytes_sent bytes_sent connection connection_requests connection_time
connections_active connections_reading connections_waiting connections_writing content_length content_type date_gmt date_local
document_root document_uri fastcgi_path_info fastcgi_script_name gzip_ratio host hostname http2 http3 https invalid_referer is_args
limit_conn_status limit_rate limit_req_status modern_browser msec msie nginx_version pid pipe proxy_add_x_forwarded_for
proxy_host proxy_port proxy_protocol_addr proxy_protocol_port proxy_protocol_server_addr proxy_protocol_server_port
query_string realip_remote_addr realip_remote_port realpath_root remote_addr remote_port remote_user request request_body
request_body_file request_completion request_filename request_id request_length request_method request_time request_uri scheme
secure_link secure_link_expires server_addr server_name server_port server_protocol slice_range ssl_alpn_protocol ssl_cipher
ssl_ciphers ssl_client_cert ssl_client_escaped_cert ssl_client_fingerprint ssl_client_i_dn ssl_client_i_dn_legacy
ssl_client_raw_cert ssl_client_s_dn ssl_client_s_dn_legacy ssl_client_serial ssl_client_v_end ssl_client_v_remain
ssl_client_v_start ssl_client_verify ssl_curve ssl_curves ssl_early_data ssl_protocol ssl_server_name ssl_session_id
ssl_session_reused status tcpinfo_rcv_space tcpinfo_rtt tcpinfo_rttvar tcpinfo_snd_cwnd time_iso8601 time_local uid_got
uid_reset uid_set upstream_addr upstream_bytes_received upstream_bytes_sent upstream_cache_status upstream_connect_time
upstream_header_time upstream_response_length upstream_response_time upstream_status uri
`)

const NGINX_VARIABLE_PREFIXES = ['sent_http_', 'sent_trailer_', 'upstream_cookie_', 'upstream_http_', 'upstream_trailer_']

/** Returns true for a variable that nginx has. */
export function isNginxVariable(name: string): boolean {
  return NGINX_VARIABLES.has(name) || NGINX_VARIABLE_PREFIXES.some((prefix) => name.startsWith(prefix))
}

/** The words of a text. */
export function words(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/))
}
