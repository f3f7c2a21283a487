import type { CallToolResult, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server';
import * as v from 'valibot';
import { RunletError } from '../../../core/base/errors.ts';
import type { CallAnswer } from '../../../core/chat/call-answers.ts';
import type { Question, RunEvent, WaitingCall } from '../../../core/chat/index.ts';
import { readArguments } from '../../../core/tool/invoke.ts';
import { isTooLongToShow } from '../../agent/arguments.ts';
import { findAskedCall } from '../../agent/child-decision.ts';
import { readLines } from '../../objects/outside-call.ts';
import type { Bytes, RpcResult } from '../../objects/reach.ts';
import type { Handling, RunOutcome, SessionApi, SessionState } from '../../objects/session-api.ts';
import type { ToolSession } from '../../routes/tool-session.ts';
import { askClient, type ClientQuestion, canElicit, readAnswer, toAnswerKind } from './elicit.ts';
import { createInvalid } from './failure.ts';
import { createTell, type Tell, textResult } from './result.ts';
import type { RunShown, RunTool } from './run-tools.ts';
import type { ServedAgent } from './served.ts';

type Answer = CallToolResult | InputRequiredResult;

const given = v.object({ text: v.optional(v.string(), ''), session: v.optional(v.string()) });

const format = { type: 'mcp' } as const;

function toStream({ origin }: ServedAgent): Handling {
	return { delivery: 'stream', format, origin };
}

/** Wrong arguments give a result that tells the model what to change. */
export async function callRunTool(
	served: ServedAgent,
	{ operation, tool }: RunTool,
	input: unknown,
	ctx: ServerContext,
): Promise<Answer> {
	const read = await readArguments(tool, input);
	if (!read.ok) return textResult(read.error.message, true);
	const { text, session: name } = v.parse(given, read.value);
	if (operation === 'start') return start(served, await openSession(served, name), text);
	if (operation === 'ask') return ask(served, { name, text }, tool.name, ctx);
	const session = await openSession(served, name);
	if (operation === 'cancel') await session.ask((one) => one.cancel(served.caller), true);
	return toResult(await look(served, session, ctx));
}

/** Opens the session that the request or the address names, or a new one. Throws `not_found` for a foreign session. */
async function openSession(served: ServedAgent, name: string | undefined): Promise<ToolSession> {
	const session = served.findSession(name ?? served.sessionName);
	if (session.create === undefined) await readState(served, session);
	return session;
}

async function readState({ agent, caller }: ServedAgent, session: ToolSession): Promise<SessionState> {
	const state = await session.ask((one) => one.state(caller), true);
	if (state.agent !== agent.name) throw new RunletError('not_found', 'There is no such session.');
	return state;
}

async function start({ caller, origin }: ServedAgent, session: ToolSession, text: string): Promise<Answer> {
	const input = { text, transport: 'mcp', create: session.create };
	const outcome = await session.ask((one) => one.send(caller, input, { delivery: 'accepted', origin }), false);
	if (outcome.kind !== 'accepted') throw new Error(`A session answered a message by ${outcome.kind}.`);
	const { runId } = outcome;
	return toResult(
		{ sessionId: session.id, runId, status: 'running' },
		`Started. agent_get with session ${session.id} has the answer when it is done.`,
	);
}

/** Sends a message, or the answers to an earlier round, and follows the run. */
async function ask(
	served: ServedAgent,
	{ name, text }: { readonly name: string | undefined; readonly text: string },
	tool: string,
	ctx: ServerContext,
): Promise<Answer> {
	const { caller } = served;
	const state = ctx.mcpReq.requestState<string>();
	if (state !== undefined) return goOn(served, state, tool, ctx);
	const session = await openSession(served, name);
	const input = { text, transport: 'mcp', create: session.create };
	return followRun(served, session, (one) => one.send(caller, input, toStream(served)), { tool, ctx });
}

/** The state names a question's session and run. The next request must come from the same owner. */
const stateForm = /^run\.([0-9a-f]{64})\.([\w-]{1,100})$/;

async function goOn(served: ServedAgent, state: string, tool: string, ctx: ServerContext): Promise<Answer> {
	const { caller } = served;
	const [, id, runId] = stateForm.exec(state) ?? [];
	if (id === undefined || runId === undefined) throw createInvalid('requestState: not one of this server.');
	const session = served.findSession(id);
	const { run, question, toolCalls = [] } = await readState(served, session);
	if (run?.id !== runId || (question === undefined && toolCalls.length === 0))
		throw createInvalid('requestState: this run does not wait for an answer any more. See agent_get.');
	const questions = listAsked(question, toolCalls);
	if (question !== undefined && findAskedCall(question) === undefined) {
		const reply = readAnswer(ctx, question.callId, toAnswerKind({ for: 'answer', options: question.options }));
		if (reply === undefined) return toResult(await look(served, session, ctx));
		const text = reply.gives === 'value' ? String(reply.value) : 'decline';
		const answer = { text, transport: 'mcp' };
		return followRun(served, session, (one) => one.answer(caller, answer, toStream(served)), { tool, ctx });
	}
	const answers = Object.entries(questions).flatMap(([key, { for: waitsFor }]): readonly CallAnswer[] => {
		const reply = readAnswer(ctx, key, waitsFor);
		if (reply === undefined) return [];
		if (waitsFor === 'approval') return [{ id: key, approve: reply.gives === 'permission' }];
		const refused = { id: key, output: 'A person declined to do this.', isError: true };
		return [reply.gives === 'value' ? { id: key, output: reply.value } : refused];
	});
	if (answers.length === 0) return toResult(await look(served, session, ctx));
	return followRun(served, session, (one) => one.submit(caller, answers, toStream(served)), { tool, ctx });
}

/** Follows a run to its end and reports its progress. The run continues without the client. */
async function followRun(
	served: ServedAgent,
	session: ToolSession,
	begin: (one: SessionApi) => Promise<RpcResult<RunOutcome>>,
	{ tool, ctx }: { readonly tool: string; readonly ctx: ServerContext },
): Promise<Answer> {
	const outcome = await session.ask(begin, false);
	if (outcome.kind !== 'stream') return toResult(await look(served, session, ctx));
	return toAnswer(await readRun(session.id, outcome.stream, ctx.mcpReq.signal, createTell(ctx, tool)), session, ctx);
}

interface Followed extends RunShown {
	readonly question?: Question;
	readonly toolCalls?: readonly WaitingCall[];
}

async function readRun(sessionId: string, bytes: Bytes, signal: AbortSignal, tell?: Tell): Promise<Followed> {
	let runId: string | undefined;
	let text = '';
	for await (const event of readLines<RunEvent>(bytes, signal)) {
		if (event.type === 'run.started') runId = event.runId;
		if (event.type === 'step') text = event.text;
		if (event.type === 'note') await tell?.(event.label, event.detail);
		if (event.type === 'tool_use_start') await tell?.('Calls', event.name);
		const end = toEnd(event);
		if (end !== undefined) return { sessionId, runId, ...(text !== '' && { text }), ...end };
	}
	return { sessionId, runId, status: 'running' };
}

function toEnd(event: RunEvent): (Partial<Followed> & Pick<Followed, 'status'>) | undefined {
	switch (event.type) {
		case 'done':
			return { status: 'completed', text: event.text, usage: { ...event.usage } };
		case 'awaiting':
			return { status: event.status, question: event.question, toolCalls: event.toolCalls };
		case 'halted':
			return { status: 'halted', text: event.reason };
		case 'cancelled':
			return { status: 'cancelled' };
		case 'error':
			return { status: 'error', error: { code: event.code, message: event.message } };
		default:
			return undefined;
	}
}

/** Returns the outcome of a run. If the run waits for a person and the client can ask, asks the person. */
function toAnswer({ question, toolCalls, ...shown }: Followed, session: ToolSession, ctx: ServerContext): Answer {
	const questions = listAsked(question, toolCalls);
	const isAsking = Object.keys(questions).length > 0 && shown.runId !== undefined;
	if (isAsking && canElicit(ctx)) return askClient(questions, `run.${session.id}.${shown.runId}`);
	return toResult({ ...shown, ...showPending(question, toolCalls) });
}

/** The maximum number of questions in a round. The next round has the remaining questions. */
const mostAsked = 8;

/**
 * Lists the questions for a person. The question of a tool comes first, because it stops the run. Leaves out a call
 * that is too long to show, which people decide in the session.
 */
function listAsked(
	question: Question | undefined,
	toolCalls: readonly WaitingCall[] = [],
): Readonly<Record<string, ClientQuestion>> {
	const decided = findAskedCall(question);
	if (question !== undefined && decided !== undefined) {
		const { call, flow, preview } = decided;
		if (isTooLongToShow(call.input)) return {};
		return { [question.callId]: { for: 'approval', tool: call.name, input: call.input, flow, preview } };
	}
	if (question !== undefined) {
		const { callId, question: text, options } = question;
		return { [callId]: { for: 'answer', tool: '', input: {}, question: text, options } };
	}
	const shown = toolCalls.filter(({ input }) => !isTooLongToShow(input)).slice(0, mostAsked);
	const calls = shown.map(({ id, name, kind, ...call }): readonly [string, ClientQuestion] => {
		return [id, { for: kind === 'approval' ? 'approval' : 'result', tool: name, ...call }];
	});
	return Object.fromEntries(calls);
}

function showPending(
	question: Question | undefined,
	toolCalls: readonly WaitingCall[] = [],
): Pick<RunShown, 'pending'> {
	const calls = toolCalls.map(({ id, name, input, kind = 'result' }) => ({
		callId: id,
		waitsFor: kind,
		tool: name,
		input,
	}));
	const questions = question === undefined ? [] : [{ ...question, waitsFor: 'answer' }];
	const pending = [...questions, ...calls];
	return pending.length === 0 ? {} : { pending };
}

/** Shows the state of a session, with the answer of its newest run if that run has ended. */
async function look(served: ServedAgent, session: ToolSession, { mcpReq }: ServerContext): Promise<RunShown> {
	const { caller } = served;
	const { status, run, error, question, toolCalls } = await readState(served, session);
	const about = { sessionId: session.id, runId: run?.id, status: run?.status ?? status };
	if (status === 'running' || run === undefined) return about;
	const events = await session.ask((one) => one.events(caller, undefined, format), true);
	const ended = events && (await readRun(session.id, events, mcpReq.signal));
	const { text, usage } = ended ?? {};
	return {
		...about,
		...(text !== undefined && { text }),
		...(usage && { usage }),
		...(error && { error }),
		...showPending(question, toolCalls),
	};
}

function toResult(shown: RunShown, text = describeRun(shown)): CallToolResult {
	const structuredContent = Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined));
	return { ...textResult(text, shown.status === 'error'), structuredContent };
}

function describeRun({ sessionId, status, text, error, pending }: RunShown): string {
	if (status === 'error') return error?.message ?? 'The run failed.';
	if (status === 'running') return `The agent works on it. Ask again with agent_get, session ${sessionId}.`;
	if (pending !== undefined) {
		const waits = pending.map((one) => JSON.stringify(one)).join('\n');
		const how = `A person answers it on the page, or over HTTP: POST /v1/sessions/${sessionId}/answer for a question, /tool-results for calls. Then agent_get, session ${sessionId}, has the answer.`;
		return [text, `The agent waits for a person:\n${waits}`, how].filter((one) => one !== undefined).join('\n\n');
	}
	return text ?? (status === 'cancelled' ? 'The run was stopped.' : `There is no answer (${status}).`);
}
