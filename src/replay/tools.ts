/** The tools of a replay. Recorded results take the place of their functions. */

import { findChildWork } from '../cloudflare/agent/children.ts';
import { findMemoryOptions, listMemoryTools, type RecallingSession } from '../cloudflare/agent/memory.ts';
import { createMemoryTools } from '../cloudflare/memory/tools.ts';
import type { SentTool, Setup } from '../cloudflare/session/store/setup.ts';
import { dropUndefined, isRecord } from '../core/base/json.ts';
import {
	askUser,
	type chat,
	halt,
	RunletError,
	type SkillResolver,
	type Tool,
	type ToolContext,
} from '../core/index.ts';
import { replaceSkillTools } from '../core/skill/replace-tools.ts';
import { parts, providerName } from '../core/tool/index.ts';
import { copyData } from '../core/tool/state.ts';
import { findDifference } from './divergence.ts';
import type { RecordedReply, RecordedResult } from './history.ts';
import type { RecordedRun } from './recording.ts';
import type { ReplayedSession } from './session.ts';
import type { RecordedCalls, Tape } from './tape.ts';

/** Returns a tool whose calls get their recorded results. A tool without a function stays as it is. */
function answerFrom(recorded: RecordedCalls, tool: Tool, hooks: ReplayedSession['hooks'] = 'run'): Tool {
	if (tool.fn === undefined || tool.manual === true) return tool;
	const answer = (context: ToolContext) => replayResult(recorded, tool.name, context);
	const onAnswer: Tool['onAnswer'] = (_, __, context) => answer(context);
	const isQuiet = hooks === 'skip' || findChildWork(tool) !== undefined;
	return {
		...tool,
		passInput: true,
		fn: (_: unknown, context: ToolContext) => answer(context),
		onAnswer,
		// A session makes its own notes about a child.
		...(isQuiet && { onRequest: undefined, onResult: undefined, onError: () => 'ignore' }),
	};
}

const refuse = (): never => {
	throw new RunletError('not_configured', 'A replay has no platform.');
};

/** `isAvailable` only looks whether there is a platform. No call reaches it. */
const platform: Partial<ToolContext> = {
	wakeups: { set: refuse, list: refuse, cancel: refuse },
	shell: { run: refuse },
	web: {},
};

/**
 * Returns a tool that is also available without its platform: wake-ups, a shell and the web. `wasSent` is whether the
 * recorded model was sent the tool.
 */
export function offerWithoutPlatform(tool: Tool, wasSent: boolean): Tool {
	const { isAvailable } = tool;
	if (isAvailable === undefined || !wasSent) return tool;
	return { ...tool, isAvailable: (context) => isAvailable.call(tool, { ...platform, ...dropUndefined(context) }) };
}

async function replayResult(recorded: RecordedCalls, tool: string, { callId, state }: ToolContext): Promise<unknown> {
	const found = recorded.findResult(callId);
	if (found === undefined) {
		const question = recorded.findQuestion(callId);
		return question === undefined ? recorded.onUnknown(tool, callId) : askUser(question.question, question.options);
	}
	return giveResult(found, state);
}

/** Gives a recorded result as the result of a tool: changes the state, and halts, fails or shows parts as recorded. */
export async function giveResult(
	{ content, isError, parts: given, stored = {} }: RecordedResult,
	state: ToolContext['state'],
): Promise<unknown> {
	for (const [key, ...value] of stored.changes ?? []) {
		if (value.length === 0) await state.delete(key);
		else await state.set(key, copyData(value[0]));
	}
	// A refusal keeps its text.
	if (isError === true) throw new RunletError('invalid_argument', String(content));
	if (given !== undefined) return parts(given);
	return stored.haltedReason === undefined ? copyData(content) : halt(stored.haltedReason, copyData(content));
}

/** Returns the setup of the next reply. Without a next reply, returns that of the turn that the run continues. */
function findSetup(
	{ setups, recording: { messages } }: ReplayedSession,
	{ stored: { firstMessage } }: RecordedRun,
	next: RecordedReply | undefined,
): Setup {
	const before = () =>
		messages.findLast(({ id, role }) => role === 'assistant' && Number(id) <= Number(firstMessage))?.id ?? '';
	return setups.get(next?.id ?? before()) ?? {};
}

