/** The prompt of a chat. The arrow keys select earlier lines, also lines of earlier chats. */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';

/** The maximum number of lines that are kept. */
const mostLines = 500;

/** Returns the path of the history file, which is in the system's folder for program state. */
export function findHistoryFile(env: NodeJS.ProcessEnv = process.env): string {
	const folder = env.XDG_STATE_HOME || env.LOCALAPPDATA || join(homedir(), '.local', 'state');
	return join(folder, 'runlet', 'chat-history');
}

/** Makes the prompt. If the file cannot be written, the history is kept only as long as the prompt is open. */
export function createPrompt(
	input: NodeJS.ReadableStream,
	output: NodeJS.WritableStream,
	{ file = findHistoryFile(), isTerminal = true }: { readonly file?: string; readonly isTerminal?: boolean } = {},
): Interface {
	const prompt = createInterface({
		...{ input, output, terminal: isTerminal, prompt: '\n› ' },
		...{ history: readLines(file), historySize: mostLines, removeHistoryDuplicates: true },
	});
	prompt.on('history', (lines: readonly string[]) => keepLines(file, lines));
	return prompt;
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
