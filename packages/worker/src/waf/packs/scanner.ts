import type { PackPatterns } from './pack.ts'

/** Names by which scanners call themselves. */
export const scannerAgents: PackPatterns = {
  agents: [
    '\\b(?:sqlmap|nikto|nessus|openvas|acunetix|netsparker|invicti|w3af|masscan|zgrab|zmap|dirbuster|gobuster|feroxbuster|ffuf|fuzz faster|wfuzz|wpscan|wprecon|joomscan|droopescan|whatweb|arachni|skipfish|havij|hydra|burp(?:suite|collaborator)?|zaproxy|owasp|nuclei|jaeles|commix|xsser|xsstrike|dalfox|webinspect|appscan|detectify|fimap|pangolin|jorgee|zmeu|grendel-scan|paros|webshag|sqlninja|bsqlbf|absinthe|n-stealth|blackwidow|dotdotpwn|uniscan|golismero|metis|springenwerk|vega/|nsauditor|core-project|datacha0s|dav\\.pm|internet ninja|libwhisker|webtrends security|whitehat|nmap|cgichk|brutus|prog\\.customcrawler|cybercop|mosiac|gamingharbor|rsas|safexplorer|sitesucker|security scan|siege|struts-pwn|t-?rex scan|tsunami|xenu|zeus [\\d.]+ webster|wapiti|whcc|domino hunter|this is an exploit|openbullet|report runner|nv32ts|fhscan|httpx|subfinder|naabu|katana|crlfuzz|interactsh|log4shell|lfisuite|censysinspect|expanse|nimbostratus|python-nmap|rustscan|ruby-nessus|shodan|webvulnscan|websploit|morfeus|toata)',
    '\\b(?:nmap scripting engine|mozilla/\\S* sf/|netlab360|l9(?:explore|tcpid|scan)|patchstack|leakix|projectdiscovery)',
  ],
}

/** Header fields that scanners add. */
export const scannerFields: ReadonlySet<string> = new Set(
  'acunetix-product acunetix-scanning-agreement acunetix-user-agreement x-scanner x-scan-memo x-wipp x-ratproxy-loop x-appscan-agent x-burp-test'.split(
    ' ',
  ),
)

/** Paths that only scanners ask for. */
export const scannerPaths: PackPatterns = {
  paths: [
    '/(?:acunetix[-_]wvs|nikto|netsparker|nessus|appscan_fingerprint|w00tw00t|muieblackcat|nmaplowercheck|nmapuppercheck|nmap/|sdk/vim)',
    '/phpunit/(?:\\w+/)*eval-stdin\\.php',
    '/(?:boaform|hnap1|gponform|goform)(?:/|$)',
    '/cgi-bin/(?:test-cgi|printenv|luci|php4?(?:\\?|$)|nph-test-cgi|\\.%)',
    '/(?:actuator/(?:env|heapdump|gateway|jolokia)|jolokia/|druid/index|solr/admin/|geoserver/web|manager/html|jmx-console|web-console/serverinfo|invoker/jmx)',
    '/(?:shell|cmd|c99|r57|wso|b374k|webshell|alfa)\\.(?:php|asp|aspx|jsp)$',
    '/\\.(?:git/(?:config|head)|svn/(?:entries|wc\\.db)|env|ds_store|aws/credentials|vscode/sftp\\.json)$',
  ],
}
