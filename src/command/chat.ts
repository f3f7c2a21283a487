/** `runlet chat`: a chat in the terminal with an agent of a running Runlet. */

import { createInterface } from 'node:readline';
import {
	ClientError,
	createClient,
	type RunEvent,
	type Session,
	type SessionClient,
	type WaitingCall,
} from '../client/index.ts';
import { createAnsweredError, findAnswered, isWaitingFor, type Question } from '../client/waits.ts';
import { toText } from '../client/words.ts';
import { toMessageText } from '../core/base/errors.ts';
import { printCall, printQuestion, toAnswer, toAnswerText } from './chat/card.ts';
import { type Conversation, commandUsage, completeCommand, findCommand } from './chat/commands.ts';
import type { NextMessage } from './chat/next-message.ts';
import { endLine, print, showWait, toOneLine } from './chat/print.ts';
import { createPrompt } from './chat/prompt.ts';
import { type Calls, createCalls, createWriter } from './chat/terminal.ts';
import { assertNotTakenByNpm, parseOptions, UsageError } from './options.ts';
import { toCommand } from './project.ts';

export const usage = `${toCommand('chat', '[OPTIONS] [MESSAGE]')}

Without a message: a conversation. With one: its answer, and the end. Where the input is
no terminal, each line of it is a message.

  --agent NAME    the agent to talk to (default: the first that the server has)
  --model NAME    one of the models that the agent may run on (default: its first)
  --session ID    go on with a session
  --key KEY       an API key, where Runlet wants one (default: RUNLET_API_KEY)
  --url URL       where Runlet is (default: RUNLET_URL, else http://127.0.0.1:8787)
  --help          this text

In a conversation these lines are commands:
${commandUsage}

A call that waits is answered by a (allow), d (deny), or the reason to deny it.
Alt-Enter begins a new line, and a pasted text of several lines is one message.
The arrow keys go through earlier lines, which are kept on this machine.
Ctrl-C stops an answer; at the prompt, or pressed again, it leaves.
The answer goes to standard output, everything else to standard error.`;

const defaultUrl = 'http://127.0.0.1:8787';

/** A second interrupt within this time belongs to the same key press, because npm sends the interrupt again. */
const samePressMs = 200;

interface Chat extends Conversation {
	readonly url: string;
	session: Session;
	state: 'idle' | 'running' | 'stopping';
	/** Whether the connection is lost, and was not made again. */
	isLost: boolean;
	/** The calls that wait for the person. The next line answers the first call. */
	open: readonly WaitingCall[];
	/** The question that the next line answers, if there are no open calls. */
	question?: Question;
	next: NextMessage;
	/** The calls of the session that have no result yet. */
	calls: Calls;
}

export async function run(args: readonly string[]): Promise<number> {
	const { values, positionals } = readArguments(args);
	if (values.help) {
		console.log(usage);
		return 0;
	}
	const url = (values.url ?? process.env.RUNLET_URL ?? defaultUrl).replace(/\/+$/, '');
	if (values.session && (values.agent || values.model))
		throw new UsageError('--session and --agent or --model exclude each other: a session keeps both.');
	if (!URL.canParse(url)) throw new UsageError(`--url: ${url} is not a URL.`);
	const apiKey = values.key ?? process.env.RUNLET_API_KEY;
	let chat: Chat | undefined;
	const client = createClient({
		baseUrl: url,
		apiKey,
		onRetry: (retry) => {
			if (chat === undefined || chat.state === 'idle' || chat.isLost || retry > 1) return;
			chat.isLost = true;
			print('dim', 'Connection lost. Trying again…');
			showWait('trying to connect');
		},
	});
	try {
		const session = values.session
			? await client.getSession(values.session)
			: await createSession(client, values.agent, values.model);
		chat = createChat(client, url, session);
		if (positionals.length > 0) return await sayAll(chat, [positionals.join(' ')]);
		if (!process.stdin.isTTY) return await sayAll(chat, createInterface({ input: process.stdin }));
		return await converse(chat, values.session !== undefined);
	} catch (error) {
		if (!(error instanceof ClientError)) throw error;
		const remedy = error.status === 401 && !apiKey ? '\nGive --key rl_…, or export RUNLET_API_KEY=rl_…' : '';
		throw new UsageError(`${describeError(error, url)}${remedy}`);
	}
}

