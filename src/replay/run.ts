import { type Agent, toChatOptions } from '../cloudflare/agent/define.ts';
import { findMemoryOptions, listMemoryTools, type RecallingSession } from '../cloudflare/agent/memory.ts';
import { findNamed, joinSkills } from '../cloudflare/agent/resolver.ts';
import { findResolver } from '../cloudflare/agent/skill-source.ts';
import { toActor, toActors } from '../cloudflare/auth/rights.ts';
import type { Config } from '../cloudflare/config/config.ts';
import { createMemoryTools } from '../cloudflare/memory/tools.ts';
import { type Inbound, InboundContext } from '../cloudflare/session/store/inbound.ts';
import { toTurnPlace } from '../cloudflare/session/store/messages.ts';
import { isRecord } from '../core/base/json.ts';
import { listOpenCalls } from '../core/chat/message.ts';
import { resolveRegistration } from '../core/chat/registry.ts';
import {
	chat,
	type Env,
	type Message,
	RunletError,
	type Skill,
	skill,
	type Tool,
	type Workspace,
} from '../core/index.ts';
import { anthropic, deepseek, gemini, groq, mistral, openai, xai } from '../core/providers/index.ts';
import { providerName } from '../core/tool/index.ts';
import type { StateStore } from '../core/tool/state.ts';
import { noEnv } from '../core/tool/tool.ts';
import { answerFrom, offerWithoutPlatform, type RecordedCalls, type ToolAnswers } from './answers.ts';
import type { ReplayClock } from './clock.ts';
import { findDifference } from './divergence.ts';
import { findRunMessages, type RecordedReply, type RecordedResult, toConversation, toSummaryText } from './history.ts';
import { findPlace, type RecordedMessage, type RecordedRun, type Recording } from './recording.ts';
import type { RecordedSetup, RecordedTool } from './setups.ts';

/** The session of a replay, over all its runs. */
export interface ReplayedSession {
	readonly recording: Recording;
	readonly agent: Agent;
	readonly setups: ReadonlyMap<string, RecordedSetup>;
	readonly env: Partial<Env>;
	readonly skills: readonly Skill[];
	/** Returns how the calls of a tool are answered. */
	readonly answersOf: (tool: string) => ToolAnswers;
	readonly state: StateStore;
	readonly workspace: Workspace;
	readonly clock: ReplayClock;
	/** Hides what a redacted recording replaced. */
	readonly mask: (value: unknown) => unknown;
}

/** What a replayed run produced, in the order of its events. */
export interface ReplayedRun {
	readonly replies: readonly Produced[];
	/** The results, by `toKey`. */
	readonly results: ReadonlyMap<string, Produced>;
	/** Runlet's own messages to the model, such as one about an invalid answer. */
	readonly repairs: readonly Produced[];
	readonly end: chat.TerminalEvent;
	/** Whether the replay was stopped where the recorded run was. */
	readonly isCutOff: boolean;
	/** Why the replay cannot go on: the model was asked, or a tool ran, where the recording has no answer. */
	readonly unknown?: { readonly what: 'model' | 'call'; readonly callId?: string; readonly tool?: string };
}

export interface Produced {
	readonly message: Message;
	readonly about: chat.MessageContext;
}

/** The key of a call's result. Calls of different turns may have the same id. */
export function toKey(turn: number, callId: string): string {
	return `${turn} ${callId}`;
}

/** Returns the place of the turn that a message belongs to. */
export function findTurn(message: RecordedMessage): number {
	return toTurnPlace(findPlace(message));
}

function findLastTurn(history: readonly RecordedMessage[]): number {
	const last = history.findLast(({ role }) => role === 'assistant');
	return last === undefined ? 0 : findPlace(last);
}

