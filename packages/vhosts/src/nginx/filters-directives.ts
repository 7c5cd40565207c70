/** The modules that change or make responses, for `directive-facts.ts`. */
export const FILTERS_DIRECTIVES = `
[addition]
add_after_body hsl 1
add_before_body hsl 1
addition_types hsl 1- text/html
[auth_request]
auth_request hsl 1 off
auth_request_set hsl 2
[browser]
ancient_browser hsl 1-
ancient_browser_value hsl 1 1
modern_browser hsl 1-2
modern_browser_value hsl 1 1
[charset]
charset hsli 1 off
charset_map h{ 2
charset_types hsl 1- text/html text/xml text/plain text/vnd.wap.wml application/javascript application/rss+xml
override_charset hsli 1 off
source_charset hsli 1
[dav]
create_full_put_path hsl 1 off
dav_access hsl 1-3 user:rw
dav_methods hsl 1- off
min_delete_depth hsl 1 0
[empty_gif]
empty_gif l 0
[flv]
flv l 0
[geoip]
geoip_city h 1
geoip_country h 1
geoip_org h 1
geoip_proxy h 1
geoip_proxy_recursive h 1 off
[gunzip]
gunzip hsl 1 off
gunzip_buffers hsl 2 32 4k|16 8k
[gzip]
gzip hsli 1 off
gzip_buffers hsl 2 32 4k|16 8k
gzip_comp_level hsl 1 1
gzip_disable hsl 1-
gzip_hash hsl 1
gzip_http_version hsl 1 1.1
gzip_min_length hsl 1 20
gzip_no_buffer hsl 1
gzip_proxied hsl 1- off
gzip_types hsl 1- text/html
gzip_vary hsl 1 off
gzip_window hsl 1
postpone_gzipping hsl 1
[gzip_static]
gzip_static hsl 1 off
[image_filter]
image_filter l 1-3 off
image_filter_buffer hsl 1 1M
image_filter_interlace hsl 1 off
image_filter_jpeg_quality hsl 1 75
image_filter_sharpen hsl 1 0
image_filter_transparency hsl 1 on
image_filter_webp_quality hsl 1 80
[mp4]
mp4 l 0
mp4_buffer_size hsl 1 512K
mp4_max_buffer_size hsl 1 10M
mp4_start_key_frame hsl 1 off
[perl]
perl lx 3-
perl_modules h 1
perl_require h 1
perl_set h 4-
[referer]
referer_hash_bucket_size sl 1 64
referer_hash_max_size sl 1 2048
valid_referers sl 1-
[secure_link]
secure_link hsl 1
secure_link_md5 hsl 1
secure_link_secret hsl 1
[slice]
slice hsl 1 0
[ssi]
ssi hsli 1 off
ssi_ignore_recycled_buffers hsl 1
ssi_last_modified hsl 1 off
ssi_min_file_chunk hsl 1 1k
ssi_silent_errors hsl 1 off
ssi_types hsl 1- text/html
ssi_value_length hsl 1 256
[sub]
sub_filter hsl 2
sub_filter_last_modified hsl 1 off
sub_filter_once hsl 1 on
sub_filter_types hsl 1- text/html
[userid]
userid hsl 1 off
userid_domain hsl 1 none
userid_expires hsl 1 off
userid_flags hsl 1-3 off
userid_mark hsl 1 off
userid_name hsl 1 uid
userid_p3p hsl 1 none
userid_path hsl 1 /
userid_service hsl 1 IP address of the server
[xslt]
xml_entities hsl 1
xml_external_entities hsl 1 off
xslt_last_modified hsl 1 off
xslt_param hsl 2
xslt_string_param hsl 2
xslt_stylesheet l 1-
xslt_types hsl 1- text/xml
`
