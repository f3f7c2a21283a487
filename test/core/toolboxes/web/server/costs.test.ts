import { Session } from 'node:inspector/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { doNow, uncounted } from '../../../../../src/core/base/work.ts';
import { readHtml } from '../../../../../src/core/toolboxes/web/page.ts';

const address = new URL('https://a.example/');

const session = new Session();
// Once for all pages: what is compiled while nobody counts has no blocks, and what is compiled again later has some.
beforeAll(async () => {
	session.connect();
	await session.post('Profiler.enable');
	await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
});
afterAll(async () => {
	await session.post('Profiler.stopPreciseCoverage');
	session.disconnect();
});

/** The scripts of the reader of pages, and of its libraries. The scripts of earlier tests may run beside the work. */
const ofReader =
	/[/\\]toolboxes[/\\]web[/\\]|[/\\]core[/\\]base[/\\]|[/\\]node_modules[/\\](?!@vitest|vitest|vite|vite-node|fast-check)/;

/** Counts how often every block of code is run by a piece of work. */
async function countSteps(work: () => void): Promise<number> {
	// Counts from zero on.
	await session.post('Profiler.takePreciseCoverage');
	work();
	const { result } = await session.post('Profiler.takePreciseCoverage');
	const own = result.filter(({ url }) => ofReader.test(url));
	const ranges = own.flatMap(({ functions }) => functions.flatMap((one) => one.ranges));
	return ranges.reduce((sum, { count }) => sum + count, 0);
}

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

test.each(growing)('the work for a page of %s grows linearly with its length', async (_, start, piece) => {
	const count = (characters: number) =>
		countSteps(() => doNow(readHtml(start + piece.repeat(characters / piece.length), address, uncounted)));
	await count(1_000);
	const [once, fourTimes] = [await count(40_000), await count(160_000)];
	// Linear work is four times as much, and quadratic work sixteen times.
	expect(fourTimes / once).toBeLessThan(6);
});