/** Returns the tools of today, with recorded results. Tools from servers, owners and clients are as recorded. */
export function offerTools(
	session: ReplayedSession,
	run: RecordedRun,
	tape: Tape,
	resolver: SkillResolver | undefined,
): Pick<chat.ChatOptions, 'tools' | 'skillTools' | 'loadTools' | 'skillResolver'> {
	const { agent, recording, answersOf } = session;
	const { calls } = tape;
	const { clientTools = [], owner, user } = recording.session;
	const findSent = () => findSetup(session, run, tape.next);
	const waiting = listWaiting(run, tape.replies);
	const names = new Set(findSent().tools?.map(({ name }) => name));
	const answer = (tool: Tool): Tool => {
		const how = answersOf(tool.name);
		if (how === 'live') return tool;
		const offered = offerWithoutPlatform(tool, names.has(providerName(tool.name)));
		return how === 'recorded' ? answerFrom(calls, offered, session.hooks) : { ...offered, passInput: true, fn: how };
	};
	const remembers = listMemoryTools(agent).some((name) => names.has(name));
	const memory = remembers ? createMemory(session, { owner, user }) : [];
	return {
		tools: [
			...agent.tools.map(answer),
			...memory.map((tool) => waitAsRecorded(answerFrom(calls, tool), waiting)),
			...clientTools.map((tool) => ({ ...tool, manual: true })),
		],
		skillTools: agent.skillTools.map(answer),
		skillResolver: replaceSkillTools(resolver, answer),
		loadTools: createLoader(session, calls, { findSent, waiting }),
	};
}

interface Waiting {
	readonly name: string;
	readonly input: unknown;
}

/** The calls of a run that waited for an approval. */
function listWaiting({ stored: { end } }: RecordedRun, replies: readonly RecordedReply[]): readonly Waiting[] {
	const calls = end?.event.type === 'awaiting' ? (end.event.toolCalls ?? []) : [];
	const ids = new Set(calls.flatMap(({ id, kind }) => (kind === 'approval' ? [id] : [])));
	return replies.at(-1)?.toolCalls?.filter(({ id }) => ids.has(id)) ?? [];
}

/** Creates the loader of the tools that came from servers and from the owner, as each turn was sent them. */
function createLoader(
	{ recording }: ReplayedSession,
	calls: RecordedCalls,
	{ findSent, waiting }: { readonly findSent: () => Setup; readonly waiting: readonly Waiting[] },
): NonNullable<chat.ChatOptions['loadTools']> {
	const byClient = new Set(recording.session.clientTools?.map(({ name }) => name));
	return () =>
		(findSent().tools ?? [])
			.filter(({ name, isLoaded }) => isLoaded === true && !byClient.has(name))
			.map((tool) => waitAsRecorded(answerFrom(calls, toTool(tool)), waiting));
}

/** Returns a tool whose calls need an approval where they waited for one. */
function waitAsRecorded(tool: Tool, waiting: readonly Waiting[]): Tool {
	const isEqual = (input: unknown, args: unknown) => findDifference(input, args) === undefined;
	return {
		...tool,
		needsApproval: (args) => waiting.some(({ name, input }) => name === tool.name && isEqual(input, args)),
	};
}

/** Makes a tool of what a recorded model was sent. */
export function toTool({ name, description, inputSchema }: SentTool): Tool {
	return { name, description, inputSchema: isRecord(inputSchema) ? inputSchema : {}, fn: () => undefined };
}

/** Makes the memory tools of an agent. Their calls get recorded results, so no memory is read or written. */
export function createMemory(
	{ agent }: Pick<ReplayedSession, 'agent'>,
	holder: RecallingSession['holder'],
): readonly Tool[] {
	const options = findMemoryOptions(agent);
	if (options === undefined) return [];
	// Only the functions of the tools reach the memories, and recorded results take their place.
	const config = { memories: { idFromName: refuse, get: refuse } };
	return createMemoryTools({
		options,
		config,
		holder,
		agent: agent.name,
		holdsOutsideText: () => true,
		noteOutsideText: () => {},
	});
}
