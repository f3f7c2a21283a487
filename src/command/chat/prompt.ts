/** The prompt of a chat. The arrow keys select earlier lines, also lines of earlier chats. */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { Transform, Writable } from 'node:stream';
import type { ReadStream } from 'node:tty';

/** The maximum number of lines that are kept. */
const mostLines = 500;

/** Returns the path of the history file, which is in the system's folder for program state. */
export function findHistoryFile(env: NodeJS.ProcessEnv = process.env): string {
	const folder = env.XDG_STATE_HOME || env.LOCALAPPDATA || join(homedir(), '.local', 'state');
	return join(folder, 'runlet', 'chat-history');
}

interface PromptOptions {
	readonly file?: string;
	readonly isTerminal?: boolean;
	/** Completes the beginning of a line. */
	readonly complete?: (line: string) => readonly string[];
}

export interface Prompt {
	/** Shows the prompt, and returns the next message. Returns undefined at the end of the input. */
	next(): Promise<string | undefined>;
	/** Returns the messages that were typed ahead, and forgets them. */
	drop(): readonly string[];
	onInterrupt(listener: () => void): void;
	close(): void;
}

/**
 * Opens the prompt. While nobody waits for a message, typing is not shown, so that it stays out of the answer. If the
 * history file cannot be written, the history is kept only as long as the prompt is open.
 */
export function createPrompt(
	input: NodeJS.ReadableStream & Partial<Pick<ReadStream, 'setRawMode'>>,
	output: NodeJS.WritableStream & { readonly columns?: number },
	{ file = findHistoryFile(), isTerminal = true, complete = () => [] }: PromptOptions = {},
): Prompt {
	const typed: string[] = [];
	let waiting: ((line: string | undefined) => void) | undefined;
	let isClosed = false;
	const screen = createScreen(output, () => waiting !== undefined);
	const lines = createInterface({
		...{ input: isTerminal ? filterPastes(input) : input, output: screen, terminal: isTerminal, prompt: '› ' },
		...{ history: readLines(file), historySize: mostLines, removeHistoryDuplicates: true },
		completer: (line: string) => [complete(line), line],
	});
	lines.on('history', (history: readonly string[]) => keepLines(file, history));
	if (isTerminal) setPasteMode(output, lines);

	function give(line: string | undefined) {
		const take = waiting;
		waiting = undefined;
		take?.(line);
	}
	lines.on('line', (line) => {
		const text = fromSigns(line);
		if (waiting === undefined) typed.push(text);
		else give(text);
	});
	lines.on('close', () => {
		isClosed = true;
		give(undefined);
	});
	return {
		next() {
			const line = typed.shift();
			// Nobody saw how it was typed.
			if (line !== undefined) output.write(`› ${line}\n`);
			if (line !== undefined || isClosed) return Promise.resolve(line);
			return new Promise((resolve) => {
				waiting = resolve;
				// What was typed ahead took no rows, because it was not shown.
				Object.assign(lines, { prevRows: 0 });
				lines.prompt(true);
			});
		},
		drop: () => typed.splice(0),
		onInterrupt: (listener) => void lines.on('SIGINT', listener),
		close: () => lines.close(),
	};
}

/** Passes on what the prompt writes while the prompt is shown. */
function createScreen(output: NodeJS.WritableStream & { readonly columns?: number }, isShown: () => boolean): Writable {
	const screen = new Writable({
		write(chunk, _, done) {
			if (isShown()) output.write(chunk);
			done();
		},
	});
	output.on('resize', () => screen.emit('resize'));
	return Object.defineProperty(screen, 'columns', { get: () => output.columns });
}

/** What stands for a line break and a tab in a line: as keys they would send the line, and complete it. */
const signs = { '\n': '⏎', '\t': '⇥' } as const;
const pasteBegin = '\u001b[200~';
const pasteEnd = '\u001b[201~';

/** Asks the terminal to mark what is pasted (bracketed paste), until the program ends. */
function setPasteMode(output: NodeJS.WritableStream, lines: Interface) {
	const end = () => void output.write('\u001b[?2004l');
	output.write('\u001b[?2004h');
	process.once('exit', end);
	lines.once('close', () => {
		process.off('exit', end);
		end();
	});
}

/** Passes on the keys, with signs for what would end the line: in pasted texts, and for Alt-Enter. */
function filterPastes(input: NodeJS.ReadableStream & Partial<Pick<ReadStream, 'setRawMode'>>) {
	let held = '';
	let isPaste = false;
	const keys = new Transform({
		decodeStrings: false,
		encoding: 'utf8',
		transform(chunk: string, _, done) {
			for (let text = held + chunk; ; isPaste = !isPaste) {
				const mark = isPaste ? pasteEnd : pasteBegin;
				const at = text.indexOf(mark);
				held = at === -1 ? findBegun(text, isPaste ? [mark, '\r\n'] : [mark]) : '';
				const part = text.slice(0, at === -1 ? text.length - held.length : at);
				this.push(isPaste ? toSigns(part) : part.replaceAll('\u001b\r', signs['\n']));
				if (at === -1) return done();
				text = text.slice(at + mark.length);
			}
		},
	});
	input.setEncoding('utf8').pipe(keys);
	return Object.assign(keys, { setRawMode: (isRaw: boolean) => input.setRawMode?.(isRaw) });
}

/** Returns the end of a text that the next piece may complete to one of these marks. */
function findBegun(text: string, marks: readonly string[]): string {
	const begins = marks.flatMap((mark) => Array.from(mark, (_, length) => mark.slice(0, length)));
	return begins.reduce(
		(longest, begin) => (text.endsWith(begin) && begin.length > longest.length ? begin : longest),
		'',
	);
}

function toSigns(pasted: string): string {
	return pasted
		.replace(/\r\n?|\n/g, signs['\n'])
		.replaceAll('\t', signs['\t'])
		.replace(/\p{Cc}/gu, '');
}

function fromSigns(line: string): string {
	return line.replaceAll(signs['\n'], '\n').replaceAll(signs['\t'], '\t').trimEnd();
}

/** Reads the lines, the newest first. */
function readLines(file: string): string[] {
	try {
		return readFileSync(file, 'utf8').split('\n').filter(Boolean).slice(0, mostLines);
	} catch {
		return [];
	}
}

/** Writes the lines to a file that only the current user can read. */
function keepLines(file: string, lines: readonly string[]): void {
	try {
		mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
		writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600 });
	} catch {
		// Without a writable folder no history is kept.
	}
}
