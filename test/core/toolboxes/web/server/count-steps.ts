/**
 * Counts how often blocks of code run while the reader of pages reads pages of 40,000 and of 160,000 characters. The
 * argument is JSON, a list of pages: what each begins with, and the piece that it repeats. Prints both counts for each.
 *
 * It is a program of its own, to be run without the optimising compilers: code that was compiled before the count began, or
 * was optimised since then, counts less.
 */
import { Session } from 'node:inspector/promises';
import * as v from 'valibot';

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
const { doNow, uncounted } = await import('../../../../../src/core/base/work.ts');
const { readHtml } = await import('../../../../../src/core/toolboxes/web/page.ts');

const address = new URL('https://a.example/');

async function countSteps(html: string): Promise<number> {
	// Counts from zero on.
	await session.post('Profiler.takePreciseCoverage');
	doNow(readHtml(html, address, uncounted));
	const { result } = await session.post('Profiler.takePreciseCoverage');
	const ranges = result.flatMap(({ functions }) => functions.flatMap((one) => one.ranges));
	return ranges.reduce((sum, { count }) => sum + count, 0);
}

const counts: number[][] = [];
for (const [start, piece] of v.parse(v.array(v.tuple([v.string(), v.string()])), JSON.parse(process.argv[2] ?? ''))) {
	const count = (characters: number) => countSteps(start + piece.repeat(characters / piece.length));
	counts.push([await count(40_000), await count(160_000)]);
}
console.log(JSON.stringify(counts));
