/**
 * Computes what a turn costs while its object waits for the model: awake, and parked (docs/costs.md, "Duration"). The
 * lengths of replies come from recordings of real traffic. It makes no request.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { dollars } from './costs.ts';
import { readQuantile, toFigure, toTable } from './table.ts';

/** Assumptions, in seconds: a request that begins a reply, one that asks for a reply, and a new life of the object. */
const [createSeconds, askSeconds, lifeSeconds] = [1, 0.3, 0.05];
/** The platform takes a parked object out of memory after this many seconds. */
const memorySeconds = 10;
/** How often the alarm of a run in memory rings, in seconds. */
const watchSeconds = 12;
/** An alarm: its request, and the row that sets it. */
const alarm = dollars.objectRequest + dollars.rowWritten;

function priceAwake(seconds: number): number {
	return seconds * dollars.objectSecond + Math.floor(seconds / watchSeconds) * alarm;
}

function priceParked(seconds: number, pollSeconds: number): number {
	const polls = Math.ceil(seconds / pollSeconds);
	// A new life writes the row of the run, and sets its alarm twice.
	const life = pollSeconds < memorySeconds ? 0 : lifeSeconds * dollars.objectSecond + 2 * dollars.rowWritten;
	const poll = askSeconds * dollars.objectSecond + alarm + life;
	return createSeconds * dollars.objectSecond + dollars.rowWritten + polls * poll;
}

const polls = [5, 10, 20];
const lengths = [2, 5, 10, 20, 60, 300];
const toCell = (price: number, awake: number) => `${(1_000 * price).toFixed(4)} (${toFigure(price / awake)})`;
const rows = lengths.map((seconds) => {
	const awake = priceAwake(seconds);
	const parked = polls.map((poll) => toCell(priceParked(seconds, poll), awake));
	return [`${seconds} s`, (1_000 * awake).toFixed(4), ...parked];
});
console.log('Dollars for 1,000 turns, and the ratio to an object that stays awake:\n');
console.log(toTable([['reply', 'awake', ...polls.map((poll) => `parked, asked each ${poll} s`)], ...rows]));

const recordings = join(import.meta.dirname, '../../test/fixtures/recordings');
/** The lengths of recorded replies of OpenAI, in whole seconds. Only OpenAI says them, and has replies in the background. */
const recorded = readdirSync(recordings, { recursive: true, encoding: 'utf8' }).flatMap((name) => {
	if (!/openai-responses\/.+\.(json|txt|sse)$/.test(name)) return [];
	const text = readFileSync(join(recordings, name), 'utf8');
	const replies = [...text.matchAll(/"created_at":\s*(\d+).{0,400}?"completed_at":\s*(\d+)/g)];
	return replies.slice(-1).map(([, from, to]) => Number(to) - Number(from));
});
const sum = (price: (seconds: number) => number) => recorded.reduce((all, seconds) => all + price(seconds), 0);
const ratios = polls.map((poll) => toFigure(sum((seconds) => priceParked(seconds, poll)) / sum(priceAwake)));
console.log(
	`\n${recorded.length} recorded replies of OpenAI, median ${readQuantile(recorded, 0.5)} s, longest ${readQuantile(recorded, 1)} s.`,
	`All of them parked, asked each ${polls.join(', ')} s: ${ratios.join(', ')} of what they cost awake.`,
);
