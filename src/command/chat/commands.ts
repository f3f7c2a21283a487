/** The commands of `runlet chat`, such as /files. */

import { ClientError, type FileChange, type Session, type SessionClient } from '../../client/index.ts';
import { describeMoney, describeSize, describeUsage } from '../../client/words.ts';
import { toFileText } from '../../core/base/bytes.ts';
import { formatDollars } from '../../core/base/text.ts';
import { attachFile, chooseModel, type NextMessage, printModels } from './next-message.ts';
import { print, printText, toOneLine } from './print.ts';
import { printDiff, printTasks } from './terminal.ts';

/** The help text of the commands. */
export const commandUsage = `  /help           these lines
  /sessions       the newest sessions, to come back to with --session
  /model          the models that the agent may run on
  /model NAME     has another model answer from now on
  /attach PATH    sends a file of this machine with the next message
  /budget         what the session has spent of its budget
  /budget TOKENS  lets it spend so many tokens in all
  /trace          what each turn took and cost
  /files          the files of the session, with their sizes
  /files PATH     prints a text file
  /changes        what changed in the files, with diffs
  /tasks          the lists of tasks`;

/** The part of a chat that a command reads or changes. */
interface Conversation {
	readonly client: SessionClient;
	readonly session: { readonly id: string };
	readonly next: NextMessage;
}

/** The maximum number of printed files and changes. */
const mostFiles = 500;
const mostChanges = 20;

/** Returns the action of a command, or `undefined` if the line is a message. */
export function findCommand(
	line: string,
	{ client, session: { id }, next }: Conversation,
): (() => Promise<void>) | undefined {
	const [, name, argument = ''] =
		/^\/(help|sessions|model|attach|budget|trace|files|changes|tasks)(?:\s+(\S.*?))?\s*$/.exec(line) ?? [];
	if (name === 'files') return argument === '' ? () => printFiles(client, id) : () => printFile(client, id, argument);
	if (name === 'budget') return () => (argument === '' ? printBudget(client, id) : setBudget(client, id, argument));
	if (name === 'model')
		return () => (argument === '' ? printModels(next, client, id) : chooseModel(next, client, id, argument));
	if (name === 'attach') return () => attachFile(next, argument);
	if (argument !== '') return undefined;
	if (name === 'help') return async () => print('dim', commandUsage);
	if (name === 'sessions') return () => printSessions(client);
	if (name === 'trace') return () => printTurns(client, id);
	if (name === 'changes') return () => printChanges(client, id);
	return name === 'tasks' ? () => printAllTasks(client, id) : undefined;
}

async function printFiles(client: SessionClient, id: string): Promise<void> {
	const { files, cursor } = await client.listFiles(id, { limit: mostFiles });
	const width = Math.min(60, Math.max(0, ...files.map(({ path }) => path.length)));
	for (const { path, size } of files) printText(`${path.padEnd(width)}  ${describeSize(size)}\n`);
	if (cursor !== undefined) print('dim', `These are the first ${mostFiles}.`);
	if (files.length === 0) print('dim', 'This session has no files.');
}

async function printFile(client: SessionClient, id: string, path: string): Promise<void> {
	const file = await client.readFile(id, path);
	const bytes = new Uint8Array(await file.arrayBuffer());
	const text = toFileText(bytes);
	if (text !== undefined) return printText(text);
	print('yellow', `${path} is no text (${describeSize(bytes.length)}). The page downloads it.`);
}

async function printChanges(client: SessionClient, id: string): Promise<void> {
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

async function printAllTasks(client: SessionClient, id: string): Promise<void> {
	const lists = await client.listTasks(id);
	for (const list of lists) printTasks(list);
	if (lists.length === 0) print('dim', 'There are no lists of tasks.');
}

/** The maximum number of printed sessions. */
const mostSessions = 20;

async function printSessions(client: SessionClient): Promise<void> {
	const { sessions } = await client.listSessions({ limit: mostSessions });
	for (const { id, title = 'No message yet', agent, lastActivityAt } of sessions)
		printText(`${id}  ${lastActivityAt.slice(0, 16).replace('T', ' ')}  ${agent}: ${toOneLine(title)}\n`);
}

async function printBudget(client: SessionClient, id: string): Promise<void> {
	const { budget, dayBudget } = await client.getSession(id);
	printText(`${describeBudget(budget)}\n`);
	if (dayBudget !== undefined) print('dim', `Today: ${describeBudget(dayBudget)}`);
}

/** Describes the spending and the budget: `$0.01 of $0.05 · 1,156 tokens`. */
export function describeBudget({ limit, spent }: Session['budget']): string {
	const tokens = `${spent.tokens.toLocaleString('en')} tokens`;
	const most = limit.tokens === undefined ? '' : ` of ${limit.tokens.toLocaleString('en')}`;
	if (limit.usd !== undefined) return `${toCents(spent.usd)} of ${formatDollars(limit.usd)} · ${tokens}${most}`;
	const cost = spent.usd > 0 ? ` (${toCents(spent.usd)})` : '';
	return `${tokens}${most === '' ? ' without a cap' : most}${cost}`;
}

function toCents(usd: number): string {
	return usd === 0 ? '$0.00' : describeMoney({ tokens: 0, usd });
}

async function setBudget(client: SessionClient, id: string, text: string): Promise<void> {
	const tokens = Number(text.replaceAll(/[_,]/g, ''));
	if (!Number.isSafeInteger(tokens) || tokens < 0)
		throw new ClientError('invalid_argument', `/budget: ${text} is no number of tokens.`);
	const { budget } = await client.getSession(id);
	await client.changeSession(id, { budget: { ...budget.limit, tokens } });
	await printBudget(client, id);
}

async function printTurns(client: SessionClient, id: string): Promise<void> {
	const messages = await client.listMessages(id);
	let count = 0;
	for (const message of messages) {
		if (message.role !== 'assistant' || message.turn === undefined) continue;
		count += 1;
		const { model, usage } = message.turn;
		const seconds = ((usage.latencyMs ?? 0) / 1_000).toFixed(1);
		const called = (message.toolCalls ?? []).map(({ name }) => name).join(', ');
		printText(`${count}. ${model}  ${seconds} s  ${describeUsage(usage)}${called === '' ? '' : `  → ${called}`}\n`);
	}
	if (count === 0) print('dim', 'The model has had no turn yet.');
}
