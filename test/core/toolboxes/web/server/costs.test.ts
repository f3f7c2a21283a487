import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as v from 'valibot';
import { beforeAll, describe, expect, test } from 'vitest';

const levels = (tag: string) => `<${tag}>`.repeat(300);

/** Pages that grow by a piece, where a reader that looks back or around would do more and more. */
const growing: readonly (readonly [name: string, start: string, piece: string])[] = [
	['empty elements', '', '<span></span>'],
	['blanks', '', ' <b> </b>'],
	['headings', '', '<h2>x'],
	['breaks', '', '<p>x<br>'],
	['links', '', '<a href=y>x</a> '],
	['items', '<ul>', '<li>x</li>'],
	['spans over cells', '<table>', '<tr><td colspan=10 rowspan=10>x'],
	['a long row', '<table><tr>', '<td>'],
	['lines of code', '<pre>', '<div>x</div>'],
	['backticks in code', '<p><code>', '` `` '],
	['boxes in boxes', levels('div'), '<p>x'],
	['marks in marks', levels('b'), '<i>x</i>'],
	['quotations in quotations', levels('blockquote'), '<p>x'],
	['end tags without a start', levels('i'), '</b>'],
	['comments without an end', '', '<!--'],
	['tags without an end', '', '<a b=c <'],
	['entities without an end', '', '&amp;&#'],
];

describe('the work for a page', () => {
	let counts: readonly (readonly [once: number, fourTimes: number])[];
	beforeAll(async () => {
		const pages = JSON.stringify(growing.map(([, start, piece]) => [start, piece]));
		const flags = ['--no-opt', '--no-maglev', '--no-flush-bytecode'];
		const { stdout } = await promisify(execFile)(
			process.execPath,
			[...flags, join(import.meta.dirname, 'count-steps.ts'), pages],
			{ env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' } },
		);
		counts = v.parse(v.array(v.tuple([v.number(), v.number()])), JSON.parse(stdout));
	}, 120_000);

	test.each(growing.map(([name], at) => ({ name, at })))('of $name grows linearly with its length', ({ at }) => {
		const [once = 0, fourTimes = 0] = counts[at] ?? [];
		expect(once).toBeGreaterThan(40_000);
		// Linear work is four times as much, and quadratic work sixteen times.
		expect(fourTimes / once).toBeLessThan(5);
	});
});
