/** Tools that compute much let other requests run meanwhile, and their calls end. */
import { expect, test } from 'vitest';
import { toolbox } from '../../../src/core/index.ts';
import { callOn } from './support.ts';

const box = toolbox.withCoding(toolbox.withFiles(toolbox.basic()));

/** Returns the result of a call, and how often other work ran meanwhile. */
async function countTurns<T>(call: Promise<T>): Promise<{ readonly value: T; readonly turns: number }> {
	let turns = 0;
	let timer = setTimeout(turn, 0);
	function turn(): void {
		turns++;
		timer = setTimeout(turn, 0);
	}
	try {
		return { value: await call, turns };
	} finally {
		clearTimeout(timer);
	}
}

/** Other work must run at least this often during the calls below. */
const fewTurns = 2;

const repeated = 'a'.repeat(900_000);
const unlike = Array.from({ length: 20_000 }, (_, n) => `${n} ${'lorem ipsum dolor '.repeat(15)}`).join('\n');

test.each<[what: string, name: string, args: Record<string, unknown>]>([
	[
		'query_json with nested repetitions in a pattern',
		'query_json',
		{ path: 'letters.json', query: "$[?match(@, '(((.?){0,25}){0,25})*c')]" },
	],
	[
		'query_json with a query that scans the list for each value',
		'query_json',
		{ path: 'numbers.json', query: '$[?count($[?@ > 5000000]) == 3]' },
	],
	[
		'edit_file with a text that almost matches at every place',
		'edit_file',
		{ path: 'letters.json', oldText: `${'a'.repeat(300_000)}b`, newText: '' },
	],
	[
		'edit_file with lines that almost match at every place',
		'edit_file',
		{ path: 'lines.txt', oldText: `${' x\n'.repeat(50_000)}y`, newText: '' },
	],
	[
		'plan_changes with texts that no file contains',
		'plan_changes',
		{
			summary: 's',
			edits: Array.from({ length: 20 }, () => ({
				path: 'unlike.txt',
				oldText: 'dolor ipsum '.repeat(10),
				newText: '',
			})),
		},
	],
])('%s yields to other requests, and its error suggests a remedy', { timeout: 120_000 }, async (_, name, args) => {
	const files = {
		'letters.json': JSON.stringify([repeated]),
		'numbers.json': JSON.stringify(Array.from({ length: 20_000 }, (_, n) => n)),
		'lines.txt': 'x\n'.repeat(100_000),
		'unlike.txt': unlike,
	};
	const { value, turns } = await countTurns(callOn(box, files).fail(name, args));
	expect(value).toMatch(/this takes too long, so it was stopped\. \w|stands nowhere|The nearest text is/);
	expect(turns).toBeGreaterThan(fewTurns);
});

test('search_files with a glob of many alternatives yields to other requests', { timeout: 120_000 }, async () => {
	const names = Array.from({ length: 300 }, (_, n) => `${'ab/'.repeat(30)}${'a'.repeat(150)}${n}.txt`);
	const files = Object.fromEntries(names.map((name) => [name, 'x']));
	const glob = `${'**/'.repeat(100)}${'*a'.repeat(90)}b`;
	const { value, turns } = await countTurns(callOn(box, files).call('search_files', { query: 'x', glob }));
	expect(value).toEqual({ matches: [], truncated: expect.any(Boolean) });
	expect(turns).toBeGreaterThan(fewTurns);
});

test('apply_patch applies thousands of displaced hunks without a full search for each hunk', async () => {
	const lines = Array.from({ length: 60_000 }, (_, n) => `line ${n} of a long file\n`);
	const hunks = Array.from({ length: 3_000 }, (_, n) => {
		const at = 20 * n + 3;
		return `@@ -${at + 500},2 +${at + 500},2 @@\n ${lines[at]}-${lines[at + 1]}+changed ${n}\n`;
	});
	const { files, call } = callOn(box, { 'a.txt': lines.join('') });
	await call('apply_patch', { patch: `--- a/a.txt\n+++ b/a.txt\n${hunks.join('')}` });
	const text = new TextDecoder().decode(await files.read('a.txt'));
	expect(text.match(/^changed \d+$/gm)).toHaveLength(3_000);
	expect(text.split('\n')).toHaveLength(60_001);
});

test('the diff of two different texts yields to other requests', async () => {
	const toText = (word: string) => Array.from({ length: 50_000 }, (_, n) => `${word} ${n}`).join('\n');
	const args = { summary: 's', edits: [{ path: 'a.txt', newText: toText('new') }] };
	const { value, turns } = await countTurns(callOn(box, { 'a.txt': toText('old') }).call('plan_changes', args));
	expect(value).toMatchObject({ diff: expect.stringContaining('+new 0\n') });
	expect(turns).toBeGreaterThan(fewTurns);
});
