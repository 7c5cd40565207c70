import { byName } from './texts-by-name.ts'

/**
 * Directives that change no response here, by the reason. None is about access, identity, limits, methods, fields, bodies or
 * statuses: those work or are refused.
 */
export const NO_EFFECT = byName({
  'the server decides how to send files': `aio aio_write directio directio_alignment output_buffers postpone_output
    read_ahead send_lowat sendfile sendfile_max_chunk proxy_send_lowat fastcgi_send_lowat`,
  'responses are streamed': `fastcgi_buffer_size fastcgi_buffering fastcgi_buffers fastcgi_busy_buffers_size
    fastcgi_max_temp_file_size fastcgi_temp_file_write_size fastcgi_temp_path gzip_buffers gunzip_buffers proxy_buffer_size
    proxy_buffers proxy_busy_buffers_size proxy_max_temp_file_size proxy_temp_file_write_size proxy_temp_path
    scgi_buffer_size scgi_buffering scgi_buffers scgi_busy_buffers_size scgi_max_temp_file_size scgi_temp_file_write_size
    scgi_temp_path subrequest_output_buffer_size uwsgi_buffer_size uwsgi_buffering uwsgi_buffers uwsgi_busy_buffers_size
    uwsgi_max_temp_file_size uwsgi_temp_file_write_size uwsgi_temp_path`,
  'the server decides how to buffer request bodies': `client_body_buffer_size client_body_in_single_buffer
    client_body_temp_path fastcgi_request_buffering proxy_request_buffering scgi_request_buffering
    uwsgi_request_buffering`,
  'hash tables grow as needed': `map_hash_bucket_size map_hash_max_size proxy_headers_hash_bucket_size
    proxy_headers_hash_max_size referer_hash_bucket_size referer_hash_max_size server_names_hash_bucket_size
    server_names_hash_max_size types_hash_bucket_size types_hash_max_size variables_hash_bucket_size
    variables_hash_max_size`,
  'the server manages its memory itself': 'connection_pool_size request_pool_size',
  'the server checks files for changes itself': `open_file_cache open_file_cache_errors open_file_cache_events
    open_file_cache_min_uses open_file_cache_valid open_log_file_cache`,
  'the TLS library chooses its parameters': `ssl_buffer_size ssl_certificate_cache ssl_certificate_compression ssl_dhparam
    ssl_early_data ssl_ecdh_curve ssl_engine ssl_object_cache_inheritable ssl_prefer_server_ciphers`,
  'the TLS library manages session resumption': `ssl_session_cache ssl_session_ticket_key ssl_session_tickets
    ssl_session_timeout proxy_ssl_session_reuse uwsgi_ssl_session_reuse
    proxy_ssl_certificate_cache uwsgi_ssl_certificate_cache`,
  'OCSP responses are not stapled': 'ssl_stapling ssl_stapling_file ssl_stapling_responder ssl_stapling_verify',
  'idle connections are closed after server.idle_timeout_secs with engine "node", and after 8 to 12 s with engine "uws"':
    'keepalive_timeout',
  'the server decides how to buffer heads of requests': 'client_header_buffer_size',
  'the head of a request has to arrive within 10 s': 'client_header_timeout',
  'the server manages connections itself': `fastcgi_keep_conn fastcgi_socket_keepalive keepalive_disable
    keepalive_min_timeout keepalive_requests keepalive_time lingering_close lingering_time lingering_timeout
    proxy_socket_keepalive scgi_socket_keepalive uwsgi_socket_keepalive reset_timedout_connection`,
  'the server sets socket options itself': 'tcp_nodelay tcp_nopush',
  'HTTP/3 is not supported: clients stay with HTTP/2 or HTTP/1.1': `http3 http3_hq http3_max_concurrent_streams
    http3_stream_buffer_size quic_active_connection_id_limit quic_bpf quic_gso quic_host_key quic_retry`,
  'HTTP/2 streams are managed by the server': `http2_body_preread_size http2_chunk_size http2_idle_timeout
    http2_max_concurrent_pushes http2_pool_size http2_recv_buffer_size http2_recv_timeout http2_streams_index_size`,
  'the log of the server is configured by [logging] in the config file': `error_log limit_conn_log_level limit_req_log_level
    log_not_found log_subrequest rewrite_log uninitialized_variable_warn`,
  'the server chooses the compression level': 'gzip_comp_level gzip_hash gzip_no_buffer gzip_window postpone_gzipping',
  'responses do not name the server': 'server_tokens',
  'the processes and connections of the server are configured by [server] in the config file': `accept_mutex
    accept_mutex_delay daemon debug_connection debug_points env epoll_events lock_file master_process multi_accept
    pcre_jit pid thread_pool timer_resolution use worker_aio_requests worker_connections worker_cpu_affinity
    worker_priority worker_processes worker_rlimit_core worker_rlimit_nofile worker_shutdown_timeout working_directory`,
  'the server runs as the user who starts it': 'user',
  'modules of nginx are not loaded; each of their directives is reported': 'load_module',
  'requests for one response always wait for each other': `proxy_cache_lock proxy_cache_lock_age proxy_cache_lock_timeout
    fastcgi_cache_lock fastcgi_cache_lock_age fastcgi_cache_lock_timeout uwsgi_cache_lock uwsgi_cache_lock_age
    uwsgi_cache_lock_timeout scgi_cache_lock scgi_cache_lock_age scgi_cache_lock_timeout`,
  'stored responses are validated where they can be': `proxy_cache_revalidate fastcgi_cache_revalidate
    uwsgi_cache_revalidate scgi_cache_revalidate`,
  'HEAD and ranges are answered from the stored response to GET': `proxy_cache_convert_head proxy_cache_max_range_offset
    fastcgi_cache_max_range_offset uwsgi_cache_max_range_offset scgi_cache_max_range_offset`,
  'the cache is configured by [cache.proxy] in the config file': `fastcgi_cache_path proxy_cache_path scgi_cache_path
    uwsgi_cache_path`,
})
