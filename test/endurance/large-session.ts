import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { exportVersion } from '../../src/cloudflare/wire/export.ts';
import type { Random } from './random.ts';

const stride = 65_536;
/** The share of the bytes in files, in percent. */
const inFiles = 20;
/** Bytes of the files, one after the other. Files over 1 MiB are in the bucket. */
const fileSizes = [4_000, 900_000, 1_500_000, 20_000] as const;
/** Each so many files, there is one of the largest size. */
const [largeEvery, largest] = [20, 24_000_000] as const;
const pieceBytes = 262_144;
const time = '2026-01-01T00:00:00.000Z';

/** Writes the lines of an export of about so many bytes: runs with tool results of up to 4 MB, and files. */
export async function writeLines(path: string, bytes: number, random: Random) {
	const file = createWriteStream(path);
	const counts = { runs: 0, spending: 0, state: 0, notes: 0, waiting: 0, files: 0, messages: 0 };
	let written = 0;
	const write = async (line: object): Promise<void> => {
		const text = `${JSON.stringify(line)}\n`;
		written += text.length;
		if (!file.write(text)) await once(file, 'drain');
	};
	const text = createText(random);
	const results = chooseResults((bytes * (100 - inFiles)) / 100, random);
	await write({ session: { version: exportVersion, agent: 'worker' } });
	for (const n of results.keys()) {
		const end = { before: [], draft: [], steps: 2, event: { type: 'done', text: 'Done.', usage } };
		const stored = { firstMessage: String(3 * stride * (n + 1)), end };
		await write({ run: { id: toRunId(n), status: 'completed', lives: 1, createdAt: time, endedAt: time, stored } });
		counts.runs++;
	}
	let names = 0;
	for (let left = (bytes * inFiles) / 100; left > 0; names++) {
		const usual = names % largeEvery === largeEvery - 1 ? largest : (fileSizes[names % fileSizes.length] ?? 0);
		const size = Math.min(usual, Math.max(1, Math.floor((left * 3) / 4)));
		for (let at = 0; at < size; at += pieceBytes) {
			const base64 = Buffer.from(text(Math.min(pieceBytes, size - at))).toString('base64');
			await write({ file: { path: `files/${String(names).padStart(6, '0')}.txt`, size, at, base64 } });
			counts.files++;
			left -= base64.length;
		}
	}
	for (const [n, length] of results.entries()) {
		for (const message of createTurns(n, {
			ask: text(1_000),
			input: text(500),
			result: text(length),
			reply: text(2_000),
		})) {
			await write({ message: { ...message, runId: toRunId(n), createdAt: time } });
			counts.messages++;
		}
	}
	await write({ end: counts });
	file.end();
	await once(file, 'finish');
	return { bytes: written, records: `${counts.messages}, ${counts.runs} and ${names}` };
}

const usage = { inputTokens: 0, outputTokens: 0 };

function toRunId(n: number): string {
	return `run-${n}`;
}

/** Lengths of tool results: most are short, and some are long. */
function chooseResults(bytes: number, random: Random): readonly number[] {
	const results: number[] = [];
	for (let left = bytes; left > 0; ) {
		const length = results.length % 60 === 59 ? 4_000_000 : random(1_000, 150_000);
		results.push(Math.min(length, Math.ceil(left)));
		left -= length + 4_500;
	}
	return results;
}

/** Returns a function that cuts texts of a length out of a long random text of ASCII. */
function createText(random: Random): (length: number) => string {
	const words = Array.from({ length: 1_000_000 }, () => random(0, 1_000_000).toString(36)).join(' ');
	return (length) => {
		const from = random(0, 1_000_000);
		return words.slice(from, from + length).padEnd(length, '.');
	};
}

interface Texts {
	readonly ask: string;
	readonly input: string;
	readonly result: string;
	readonly reply: string;
}

/** The four messages of a run. */
function createTurns(n: number, { ask, input, result, reply }: Texts) {
	const place = 3 * stride * (n + 1);
	const id = `call-${n}`;
	const toolCalls = [{ id, name: 'lookup', input: { intent: input } }];
	return [
		{ id: String(place), role: 'user', content: ask, isInput: true },
		{ id: String(place + stride), role: 'assistant', content: '', toolCalls },
		{ id: String(place + stride + 1), role: 'tool', content: result, toolCallId: id },
		{ id: String(place + 2 * stride), role: 'assistant', content: reply },
	];
}