function readArguments(args: readonly string[]) {
	try {
		assertNotTakenByNpm(['agent', 'model', 'session', 'key', 'url']);
		const text = { type: 'string' } as const;
		return parseOptions(toCommand('chat', '--help'), {
			args: [...args],
			options: { agent: text, model: text, session: text, key: text, url: text, help: { type: 'boolean', short: 'h' } },
			allowPositionals: true,
		});
	} catch (error) {
		throw new UsageError(toMessageText(error));
	}
}

function createChat(client: SessionClient, url: string, session: Session): Chat {
	const chat: Chat = {
		...{ client, url, session, state: 'idle', isLost: false, open: [], next: { files: [] }, calls: createCalls() },
		enter: (entered, isShown) => enter(chat, entered, isShown),
		show: (events) => show(chat, events),
		leave: () => leave(chat, 0),
	};
	return chat;
}

async function createSession(client: SessionClient, name?: string, model?: string): Promise<Session> {
	const agent = name ?? (await client.listAgents())[0]?.name;
	if (agent === undefined) throw new UsageError('This server has no agent to talk to.');
	return client.createSession({ agent, model });
}

/** Sends the messages in order, without a prompt. Stops after the first message without an answer. */
async function sayAll(chat: Chat, messages: Iterable<string> | AsyncIterable<string>): Promise<number> {
	process.on('SIGINT', onInterrupt(chat));
	for await (const message of messages) {
		if (message.trim() === '') continue;
		const isDone = await carryOut(chat, message);
		await ask(chat);
		if (!isDone) return 1;
	}
	printWayOn(chat);
	return 0;
}

/** Prints how to continue a session that waits for a person. */
function printWayOn({ open, question, session, url }: Chat): void {
	if (open.length === 0 && question === undefined) return;
	const isApproval = open.some(({ kind }) => kind === 'approval');
	const inbox = isApproval ? `, or the inbox at ${url}/#/inbox` : '';
	print('dim', `${isApproval ? 'Allow' : 'Answer'} it: ${toChatCommand(session, url)}${inbox}`);
}

function toChatCommand({ id }: Session, url: string): string {
	return toCommand('chat', `--session ${id}${url === defaultUrl ? '' : ` --url ${url}`}`);
}

async function converse(chat: Chat, isKnown: boolean): Promise<number> {
	const prompt = createPrompt(process.stdin, process.stdout, {
		isTerminal: process.stdout.isTTY,
		complete: completeCommand,
	});
	const interrupt = onInterrupt(chat);
	prompt.onInterrupt(interrupt);
	process.on('SIGINT', interrupt);
	await enter(chat, chat.session, isKnown);
	print('dim', '/help lists the commands · Ctrl-C stops an answer, or leaves');
	for (;;) {
		// Nobody can have meant a call that was not shown yet.
		if (await ask(chat))
			for (const line of prompt.drop()) print('yellow', `Not sent, because this waits: ${toOneLine(line, 60)}`);
		print('dim', '');
		const line = await prompt.next();
		if (line === undefined) return leave(chat, 0);
		if (line.trim() !== '') await carryOut(chat, line);
	}
}

/** Goes on in a session. With `isShown`, shows its newest message and run. */
async function enter(chat: Chat, session: Session, isShown = false): Promise<boolean> {
	Object.assign(chat, { session, calls: createCalls() });
	delete chat.next.model;
	print(
		'dim',
		`${session.agent}${session.model ? ` (${session.model})` : ''}${session.title ? `: ${toOneLine(session.title, 60)}` : ''}`,
	);
	wait(chat, session);
	if (!isShown) return true;
	const { messages, from } = await chat.client.loadSession(session.id, { newest: 20 });
	const last = messages.findLast(({ isInput }) => isInput === true);
	if (last) print('dim', `\n› ${toText(last.content)}`);
	const isDone = await show(chat, chat.client.followRun(session.id, { from }));
	wait(chat, await chat.client.getSession(session.id));
	return isDone;
}

/** Shows the call or the question that the next line answers. Returns whether there is one. */
async function ask({ client, open, question, session: known }: Chat): Promise<boolean> {
	const [call] = open;
	if (call === undefined && question === undefined) return false;
	const session = await client.getSession(known.id).catch(() => known);
	if (call) printCall(call, session, open.length);
	else if (question) printQuestion(question, session);
	return true;
}

