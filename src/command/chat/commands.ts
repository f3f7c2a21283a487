/** The commands of `runlet chat`, such as /files. */

import {
	ClientError,
	type FileChange,
	type ListedSession,
	type RunEvent,
	type Session,
	type SessionBody,
	type SessionClient,
} from '../../client/index.ts';
import { describeMoney, describeSize, describeUsage } from '../../client/words.ts';
import { toFileText } from '../../core/base/bytes.ts';
import { findNearest, formatDollars } from '../../core/base/text.ts';
import { attachFile, chooseModel, type NextMessage, printModels } from './next-message.ts';
import { cut, print, printText, toOneLine } from './print.ts';
import { printDiff, printTasks } from './terminal.ts';

/** The part of a chat that a command reads or changes. */
export interface Conversation {
	readonly client: SessionClient;
	readonly session: Session;
	readonly next: NextMessage;
	/** The sessions that were listed last. Their numbers name them. */
	listed?: readonly ListedSession[];
	/** Goes on in another session. With `isShown`, shows the newest run of the session. */
	enter(session: Session, isShown?: boolean): Promise<boolean>;
	/** Shows a run. Returns whether it succeeded. */
	show(events: AsyncIterable<RunEvent>): Promise<boolean>;
	leave(): never;
}

interface Command {
	/** What one types, and what it does. */
	readonly lines: readonly (readonly [form: string, about: string])[];
	/** Returns false if the command has failed and has said why. */
	run(chat: Conversation, argument: string): Promise<unknown>;
}

const commands: Readonly<Record<string, Command>> = {
	help: { lines: [['', 'these lines']], run: async () => print('dim', commandUsage) },
	new: {
		lines: [['', 'a new session with this agent']],
		run: (chat) => enterNew(chat, { agent: chat.session.agent }),
	},
	agent: {
		lines: [
			['', 'the agents'],
			['NAME', 'a new session with another agent'],
		],
		run: (chat, name) => (name === '' ? printAgents(chat) : enterNew(chat, { agent: name })),
	},
	sessions: { lines: [['', 'the newest sessions, with numbers']], run: (chat) => printSessions(chat) },
	resume: { lines: [['N', 'goes on with a session: its number or its id']], run: resume },
	retry: { lines: [['', 'continues a run that failed, or asks again']], run: retry },
	fork: { lines: [['', 'goes on in a copy of the session']], run: fork },
	model: {
		lines: [
			['', 'the models that the agent may run on'],
			['NAME', 'has another model answer from now on'],
		],
		run: ({ next, client, session: { id } }, name) =>
			name === '' ? printModels(next, client, id) : chooseModel(next, client, id, name),
	},
	attach: {
		lines: [['PATH', 'sends a file of this machine with the next message']],
		run: ({ next }, path) => attachFile(next, path),
	},
	budget: {
		lines: [
			['', 'what the session has spent of its budget'],
			['TOKENS', 'lets it spend so many tokens in all'],
		],
		run: ({ client, session: { id } }, tokens) =>
			tokens === '' ? printBudget(client, id) : setBudget(client, id, tokens),
	},
	trace: {
		lines: [['', 'what each turn took and cost']],
		run: ({ client, session }) => printTurns(client, session.id),
	},
	files: {
		lines: [
			['', 'the files of the session, with their sizes'],
			['PATH', 'prints a text file'],
		],
		run: ({ client, session: { id } }, path) => (path === '' ? printFiles(client, id) : printFile(client, id, path)),
	},
	changes: {
		lines: [['', 'what changed in the files, with diffs']],
		run: ({ client, session }) => printChanges(client, session.id),
	},
	tasks: { lines: [['', 'the lists of tasks']], run: ({ client, session }) => printAllTasks(client, session.id) },
	quit: { lines: [['', 'leaves, as Ctrl-C does']], run: async (chat) => chat.leave() },
};

/** The help text of the commands. */
export const commandUsage = Object.entries(commands)
	.flatMap(([name, { lines }]) => lines.map(([form, about]) => `  ${`/${name} ${form}`.padEnd(16)}${about}`))
	.join('\n');

/** The maximum number of printed files and changes. */
const mostFiles = 500;
const mostChanges = 20;

