import type { PackPatterns } from './pack.ts'

const QUOTE = '[\'"`´’]'
const LOGIC = '(?:or|and|xor|\\|\\||&&|having|where|not)'
const COMPARED = '(?:=|<|>|!=|i?like|glob|collate|rlike|regexp|between|is|in|div|mod|sounds like)'
const VALUE = `[(!~+@ -]*(?:${QUOTE}[^\\n'"]*${QUOTE}|[\\w.@]+)[ )]*`

/** Texts that SQL statements have, and other texts hardly ever. */
export const sqli: PackPatterns = {
  statements: [
    '\\bunion[ (]+(?:all|distinct|distinctrow)?[ (]*select\\b',
    '\\bselect (?:distinct |all |top \\d+ )?(?:\\*|[\\w.]+ ?[(]|@@?\\w|null\\b|[\\w.`"]+(?: as \\w+)? ?,)[^\\n]* ?\\bfrom\\b',
    '[(;] ?select (?:[@*\'"(\\d]|[\\w.]+ ?(?:[(,]|from\\b))',
    '\\binsert (?:ignore )?into [\\w.`"\\[]+[^\\n]*\\b(?:values|select|set)\\b',
    '\\b(?:delete|select [\\w*]+) from [\\w.`"]+ ?(?:;|where\\b|--|#|limit\\b)',
    '\\bupdate [\\w.`"]+ set [\\w.`"]+ ?=',
  ],
  words: [
    '\\bdrop (?:table|database|view|schema|procedure|function|trigger)\\b',
    '\\b(?:alter|truncate|rename) (?:table|database|login)\\b',
    '\\bcreate (?:or replace )?(?:table|database|procedure|function|trigger|user) [\\w.`"]+',
    '\\b(?:exec|execute) (?:immediate|master|xp_|sp_)',
    '\\bwaitfor (?:delay|time) ?[\'"]',
    '\\binto (?:out|dump)file\\b',
    '\\bload data (?:local )?infile\\b',
    '\\bprocedure analyse\\b',
    '\\border by \\d+ ?(?:--|#|,|$|\\n)',
    '\\b(?:information_schema|sysobjects|syscolumns|sysdatabases|pg_catalog|pg_sleep|sqlite_(?:temp_)?(?:master|schema)|msysaccessobjects|all_tab_columns|user_tab_columns|mysql\\.(?:user|db|innodb))\\b',
    '@@(?:version|hostname|datadir|basedir|servername|global|session|language)\\b',
    '\\b(?:sleep|benchmark|randomblob|pg_sleep|dbms_pipe\\.\\w+|dbms_lock\\.\\w+|utl_(?:http|inaddr|file)\\.\\w+) ?[(]',
    '\\b(?:extractvalue|updatexml|load_file|load_extension|xmltype|group_concat|concat_ws|lo_import|pg_read_file|generate_series|sys_context|sys_eval|xp_\\w+|sp_(?:oacreate|password|executesql|helpdb)) ?[( ]',
    '\\b(?:char|chr|nchar) ?[(] ?(?:0x)?\\d+ ?[,)]',
    '\\b(?:database|schema|current_user|system_user|session_user|current_database|version|user|row_count|last_insert_id|found_rows|connection_id) ?[(] ?[)]',
    '\\b(?:ascii|hex|unhex|ord|substring|substr|mid|length|lower|upper|cast|convert|concat|isnull|coalesce|if|iif|ifnull|nullif|count|version) ?[(] ?(?:[(]? ?select|@@|user|database|version|current|0x|char|chr|null|\'|"|\\d+ ?[=<>])',
    '\\b(?:unhex|find_in_set|make_set|name_const|sysdate|strcmp|uncompress|schema_name|db_name|object_id|current_user|json_build_object|jsonb_pretty|unistr|sqlite_compileoption\\w*|master_pos_wait|is_srvrolemember|hextoraw|to_timestamp_tz|group_concat) ?[(]',
    '\\bcase (?:when|[\\w(]+ when)\\b',
    '^\\$(?:ne|gte?|lte?|eq|nin|regex|where|exists|not|or|and|expr|func)$',
    '\\[\\$(?:ne|gte?|lte?|eq|n?in|regex|where|exists|not|or|and)\\]',
  ],
  tautologies: [
    `${QUOTE}[ )]*${LOGIC} ?${VALUE}${COMPARED}`,
    `${QUOTE}[ )]*(?:\\|\\||&&|${COMPARED})[ (]*(?:${QUOTE}|\\d|[\\w.]+ ?[(]|true\\b|false\\b|null\\b)`,
    `\\bor (?:not )?(?:${QUOTE}[^\\n'"]*${QUOTE}|\\w+) ?= ?(?:${QUOTE}|\\d)`,
  ],
  numbers: [
    `\\b\\d+[ )]*${LOGIC} ?[(!~+@ -]*(?:${QUOTE}[^\\n'"]*${QUOTE}|\\d+)[ )]*${COMPARED}`,
    `\\b(?:or|and|xor)[ (!]+${QUOTE}?(?:\\d+|true|false)${QUOTE}?[ )]*(?:=|<|>|like|--|#|$|\\n)`,
  ],
  endings: [
    `${QUOTE}[ );]*(?:--(?:[ +-]|$|\\n)|#(?: |$|\\n)|/\\*)`,
    '\\b\\d+[ )]*(?:-- |--$|--\\n|;--|/\\*)',
    `${QUOTE}[ )]+(?:;|${LOGIC})? ?(?:union[ (]+(?:all|distinct|select)|select [\\w@*('"]|(?:insert|replace) into|update \\w+ set|delete from|drop \\w|alter \\w|exec|declare @|shutdown|group by|order by|having|limit \\d|procedure|waitfor|into (?:out|dump)|sleep ?[(]|benchmark ?[(]|if ?[(]|(?:is )?not ?null|collate \\w|i?like [\\w'"(]|glob [\\w'"(]|offset \\d)`,
    ';[ (]*(?:select|insert|update|delete|drop|alter|create|truncate|exec|execute|declare|shutdown|grant|revoke|waitfor|merge|call|kill|begin)\\b ?[\\w@(*\'"]+',
    `${QUOTE}[ )]*(?:\\+|\\|\\|)[ (]*(?:select|char|chr|concat|sleep|user|version|${QUOTE}[^\\n'"]*${QUOTE}(?:--|#|;|$|\\n))`,
  ],
}
