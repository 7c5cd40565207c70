/** proxy_pass and fastcgi_pass, for `directive-facts.ts`. */
export const PROXY_DIRECTIVES = `
[proxy]
proxy_bind hsl 1-2
proxy_buffer_size hsl 1 4k|8k
proxy_buffering hsl 1 on
proxy_buffers hsl 2 8 4k|8k
proxy_busy_buffers_size hsl 1 8k|16k
proxy_cache hsl 1 off
proxy_cache_background_update hsl 1 off
proxy_cache_bypass hsl 1-
proxy_cache_convert_head hsl 1 on
proxy_cache_key hsl 1 $scheme$proxy_host$request_uri
proxy_cache_lock hsl 1 off
proxy_cache_lock_age hsl 1 5s
proxy_cache_lock_timeout hsl 1 5s
proxy_cache_max_range_offset hsl 1
proxy_cache_methods hsl 1- GET HEAD
proxy_cache_min_uses hsl 1 1
proxy_cache_path h 2-
proxy_cache_revalidate hsl 1 off
proxy_cache_use_stale hsl 1- off
proxy_cache_valid hsl 1-
proxy_connect_timeout hsl 1 60s
proxy_cookie_domain hsl 1-2 off
proxy_cookie_flags hsl 1-4 off
proxy_cookie_path hsl 1-2 off
proxy_force_ranges hsl 1 off
proxy_headers_hash_bucket_size hsl 1 64
proxy_headers_hash_max_size hsl 1 512
proxy_hide_header hsl 1
proxy_http_version hsl 1 1.1
proxy_ignore_client_abort hsl 1 off
proxy_ignore_headers hsl 1-
proxy_intercept_errors hsl 1 off
proxy_limit_rate hsl 1 0
proxy_max_temp_file_size hsl 1 1024m
proxy_method hsl 1
proxy_next_upstream hsl 1- error timeout
proxy_next_upstream_timeout hsl 1 0
proxy_next_upstream_tries hsl 1 0
proxy_no_cache hsl 1-
proxy_pass lix 1
proxy_pass_header hsl 1
proxy_pass_request_body hsl 1 on
proxy_pass_request_headers hsl 1 on
proxy_pass_trailers hsl 1 off
proxy_read_timeout hsl 1 60s
proxy_redirect hsl 1-2 default
proxy_request_buffering hsl 1 on
proxy_send_lowat hsl 1 0
proxy_send_timeout hsl 1 60s
proxy_set_body hsl 1
proxy_set_header hsl 2 Host $proxy_host, Connection close
proxy_socket_keepalive hsl 1 off
proxy_ssl_certificate hsl 1
proxy_ssl_certificate_cache hsl 1-3 off
proxy_ssl_certificate_key hsl 1
proxy_ssl_ciphers hsl 1 DEFAULT
proxy_ssl_conf_command hsl 2
proxy_ssl_crl hsl 1
proxy_ssl_name hsl 1 $proxy_host
proxy_ssl_password_file hsl 1
proxy_ssl_protocols hsl 1- TLSv1.2 TLSv1.3
proxy_ssl_server_name hsl 1 off
proxy_ssl_session_reuse hsl 1 on
proxy_ssl_trusted_certificate hsl 1
proxy_ssl_verify hsl 1 off
proxy_ssl_verify_depth hsl 1 1
proxy_store hsl 1 off
proxy_store_access hsl 1-3 user:rw
proxy_temp_file_write_size hsl 1 8k|16k
proxy_temp_path hsl 1-4 proxy_temp
[fastcgi]
fastcgi_bind hsl 1-2
fastcgi_buffer_size hsl 1 4k|8k
fastcgi_buffering hsl 1 on
fastcgi_buffers hsl 2 8 4k|8k
fastcgi_busy_buffers_size hsl 1 8k|16k
fastcgi_cache hsl 1 off
fastcgi_cache_background_update hsl 1 off
fastcgi_cache_bypass hsl 1-
fastcgi_cache_key hsl 1
fastcgi_cache_lock hsl 1 off
fastcgi_cache_lock_age hsl 1 5s
fastcgi_cache_lock_timeout hsl 1 5s
fastcgi_cache_max_range_offset hsl 1
fastcgi_cache_methods hsl 1- GET HEAD
fastcgi_cache_min_uses hsl 1 1
fastcgi_cache_path h 2-
fastcgi_cache_revalidate hsl 1 off
fastcgi_cache_use_stale hsl 1- off
fastcgi_cache_valid hsl 1-
fastcgi_catch_stderr hsl 1
fastcgi_connect_timeout hsl 1 60s
fastcgi_force_ranges hsl 1 off
fastcgi_hide_header hsl 1
fastcgi_ignore_client_abort hsl 1 off
fastcgi_ignore_headers hsl 1-
fastcgi_index hsl 1
fastcgi_intercept_errors hsl 1 off
fastcgi_keep_conn hsl 1 off
fastcgi_limit_rate hsl 1 0
fastcgi_max_temp_file_size hsl 1 1024m
fastcgi_next_upstream hsl 1- error timeout
fastcgi_next_upstream_timeout hsl 1 0
fastcgi_next_upstream_tries hsl 1 0
fastcgi_no_cache hsl 1-
fastcgi_param hsl 2-3 HTTP_HOST $host$is_request_port$request_port
fastcgi_pass li 1
fastcgi_pass_header hsl 1
fastcgi_pass_request_body hsl 1 on
fastcgi_pass_request_headers hsl 1 on
fastcgi_read_timeout hsl 1 60s
fastcgi_request_buffering hsl 1 on
fastcgi_send_lowat hsl 1 0
fastcgi_send_timeout hsl 1 60s
fastcgi_socket_keepalive hsl 1 off
fastcgi_split_path_info hsl 1
fastcgi_store hsl 1 off
fastcgi_store_access hsl 1-3 user:rw
fastcgi_temp_file_write_size hsl 1 8k|16k
fastcgi_temp_path hsl 1-4 fastcgi_temp
[upstream]
hash u 1-2
ip_hash u 0
keepalive u 1 32 local
least_conn u 0
random u 0-2
upstream h{ 1
zone u 1-2
[mirror]
mirror hsl 1 off
mirror_request_body hsl 1 on
`