/** Runs an agent again over the recorded history, with the recorded replies of the model. */
export async function replayRun(session: ReplayedSession, run: RecordedRun): Promise<ReplayedRun> {
	const { recording, agent, clock, setups } = session;
	const { history, produced, summaries, steered } = findRunMessages(recording, run);
	const recorded = produced.filter((message) => message.role === 'assistant');
	const results = new Map(
		produced.flatMap((message) =>
			message.role === 'tool' ? [[toKey(findTurn(message), message.toolCallId), message]] : [],
		),
	);
	const stop = new AbortController();
	const replies: Produced[] = [];
	const given = new Map<string, Produced>();
	const repairs: Produced[] = [];
	let unknown: ReplayedRun['unknown'];
	let isCutOff = false;
	let asked = 0;
	let summed = 0;
	/** The turn whose calls run. */
	let turn = findLastTurn(history);
	const end = run.stored.end?.event;
	const leave = (found?: ReplayedRun['unknown']): never => {
		unknown ??= found;
		isCutOff ||= found === undefined;
		stop.abort();
		throw new RunletError('cancelled', 'The replay ends here.');
	};
	const calls: RecordedCalls = {
		findResult: (callId) => results.get(toKey(turn, callId)),
		findQuestion: (callId) => findQuestion(end, callId),
		onUnknown: (tool, callId) => leave(mayEndAnywhere(run) ? undefined : { what: 'call', callId, tool }),
	};
	const findSent = () => findSetup(setups, recorded[asked], recording, run);
	const waiting = listWaiting(run, recorded);
	const { tools, skillTools } = offerTools(session, calls, { setup: findSent(), waiting });
	const conversation = toConversation(history);
	const { owner, user, metadata = {}, id: sessionId, model: sessionModel } = recording.session;
	const inbound = createInbound(history, recording);
	const model = run.model ?? sessionModel;
	clock.set(run.createdAt);
	const started = chat.run(
		{
			...toChatOptions(agent),
			...run.stored.terms,
			model,
			fallbacks: [],
			maxRetries: 0,
			modelContextWindow: findWindow(model),
			tools,
			skillTools,
			loadTools: createLoader(session, calls, { findSent, waiting }),
			skillResolver: createResolver(session, inbound),
			skillContext: () => inbound.current,
			context: {
				...{ sessionId, runId: run.id, owner, user, metadata, env: { ...noEnv, ...session.env } },
				...{ state: session.state, workspace: session.workspace, askedBy: () => inbound.askedBy },
			},
			openCalls: findOpenCalls(recording, run, conversation, (id) => results.get(toKey(turn, id))),
			signal: stop.signal,
			chatStreamFn: async () => {
				const reply = recorded[asked++];
				if (reply === undefined) return leaveModel(run, leave);
				turn = findPlace(reply);
				clock.set(reply.createdAt);
				return toReply(reply);
			},
			chatFn: async () => {
				const summary = summaries[summed++];
				return summary === undefined
					? leaveModel(run, leave)
					: { text: toSummaryText(summary), stopReason: 'end_turn' };
			},
			steer: () => {
				const arrived = steered.get(replies.length) ?? [];
				const messages = toConversation(arrived);
				for (const [at, message] of messages.entries())
					inbound.accept(message, readInbound(arrived[at]?.stored?.inbound));
				return messages;
			},
			onMessage: (message, about) => {
				if (about.inFrontOf !== undefined) return;
				if (message.role === 'assistant') replies.push({ message, about });
				else if (message.role === 'tool') {
					const key = toKey(turn, message.toolCallId);
					given.set(key, { message, about });
					clock.set(results.get(key)?.createdAt ?? run.createdAt);
				} else repairs.push({ message, about });
			},
		},
		conversation,
	);
	let last: chat.RunEvent | undefined;
	for await (const event of started.events) last = event;
	return { replies, results: given, repairs, end: toTerminal(last), unknown, isCutOff };
}

/** Finds the question of a call without a result. Only the first question of a run is in its end. */
function findQuestion(end: NonNullable<RecordedRun['stored']['end']>['event'] | undefined, callId: string) {
	if (end?.type === 'halted') return { question: '' };
	if (end?.type !== 'awaiting' || end.question === undefined) return undefined;
	if (end.question.callId === callId) return end.question;
	return end.toolCalls?.some(({ id }) => id === callId) ? undefined : { question: '' };
}

/** Whether somebody or something outside of the loop ended the run, so that any place is a right end. */
function mayEndAnywhere({ stored: { end } }: RecordedRun): boolean {
	return end === undefined || end.event.type === 'cancelled' || end.event.type === 'error';
}

/** Ends a replay whose model has no further reply: as the recording ended, or as a difference. */
function leaveModel({ stored: { end } }: RecordedRun, leave: (found?: ReplayedRun['unknown']) => never): never {
	const event = end?.event;
	if (event?.type === 'error' && !loopErrors.has(event.code))
		throw new RunletError(event.code, event.message, event.data);
	return leave(event === undefined || event.type === 'cancelled' ? undefined : { what: 'model' });
}

/** The errors that the loop finds by itself. A replay must find them, too. */
export const loopErrors: ReadonlySet<string> = new Set(['max_iterations', 'invalid_output']);

function toTerminal(event: chat.RunEvent | undefined): chat.TerminalEvent {
	switch (event?.type) {
		case 'done':
		case 'awaiting':
		case 'halted':
		case 'cancelled':
		case 'error':
			return event;
		default:
			throw new Error('The run has no end.');
	}
}

function toReply({ content, toolCalls, reasoning, providerCalls, sources, turn, stored }: RecordedReply) {
	return {
		text: content,
		...(toolCalls && { toolCalls }),
		...(reasoning !== undefined && { reasoning }),
		...(providerCalls && { providerCalls }),
		...(sources && { sources }),
		...(stored?.providerMetadata && { providerMetadata: stored.providerMetadata }),
		stopReason: turn?.stopReason ?? (toolCalls === undefined ? 'end_turn' : 'tool_use'),
		usage: turn?.usage ?? {},
	};
}

