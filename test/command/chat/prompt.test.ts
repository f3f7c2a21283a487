import { once } from 'node:events';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { createPrompt, findHistoryFile } from '../../../src/command/chat/prompt.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
	for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function createFolder(): Promise<string> {
	const folder = await mkdtemp(join(tmpdir(), 'runlet-prompt-'));
	cleanups.push(() => rm(folder, { recursive: true, force: true }));
	return folder;
}

/** Opens a prompt, and types pieces of text. Returns the messages that were sent, up to a number. */
async function type(pieces: readonly string[], count = 1, file = '/dev/null/none'): Promise<(string | undefined)[]> {
	const input = new PassThrough();
	const prompt = createPrompt(input, new PassThrough(), { file });
	try {
		for (const piece of pieces) input.write(piece);
		const sent = [];
		while (sent.length < count) sent.push(await prompt.next());
		return sent;
	} finally {
		prompt.close();
	}
}

const paste = (text: string) => `\u001b[200~${text}\u001b[201~`;

test('recalls the input of earlier starts by the arrow keys, and stores it in a private file', async () => {
	const file = join(await createFolder(), 'state/chat-history');
	await type(['first\r'], 1, file);
	await type([`${paste('second\rline')}\r`], 1, file);
	expect(await type(['\u001b[A\r'], 1, file)).toEqual(['second\nline']);
	expect(await type(['\u001b[A\u001b[A\r'], 1, file)).toEqual(['first']);
	expect((await stat(file)).mode & 0o777).toBe(0o600);
	expect(findHistoryFile({ XDG_STATE_HOME: '/state' })).toBe(join('/state', 'runlet', 'chat-history'));
});

test('a pasted text of several lines is one message, wherever the terminal splits the input', async () => {
	const typed = `so: ${paste('one\r\n\ttwo\r\u001b[31mthree\n')} now\u001b\rend\r/next\r`;
	const message = 'so: one\n\ttwo\n[31mthree\n now\nend';
	expect(await type([typed], 2)).toEqual([message, '/next']);
	const cuts = fc.uniqueArray(fc.nat(typed.length - 1), { maxLength: 12 });
	await fc.assert(
		fc.asyncProperty(cuts, async (at) => {
			const ends = [...at.toSorted((a, b) => a - b), typed.length];
			const pieces = ends.map((end, index) => typed.slice(ends[index - 1] ?? 0, end));
			expect(await type(pieces, 2)).toEqual([message, '/next']);
		}),
		{ numRuns: 200 },
	);
});

test('asks the terminal to mark pasted text, and ends that', async () => {
	const output = new PassThrough();
	const prompt = createPrompt(new PassThrough(), output, { file: '/dev/null/none' });
	prompt.close();
	const written = String(output.read());
	expect(written.startsWith('\u001b[?2004h')).toBe(true);
	expect(written.endsWith('\u001b[?2004l')).toBe(true);
});

test('shows what was typed during an answer only at the next prompt', async () => {
	const [input, output] = [new PassThrough(), new PassThrough({ encoding: 'utf8' })];
	const prompt = createPrompt(input, output, { file: '/dev/null/none' });
	cleanups.push(() => prompt.close());
	output.read();
	input.write('ahead\rhalf');
	expect(output.read()).toBe(null);
	expect(await prompt.next()).toBe('ahead');
	expect(output.read()).toBe('› ahead\n');
	const next = prompt.next();
	expect(output.read()).toContain('› half');
	input.write(' more\r');
	expect(await next).toBe('half more');
	input.write('dropped\r');
	expect(prompt.drop()).toEqual(['dropped']);
});

test('completes a line by the Tab key, and a pasted tab is text', async () => {
	const [input, output] = [new PassThrough(), new PassThrough({ encoding: 'utf8' })];
	const complete = (line: string) => (line === '/he' ? ['/help '] : []);
	const prompt = createPrompt(input, output, { file: '/dev/null/none', complete });
	cleanups.push(() => prompt.close());
	const completed = prompt.next();
	let shown = '';
	output.on('data', (text) => {
		shown += text;
	});
	const sees = async (words: string) => {
		while (!shown.includes(words)) await once(output, 'data');
	};
	input.write('/he');
	await sees('/he');
	input.write('\t');
	await sees('lp ');
	input.write('\r');
	expect(await completed).toBe('/help');
	input.write(`${paste('/he\t')}x\r`);
	expect(await prompt.next()).toBe('/he\tx');
});

test('the end of the input ends the prompt', async () => {
	const input = new PassThrough();
	const prompt = createPrompt(input, new PassThrough(), { file: '/dev/null/none' });
	const next = prompt.next();
	input.end();
	expect(await next).toBe(undefined);
	expect(await prompt.next()).toBe(undefined);
});
