/** The core of nginx and the modules that serve, rewrite and log, for `directive-facts.ts`. */
export const CORE_DIRECTIVES = `
[main]
accept_mutex e 1 off
accept_mutex_delay e 1 500ms
daemon m 1 on
debug_connection e 1
debug_points m 1
env m 1 TZ
epoll_events e 1
error_log m 1- logs/error.log error
error_log hsl 1- logs/error.log error
events m{ 0
load_module m 1
lock_file m 1 logs/nginx.lock
master_process m 1 on
multi_accept e 1 off
pcre_jit m 1 off
pid m 1 logs/nginx.pid
ssl_engine m 1
ssl_object_cache_inheritable m 1 on
thread_pool m 2-3 default threads=32 max_queue=65536
timer_resolution m 1
use e 1
user m 1-2 nobody nobody
worker_aio_requests e 1 32
worker_connections e 1 512
worker_cpu_affinity m 1-
worker_priority m 1 0
worker_processes m 1 1
worker_rlimit_core m 1
worker_rlimit_nofile m 1
worker_shutdown_timeout m 1
working_directory m 1
[core]
absolute_redirect hsl 1 on
aio hsl 1 off
aio_write hsl 1 off
alias l 1
auth_delay hsl 1 0s
chunked_transfer_encoding hsl 1 on
client_body_buffer_size hsl 1 8k|16k
client_body_in_file_only hsl 1 off
client_body_in_single_buffer hsl 1 off
client_body_temp_path hsl 1-4 client_body_temp
client_body_timeout hsl 1 60s
client_header_buffer_size hs 1 1k
client_header_timeout hs 1 60s
client_max_body_size hsl 1 1m
connection_pool_size hs 1 256|512
default_type hsl 1 text/plain
directio hsl 1 off
directio_alignment hsl 1 512
disable_symlinks hsl 1-2 off
early_hints hsl 1-
error_page hsli 2-
etag hsl 1 on
http m{ 0
if_modified_since hsl 1 exact
ignore_invalid_headers hs 1 on
internal l 0
keepalive_disable hsl 1-2 msie6
keepalive_min_timeout hsl 1 0
keepalive_requests hsl 1 1000
keepalive_requests u 1 1000
keepalive_time hsl 1 1h
keepalive_time u 1 1h
keepalive_timeout hsl 1-2 75s
keepalive_timeout u 1 75s
large_client_header_buffers hs 2 4 8k
limit_except l{ 1-
limit_rate hsli 1 0
limit_rate_after hsli 1 0
lingering_close hsl 1 on
lingering_time hsl 1 30s
lingering_timeout hsl 1 5s
listen s 1- *:80 | *:8000
location sl{ 1-2
log_not_found hsl 1 on
log_subrequest hsl 1 off
max_headers hs 1 1000
max_ranges hsl 1
merge_slashes hs 1 on
msie_padding hsl 1 on
msie_refresh hsl 1 off
open_file_cache hsl 1-2 off
open_file_cache_errors hsl 1 off
open_file_cache_events hsl 1
open_file_cache_min_uses hsl 1 1
open_file_cache_valid hsl 1 60s
output_buffers hsl 2 2 32k
port_in_redirect hsl 1 on
post_action hsli 1
postpone_output hsl 1 1460
read_ahead hsl 1 0
recursive_error_pages hsl 1 off
request_pool_size hs 1 4k
reset_timedout_connection hsl 1 off
resolver hsl 1-
resolver_timeout hsl 1 30s
root hsli 1 html
satisfy hsl 1 all
send_lowat hsl 1 0
send_timeout hsl 1 60s
sendfile hsli 1 off
sendfile_max_chunk hsl 1 2m
server h{ 0
server u 1-
server_name s 1- ""
server_name_in_redirect hsl 1 off
server_names_hash_bucket_size h 1 32|64|128
server_names_hash_max_size h 1 512
server_tokens hsl 1 on
subrequest_output_buffer_size hsl 1 4k|8k
tcp_nodelay hsl 1 on
tcp_nopush hsl 1 off
try_files sl 2-
types hsl{ 0 text/html html; image/gif gif; image/jpeg jpg
types_hash_bucket_size hsl 1 64
types_hash_max_size hsl 1 1024
underscores_in_headers hs 1 off
variables_hash_bucket_size h 1 64
variables_hash_max_size h 1 1024
[rewrite]
break slIi 0
if sl{ 1-
return slIi 1-2
rewrite slIi 2-3
rewrite_log hslIi 1 off
set slIi 2
uninitialized_variable_warn hslIi 1 on
[index]
index hsl 1- index.html
[headers]
add_header hsli 2-3
add_header_inherit hsli 1 on
add_trailer hsli 2-3
add_trailer_inherit hsli 1 on
expires hsli 1-2 off
[log]
access_log hslix 1- logs/access.log combined
log_format h 2- combined "..."
open_log_file_cache hsl 1-4 off
[access]
allow hslx 1
deny hslx 1
[auth_basic]
auth_basic hslx 1 off
auth_basic_user_file hslx 1
[ssl]
ssl hs 1 off
ssl_buffer_size hs 1 16k
ssl_certificate hs 1
ssl_certificate_cache hs 1-3 off
ssl_certificate_compression hs 1 off
ssl_certificate_key hs 1
ssl_ciphers hs 1 HIGH:!aNULL:!MD5
ssl_client_certificate hs 1
ssl_conf_command hs 2
ssl_crl hs 1
ssl_dhparam hs 1
ssl_early_data hs 1 off
ssl_ecdh_curve hs 1 auto
ssl_ech_file hs 1
ssl_ocsp hs 1 off
ssl_ocsp_cache hs 1 off
ssl_ocsp_responder hs 1
ssl_password_file hs 1
ssl_prefer_server_ciphers hs 1 off
ssl_protocols hs 1- TLSv1.2 TLSv1.3
ssl_reject_handshake hs 1 off
ssl_session_cache hs 1-2 none
ssl_session_ticket_key hs 1
ssl_session_tickets hs 1 on
ssl_session_timeout hs 1 5m
ssl_stapling hs 1 off
ssl_stapling_file hs 1
ssl_stapling_responder hs 1
ssl_stapling_verify hs 1 off
ssl_trusted_certificate hs 1
ssl_verify_client hs 1 off
ssl_verify_depth hs 1 1
[v2]
http2 hs 1 off
http2_body_preread_size hs 1 64k
http2_chunk_size hsl 1 8k
http2_idle_timeout hs 1 3m
http2_max_concurrent_pushes hs 1 10
http2_max_concurrent_streams hs 1 128
http2_max_field_size hs 1 4k
http2_max_header_size hs 1 16k
http2_max_requests hs 1 1000
http2_pool_size hs 1
http2_push hsl 1 off
http2_push_preload hsl 1 off
http2_recv_buffer_size h 1 256k
http2_recv_timeout hs 1 30s
http2_streams_index_size hs 1
[v3]
http3 hs 1 on
http3_hq hs 1 off
http3_max_concurrent_streams hs 1 128
http3_stream_buffer_size hs 1 64k
quic_active_connection_id_limit hs 1 2
quic_bpf m 1 off
quic_gso hs 1 off
quic_host_key hs 1
quic_retry hs 1 off
[map]
map h{ 2
map_hash_bucket_size h 1 32|64|128
map_hash_max_size h 1 2048
[geo]
geo h{ 1-2
[split_clients]
split_clients h{ 2
[realip]
real_ip_header hsl 1 X-Real-IP
real_ip_recursive hsl 1 off
set_real_ip_from hsl 1
[limit_req]
limit_req hsl 1-3
limit_req_dry_run hsl 1 off
limit_req_log_level hsl 1 error
limit_req_status hsl 1 503
limit_req_zone h 3
[limit_conn]
limit_conn hsl 2
limit_conn_dry_run hsl 1 off
limit_conn_log_level hsl 1 error
limit_conn_status hsl 1 503
limit_conn_zone h 2
limit_zone h 3
[stub_status]
stub_status sl 0-1
[autoindex]
autoindex hsl 1 off
autoindex_exact_size hsl 1 on
autoindex_format hsl 1 html
autoindex_localtime hsl 1 off
[random_index]
random_index l 1 off
`