/** Returns the setup of a run's first reply, or the newest before it. */
function findSetup(
	setups: ReplayedSession['setups'],
	first: RecordedReply | undefined,
	{ messages }: Recording,
	{ stored: { firstMessage } }: RecordedRun,
): RecordedSetup {
	const before = () =>
		messages.findLast(({ id, role }) => role === 'assistant' && Number(id) <= Number(firstMessage))?.id ?? '';
	return setups.get(first?.id ?? before()) ?? {};
}

/** Returns the tools of today, with recorded results. Tools from servers, owners and clients are as recorded. */
function offerTools(
	session: ReplayedSession,
	calls: RecordedCalls,
	{ setup, waiting }: { readonly setup: RecordedSetup; readonly waiting: readonly Waiting[] },
) {
	const { agent, recording, answersOf } = session;
	const { clientTools = [], owner, user } = recording.session;
	const names = new Set(setup.tools?.map(({ name }) => name));
	const answer = (tool: Tool): Tool => {
		const how = answersOf(tool.name);
		if (how === 'live') return tool;
		const offered = offerWithoutPlatform(tool, names.has(providerName(tool.name)));
		return how === 'recorded' ? answerFrom(calls, offered) : { ...offered, passInput: true, fn: how };
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
	{ findSent, waiting }: { readonly findSent: () => RecordedSetup; readonly waiting: readonly Waiting[] },
): chat.ChatOptions['loadTools'] {
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

function toTool({ name, description, inputSchema }: RecordedTool): Tool {
	return { name, description, inputSchema: isRecord(inputSchema) ? inputSchema : {}, fn: () => undefined };
}

/** Makes the memory tools of an agent. Their calls get recorded results, so no memory is read or written. */
function createMemory({ agent }: ReplayedSession, holder: RecallingSession['holder']): readonly Tool[] {
	const options = findMemoryOptions(agent);
	if (options === undefined) return [];
	// SAFETY: Only the functions of the tools use the configuration, and recorded results take their place.
	const config = {} as Config;
	return createMemoryTools({ options, config, holder, agent: agent.name, holdsOutsideText: () => true });
}

function createResolver({ agent, skills, env, recording }: ReplayedSession, { askedBy }: InboundContext) {
	const { owner, user, metadata = {} } = recording.session;
	const reader = { owner, user, metadata, askedBy };
	const source = agent.skillResolver ?? skill.inMemoryResolver(skills);
	return joinSkills(agent, (names) => findNamed(findResolver(source, { ...noEnv, ...env }, reader), names));
}

function createInbound(history: readonly RecordedMessage[], { session: { owner, user } }: Recording): InboundContext {
	const conversation = toConversation(history);
	const records = history.flatMap(({ stored }, at) => {
		const message = conversation[at];
		return message === undefined ? [] : [{ message, inbound: readInbound(stored?.inbound) }];
	});
	return new InboundContext(records, { owner, user });
}

function readInbound(inbound: NonNullable<RecordedMessage['stored']>['inbound']): Inbound | undefined {
	if (inbound === undefined) return undefined;
	const { by, askers, ...about } = inbound;
	const actor = toActor(by);
	return { ...about, ...(actor && { by: actor }), ...(askers && { askers: toActors(askers) }) };
}

/** The decisions and answers that a run began with. */
function findOpenCalls(
	{ runs }: Recording,
	run: RecordedRun,
	conversation: readonly Message[],
	findResult: (id: string) => RecordedResult | undefined,
): ReadonlyMap<string, chat.OpenCallState> {
	const before = runs[runs.indexOf(run) - 1]?.stored.end?.event;
	const question = before?.type === 'awaiting' ? before.question : undefined;
	return new Map(
		listOpenCalls(conversation).map(({ id }) => {
			const result = findResult(id);
			const asked = question?.callId === id ? question : undefined;
			const wasAnswered = asked !== undefined && (result !== undefined || asksAgain(run, id));
			return [
				id,
				{
					// A call of an earlier run that ran in this run was allowed.
					...(result !== undefined && { isApproved: true }),
					...(result?.ranWith && { input: result.ranWith }),
					...(asked && { question: asked }),
					...(wasAnswered && { answer: { text: findAnswer(result), resume: null } }),
				},
			];
		}),
	);
}

/** Whether a call asked another question after its answer. */
function asksAgain({ stored: { end } }: RecordedRun, id: string): boolean {
	return end?.event.type === 'awaiting' && end.event.question?.callId === id;
}

/** The text of the answer, which the run showed as a note before the result. */
function findAnswer(result: RecordedResult | undefined): string {
	const note = result?.stored?.before?.find((side) => side.type === 'note' && side.label === 'Answer');
	return note?.type === 'note' ? (note.detail ?? '') : '';
}

/** The providers that know the context windows of their models. */
const known = [anthropic, openai, xai, gemini, groq, deepseek, mistral].map((create) => create({ apiKey: undefined }));

function findWindow(model: string) {
	return resolveRegistration({ model, providers: known })?.contextWindow;
}
