import type { Call } from './script.ts';

const letters = 'a'.repeat(900_000);
const longLines = Array.from({ length: 60_000 }, (_, n) => `line ${n} of a long file\n`);

/** The files of the calls below. */
export const hostileFiles: Readonly<Record<string, string>> = {
	'letters.json': JSON.stringify([letters]),
	'numbers.json': JSON.stringify(Array.from({ length: 30_000 }, (_, n) => n)),
	'lists.json': `[${'[],'.repeat(140_000)}1]`,
	'lines.txt': 'x\n'.repeat(100_000),
	'long.txt': longLines.join(''),
	'unlike.txt': Array.from({ length: 20_000 }, (_, n) => `${n} ${'lorem ipsum dolor '.repeat(15)}\n`).join(''),
	'words.txt': Array.from({ length: 90_000 }, (_, n) => `word ${(n * 7_919) % 90_000} of many\n`).join(''),
	...Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`${'ab/'.repeat(30)}${'a'.repeat(100)}${n}.txt`, 'x\n'])),
};

const displaced = Array.from({ length: 3_000 }, (_, n) => {
	const at = 20 * n + 3;
	return `@@ -${at + 500},2 +${at + 500},2 @@\n ${longLines[at]}-${longLines[at + 1]}+changed ${n}\n`;
});
const manyFiles = Array.from({ length: 400 }, () => '*** Update File: lines.txt\n@@ none\n-y\n+z\n');
const query = (path: string, text: string): Omit<Call, 'id'> => ({ tool: 'query_json', input: { path, query: text } });
const shell = (command: string): Omit<Call, 'id'> => ({
	tool: 'run_shell',
	input: { command, timeoutMs: 2_000 },
});
const edit = (path: string, oldText: string): Omit<Call, 'id'> => ({
	tool: 'edit_file',
	input: { path, oldText, newText: '' },
});
const plan = (edits: readonly object[]): Omit<Call, 'id'> => ({
	tool: 'plan_changes',
	input: { summary: 'Hard work.', edits },
});

/**
 * The most expensive calls that a tenant can make.
 *
 * @param page the address of a large page
 */
export function listHostileCalls(page: string): readonly Omit<Call, 'id'>[] {
	return [
		query('letters.json', "$[?match(@, '(((.?){0,25}){0,25})*c')]"),
		query('numbers.json', '$[?count($[?@ > 5000000]) == 3]'),
		query('numbers.json', '$..[?$..[?$..[?@.x]]]'),
		query('lists.json', '$..[?@ == $]'),
		{ tool: 'search_files', input: { query: 'x', glob: `${'**/'.repeat(100)}${'*a'.repeat(90)}b` } },
		{ tool: 'search_files', input: { query: '(((.?){0,25}){0,25})*c', regex: true } },
		{ tool: 'search_files', input: { query: `${'a'.repeat(900)}b${'a'.repeat(90)}` } },
		{ tool: 'apply_patch', input: { patch: `--- a/long.txt\n+++ b/long.txt\n${displaced.join('')}` } },
		{ tool: 'apply_patch', input: { patch: `*** Begin Patch\n${manyFiles.join('')}*** End Patch\n` } },
		{ tool: 'apply_patch', input: { patch: '--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-a\n+b\n'.repeat(20_000) } },
		edit('letters.json', `${'a'.repeat(300_000)}b`),
		edit('lines.txt', `${' x\n'.repeat(50_000)}y`),
		edit('unlike.txt', 'dolor ipsum '.repeat(10)),
		plan(Array.from({ length: 20 }, () => ({ path: 'unlike.txt', oldText: 'dolor ipsum '.repeat(10), newText: '' }))),
		plan([{ path: 'long.txt', newText: 'other\n'.repeat(60_000) }]),
		shell(`jq -n 'reduce range(900000) as $i ("";.+"x")|length'`),
		shell(`jq '[.[] as $a | .[] | select(. == $a)] | length' numbers.json`),
		shell('while true; do :; done'),
		shell("awk '{ for (i = 0; i < 1000; i++) s += i } END { print s }' words.txt"),
		shell("sort words.txt | uniq -c | sort -rn | grep -E '(a+)+$' | wc -l"),
		shell(
			'x=a; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do x=$x$x; done; echo $x | tr a b | wc -c',
		),
		shell('sleep 60'),
		{ tool: 'calculate', input: { expression: `${'('.repeat(200)}9${')^9'.repeat(200)}` } },
		{ tool: 'web_fetch', input: { url: page } },
		{ tool: 'search_conversation', input: { query: 'zz' } },
	];
}

/** A page that is slow to parse. */
export const hostilePage = `<ul>${'<li><h2>x<table><tr><td colspan=10 rowspan=10><b>y'.repeat(60_000)}`;
