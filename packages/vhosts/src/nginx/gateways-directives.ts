/** uwsgi_pass, scgi_pass, grpc_pass and memcached_pass, for `directive-facts.ts`. */
export const GATEWAYS_DIRECTIVES = `
[uwsgi]
uwsgi_bind hsl 1-2
uwsgi_buffer_size hsl 1 4k|8k
uwsgi_buffering hsl 1 on
uwsgi_buffers hsl 2 8 4k|8k
uwsgi_busy_buffers_size hsl 1 8k|16k
uwsgi_cache hsl 1 off
uwsgi_cache_background_update hsl 1 off
uwsgi_cache_bypass hsl 1-
uwsgi_cache_key hsl 1
uwsgi_cache_lock hsl 1 off
uwsgi_cache_lock_age hsl 1 5s
uwsgi_cache_lock_timeout hsl 1 5s
uwsgi_cache_max_range_offset hsl 1
uwsgi_cache_methods hsl 1- GET HEAD
uwsgi_cache_min_uses hsl 1 1
uwsgi_cache_path h 2-
uwsgi_cache_revalidate hsl 1 off
uwsgi_cache_use_stale hsl 1- off
uwsgi_cache_valid hsl 1-
uwsgi_connect_timeout hsl 1 60s
uwsgi_force_ranges hsl 1 off
uwsgi_hide_header hsl 1
uwsgi_ignore_client_abort hsl 1 off
uwsgi_ignore_headers hsl 1-
uwsgi_intercept_errors hsl 1 off
uwsgi_limit_rate hsl 1 0
uwsgi_max_temp_file_size hsl 1 1024m
uwsgi_modifier1 hsl 1 0
uwsgi_modifier2 hsl 1 0
uwsgi_next_upstream hsl 1- error timeout
uwsgi_next_upstream_timeout hsl 1 0
uwsgi_next_upstream_tries hsl 1 0
uwsgi_no_cache hsl 1-
uwsgi_param hsl 2-3 HTTP_HOST $host$is_request_port$request_port
uwsgi_pass li 1
uwsgi_pass_header hsl 1
uwsgi_pass_request_body hsl 1 on
uwsgi_pass_request_headers hsl 1 on
uwsgi_read_timeout hsl 1 60s
uwsgi_request_buffering hsl 1 on
uwsgi_send_timeout hsl 1 60s
uwsgi_socket_keepalive hsl 1 off
uwsgi_ssl_certificate hsl 1
uwsgi_ssl_certificate_cache hsl 1-3 off
uwsgi_ssl_certificate_key hsl 1
uwsgi_ssl_ciphers hsl 1 DEFAULT
uwsgi_ssl_conf_command hsl 2
uwsgi_ssl_crl hsl 1
uwsgi_ssl_name hsl 1 host from uwsgi_pass
uwsgi_ssl_password_file hsl 1
uwsgi_ssl_protocols hsl 1- TLSv1.2 TLSv1.3
uwsgi_ssl_server_name hsl 1 off
uwsgi_ssl_session_reuse hsl 1 on
uwsgi_ssl_trusted_certificate hsl 1
uwsgi_ssl_verify hsl 1 off
uwsgi_ssl_verify_depth hsl 1 1
uwsgi_store hsl 1 off
uwsgi_store_access hsl 1-3 user:rw
uwsgi_string hsl 1
uwsgi_temp_file_write_size hsl 1 8k|16k
uwsgi_temp_path hsl 1-4 uwsgi_temp
[scgi]
scgi_bind hsl 1-2
scgi_buffer_size hsl 1 4k|8k
scgi_buffering hsl 1 on
scgi_buffers hsl 2 8 4k|8k
scgi_busy_buffers_size hsl 1 8k|16k
scgi_cache hsl 1 off
scgi_cache_background_update hsl 1 off
scgi_cache_bypass hsl 1-
scgi_cache_key hsl 1
scgi_cache_lock hsl 1 off
scgi_cache_lock_age hsl 1 5s
scgi_cache_lock_timeout hsl 1 5s
scgi_cache_max_range_offset hsl 1
scgi_cache_methods hsl 1- GET HEAD
scgi_cache_min_uses hsl 1 1
scgi_cache_path h 2-
scgi_cache_revalidate hsl 1 off
scgi_cache_use_stale hsl 1- off
scgi_cache_valid hsl 1-
scgi_connect_timeout hsl 1 60s
scgi_force_ranges hsl 1 off
scgi_hide_header hsl 1
scgi_ignore_client_abort hsl 1 off
scgi_ignore_headers hsl 1-
scgi_intercept_errors hsl 1 off
scgi_limit_rate hsl 1 0
scgi_max_temp_file_size hsl 1 1024m
scgi_next_upstream hsl 1- error timeout
scgi_next_upstream_timeout hsl 1 0
scgi_next_upstream_tries hsl 1 0
scgi_no_cache hsl 1-
scgi_param hsl 2-3 HTTP_HOST $host$is_request_port$request_port
scgi_pass li 1
scgi_pass_header hsl 1
scgi_pass_request_body hsl 1 on
scgi_pass_request_headers hsl 1 on
scgi_read_timeout hsl 1 60s
scgi_request_buffering hsl 1 on
scgi_send_timeout hsl 1 60s
scgi_socket_keepalive hsl 1 off
scgi_store hsl 1 off
scgi_store_access hsl 1-3 user:rw
scgi_temp_file_write_size hsl 1 8k|16k
scgi_temp_path hsl 1-4 scgi_temp
[grpc]
grpc_bind hsl 1-2
grpc_buffer_size hsl 1 4k|8k
grpc_connect_timeout hsl 1 60s
grpc_hide_header hsl 1
grpc_ignore_headers hsl 1-
grpc_intercept_errors hsl 1 off
grpc_next_upstream hsl 1- error timeout
grpc_next_upstream_timeout hsl 1 0
grpc_next_upstream_tries hsl 1 0
grpc_pass li 1
grpc_pass_header hsl 1
grpc_read_timeout hsl 1 60s
grpc_send_timeout hsl 1 60s
grpc_set_header hsl 2 Content-Length $content_length
grpc_socket_keepalive hsl 1 off
grpc_ssl_certificate hsl 1
grpc_ssl_certificate_cache hsl 1-3 off
grpc_ssl_certificate_key hsl 1
grpc_ssl_ciphers hsl 1 DEFAULT
grpc_ssl_conf_command hsl 2
grpc_ssl_crl hsl 1
grpc_ssl_name hsl 1 host from grpc_pass
grpc_ssl_password_file hsl 1
grpc_ssl_protocols hsl 1- TLSv1.2 TLSv1.3
grpc_ssl_server_name hsl 1 off
grpc_ssl_session_reuse hsl 1 on
grpc_ssl_trusted_certificate hsl 1
grpc_ssl_verify hsl 1 off
grpc_ssl_verify_depth hsl 1 1
[memcached]
memcached_bind hsl 1-2
memcached_buffer_size hsl 1 4k|8k
memcached_connect_timeout hsl 1 60s
memcached_gzip_flag hsl 1
memcached_next_upstream hsl 1- error timeout
memcached_next_upstream_timeout hsl 1 0
memcached_next_upstream_tries hsl 1 0
memcached_pass li 1
memcached_read_timeout hsl 1 60s
memcached_send_timeout hsl 1 60s
memcached_socket_keepalive hsl 1 off
`