/** Stores the calls that a session waits for. */
function wait(chat: Chat, { toolCalls = [], question }: Pick<Session, 'toolCalls' | 'question'>): void {
	chat.open = toolCalls;
	chat.question = question;
}

/** Prints why a request failed, and returns false. Throws other errors. */
function showFailure({ url }: Chat, error: unknown): false {
	if (!(error instanceof ClientError)) throw error;
	print('red', describeError(error, url));
	return false;
}

/** Carries out a command, or sends the line. If that fails, shows the reason and returns false. */
async function carryOut(chat: Chat, line: string): Promise<boolean> {
	try {
		const command = findCommand(line);
		return command === undefined ? await show(chat, sayLine(chat, line)) : (await command(chat)) !== false;
	} catch (error) {
		return showFailure(chat, error);
	} finally {
		endLine();
	}
}

/** Sends a line as the answer to the first open call, as the answer to the question, or as a message. */
async function* sayLine(chat: Chat, line: string): AsyncGenerator<RunEvent> {
	const [call, ...rest] = chat.open;
	const { client, session, question } = chat;
	const answered = call?.id ?? (question && findAnswered(question));
	try {
		if (call === undefined) return yield* sendMessage(chat, question ? toAnswerText(question, line) : line, answered);
		const answer = toAnswer(call, line);
		chat.open = rest;
		yield* client.submitResults(session.id, [answer]);
	} catch (error) {
		throw error instanceof ClientError && error.code === 'conflict'
			? await explainRefusal(chat, error, answered)
			: error;
	}
}

/** Sends a message with the attached files. The files stay attached if the server refuses the message. */
async function* sendMessage(chat: Chat, text: string, callId: string | undefined): AsyncGenerator<RunEvent> {
	const { client, session, next } = chat;
	const message = { text, model: next.model, attachments: next.files.length > 0 ? [...next.files] : undefined };
	const events =
		callId === undefined
			? client.sendMessage(session.id, message)
			: client.answerQuestion(session.id, { ...message, callId });
	for await (const event of events) {
		next.files = [];
		yield event;
	}
}

/** Reads again what the session waits for, and returns the reason why the session refused an answer. */
async function explainRefusal(chat: Chat, error: ClientError, answered: string | undefined): Promise<ClientError> {
	const session = await chat.client.getSession(chat.session.id).catch(() => undefined);
	if (session === undefined) return error;
	wait(chat, session);
	return answered === undefined || isWaitingFor(session, answered) ? error : createAnsweredError();
}

/** The first interrupt during a run cancels the run on the server. Any other interrupt ends the chat. */
function onInterrupt(chat: Chat): () => void {
	let last = Number.NEGATIVE_INFINITY;
	return () => {
		const elapsed = performance.now() - last;
		last = performance.now();
		if (elapsed < samePressMs) return;
		if (chat.state === 'idle') leave(chat, process.stdin.isTTY ? 0 : 130);
		if (chat.state === 'stopping') leave(chat, 130);
		chat.state = 'stopping';
		print('dim', 'Stopping…');
		chat.client.cancelRun(chat.session.id).catch((error: ClientError) => print('red', describeError(error, chat.url)));
	};
}

function leave({ session, url }: Chat, exitCode: number): never {
	print('dim', `\nCome back with: ${toChatCommand(session, url)}`);
	process.exit(exitCode);
}

/** Shows a run while it happens. If it fails, shows the reason and returns false. */
async function show(chat: Chat, events: AsyncIterable<RunEvent>): Promise<boolean> {
	const writer = createWriter(chat.calls);
	chat.state = 'running';
	try {
		for await (const event of events) {
			if (chat.isLost) print('dim', 'Connected again.');
			chat.isLost = false;
			wait(chat, event.type === 'awaiting' ? event : {});
			writer.write(event);
		}
		return !writer.hasFailed();
	} catch (error) {
		return showFailure(chat, error);
	} finally {
		writer.end();
		endLine();
		chat.state = 'idle';
		chat.isLost = false;
	}
}

function describeError(error: ClientError, url: string): string {
	if (error.code === 'unreachable')
		return `Nothing answers at ${url}. Start it with \`${toCommand('dev')}\`, or give --url.`;
	if (error.code === 'connection_lost') return `${error.message} /resume takes it up again.`;
	return error.status === undefined ? error.message : `${error.message} (${error.code})`;
}