/**
 * Returns the action of a command, or undefined if the line is a message, such as `/etc/hosts has no entry`. Throws for an
 * unknown command.
 */
export function findCommand(line: string): ((chat: Conversation) => Promise<unknown>) | undefined {
	const [, name, argument = ''] = /^\/([a-z]+)(?:\s+(\S.*?))?\s*$/is.exec(line) ?? [];
	if (name === undefined) return undefined;
	const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
	if (command === undefined)
		throw refuse(name, `there is no such command.${describeNearest(name, Object.keys(commands))}`);
	if (argument !== '' && command.lines.every(([form]) => form === ''))
		throw refuse(name, 'nothing may stand behind it.');
	return (chat) => command.run(chat, argument);
}

function refuse(name: string, words: string): ClientError {
	const help = '/help lists the commands. To send this as a message, begin with a space.';
	return new ClientError('invalid_argument', `/${name}: ${words} ${help}`);
}

function describeNearest(word: string, names: readonly string[]): string {
	const meant = findNearest(word, names);
	return meant === undefined ? '' : ` Did you mean /${meant}?`;
}

/** Completes the name of a command. */
export function completeCommand(line: string): readonly string[] {
	const forms = Object.keys(commands).map((name) => `/${name} `);
	return line.startsWith('/') ? forms.filter((form) => form.startsWith(line)) : [];
}

async function printAgents({ client, session }: Conversation): Promise<void> {
	for (const { name, description } of await client.listAgents())
		printText(`${cut(`${name === session.agent ? '*' : ' '} ${name}  ${toOneLine(description)}`)}\n`);
}

async function enterNew(chat: Conversation, body: SessionBody): Promise<boolean> {
	return chat.enter(await chat.client.createSession(body));
}

async function resume(chat: Conversation, which: string): Promise<boolean> {
	const { client, session } = chat;
	if (which === '') return chat.enter(await client.getSession(session.id), true);
	const isNumber = /^\d{1,3}$/.test(which);
	const listed = isNumber ? (chat.listed ?? (await listSessions(client))) : [];
	const id = isNumber ? listed[Number(which) - 1]?.id : which;
	if (id === undefined)
		throw new ClientError(
			'invalid_argument',
			`/resume: ${which} is none of ${listed.length} sessions. /sessions lists them.`,
		);
	return chat.enter(await client.getSession(id), true);
}

/** Continues the run if that is possible, else asks the newest message of a person again. */
async function retry({ client, show, session: { id } }: Conversation): Promise<boolean> {
	const { run } = await client.getSession(id);
	if (run?.status === 'error' || run?.status === 'halted') return show(client.continueRun(id));
	for (let before: string | undefined; ; ) {
		const { messages, cursor } = await client.listEarlier(id, { before, limit: 20 });
		const asked = messages.findLast(({ role, isInput }) => role === 'user' && isInput === true);
		if (asked !== undefined) return show(client.sendMessage(id, { replaces: asked.id }));
		if (cursor === undefined) throw new ClientError('invalid_argument', '/retry: this session has no message yet.');
		before = cursor;
	}
}

async function fork(chat: Conversation): Promise<boolean> {
	const { client, session } = chat;
	const copy = await client.forkSession(session.id);
	print('dim', `This is a copy from now on. Back to the first one: /resume ${session.id}`);
	return chat.enter(copy);
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

/** The maximum number of listed sessions. */
const mostSessions = 20;

async function listSessions(client: SessionClient): Promise<readonly ListedSession[]> {
	return (await client.listSessions({ limit: mostSessions })).sessions;
}

async function printSessions(chat: Conversation): Promise<void> {
	chat.listed = await listSessions(chat.client);
	for (const [at, { id, title = 'No message yet', agent, lastActivityAt }] of chat.listed.entries()) {
		const mark = id === chat.session.id ? '*' : ' ';
		const time = lastActivityAt.slice(0, 16).replace('T', ' ');
		printText(`${cut(`${mark}${String(at + 1).padStart(3)}. ${time}  ${agent}: ${toOneLine(title)}`)}\n`);
	}
	print('dim', 'Go on with one: /resume N');
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
