/** Lines of `runlet chat` that are no messages: they look at what the session works on. */

import type { FileChange, SessionClient } from '../../client/index.ts';
import { describeSize } from '../../client/words.ts';
import { print, printDiff, printTasks, printText } from './terminal.ts';

/** What the help says of them. */
export const commandUsage = `  /files          the files of the session, with their sizes
  /files PATH     prints a text file
  /changes        what changed in the files, with diffs
  /tasks          the lists of tasks`;

type Client = Pick<SessionClient, 'listFiles' | 'readFile' | 'listChanges' | 'listTasks'>;

/** Files and changes that are printed. */
const mostFiles = 500;
const mostChanges = 20;

/** Carries out a line that is a command. Returns `undefined` for a message. */
export function findCommand(line: string, client: Client, id: string): (() => Promise<void>) | undefined {
	const [, name, argument = ''] = /^\/(files|changes|tasks)(?:\s+(\S.*?))?\s*$/.exec(line) ?? [];
	if (name === 'files') return argument === '' ? () => printFiles(client, id) : () => printFile(client, id, argument);
	if (argument !== '') return undefined;
	if (name === 'changes') return () => printChanges(client, id);
	return name === 'tasks' ? () => printAllTasks(client, id) : undefined;
}

async function printFiles(client: Client, id: string): Promise<void> {
	const { files, cursor } = await client.listFiles(id, { limit: mostFiles });
	const width = Math.min(60, Math.max(0, ...files.map(({ path }) => path.length)));
	for (const { path, size } of files) printText(`${path.padEnd(width)}  ${describeSize(size)}\n`);
	if (cursor !== undefined) print('dim', `These are the first ${mostFiles}.`);
	if (files.length === 0) print('dim', 'This session has no files.');
}

async function printFile(client: Client, id: string, path: string): Promise<void> {
	const file = await client.readFile(id, path);
	const bytes = new Uint8Array(await file.arrayBuffer());
	try {
		const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
		if (!text.includes('\0')) return printText(text);
	} catch {
		// The same is said of what is no UTF-8.
	}
	print('yellow', `${path} is no text (${describeSize(bytes.length)}). The page downloads it.`);
}

async function printChanges(client: Client, id: string): Promise<void> {
	const { changes, cursor } = await client.listChanges(id, { limit: mostChanges });
	if (cursor !== undefined) print('dim', `These are the newest ${mostChanges}.`);
	for (const change of changes.toReversed()) printChange(change);
	if (changes.length === 0) print('dim', 'Nothing changed yet.');
}

function printChange({ kind, path, from, callId, diff }: FileChange): void {
	print(
		'bold',
		`${kind} ${from === undefined ? path : `${from} to ${path}`}${callId === undefined ? ', by a person' : ''}`,
	);
	if (diff !== undefined) printDiff(diff);
}

async function printAllTasks(client: Client, id: string): Promise<void> {
	const lists = await client.listTasks(id);
	for (const list of lists) printTasks(list);
	if (lists.length === 0) print('dim', 'There are no lists of tasks.');
}
