import { RunletError, toRunletError } from '../base/errors.ts';
import { dropUndefined } from '../base/json.ts';
import { raceAbort, toAbortError } from '../base/promises.ts';
import { findByCall } from '../tool/define.ts';
import type { Tool, ToolCall, ToolResult } from '../tool/index.ts';
import { storeChanges } from '../tool/state.ts';
import { createPromptRecord, findCacheMiss } from './cache-miss.ts';
import { type Conversation, findWindow } from './conversation.ts';
import {
	type AnswerTo,
	type Emit,
	isSideEvent,
	type Question,
	type SideEvent,
	type Step,
	type WaitingCall,
} from './event.ts';
import { createFencing } from './fence.ts';
import { type AssistantMessage, insertResult, listOpenCalls, type Message } from './message.ts';
import type { TurnReaders } from './model-call.ts';
import { readUsage, withUsage } from './model-error.ts';
import { findPayingStep, isReferring, restoreReferences, takeStep } from './old-results.ts';
import type { ChatOptions, MessageContext } from './options.ts';
import type { CacheMiss, PromptRecord } from './prompt-record.ts';
import { beginRecall, type RecalledFronts } from './recall.ts';
import { addUsage, type ChatUsage, keepImages } from './reply.ts';
import { type OutputOutcome, readOutput, toCallReminder } from './requirements.ts';
import type { TurnReply } from './streamed-reply.ts';
import { type CallsOutcome, findCallsBeyond, mostAtOnce, mostCalls, runCalls } from './tool-calls.ts';
import { findTools, prepareTurns, type TurnSetting, takeTurn } from './turn.ts';

export interface LoopContext {
	readonly stream: boolean;
	readonly signal: AbortSignal;
	readonly emit: Emit;
	readonly resume?: Resumption;
}

export interface RunState {
	readonly conversation: Conversation;
	readonly emit: Emit;
	/** Lists the notes and warnings since the last message that is not a summary. A restarted turn shows them again. */
	readonly listNotes: () => Iterable<SideEvent>;
	/** The index after the message that the run answers. */
	readonly answersAt: number;
	readonly steps: Step[];
	/** The model turn that was the newest when the run was continued. */
	readonly resumedAt?: LastTurn;
	recalling?: Promise<RecalledFronts | undefined>;
	/** The number of completed model turns. */
	iteration: number;
	usage: ChatUsage;
	/** The newest request of the conversation. */
	prompt?: PromptRecord;
	last?: LastTurn;
	/** The turn whose calls run next. */
	begun?: BegunTurn;
	tools?: readonly Tool[];
}

function createState(options: ChatOptions, input: readonly Message[], { emit, resume }: LoopContext): RunState {
	const messages = [...input];
	const window = findWindow(messages);
	const storeNext = createOrderedStore(options.onMessage);
	let unstored: SideEvent[] = [];
	let notes = new Set<SideEvent>();
	const run: RunState = {
		conversation: {
			messages,
			window,
			references: isReferring(options) ? restoreReferences({ messages, window }, options.lastPrompt) : undefined,
			fence: options.fence && createFencing(options.fence),
			store: (message, about = {}) => {
				const before = unstored;
				unstored = [];
				if (about.inFrontOf === undefined) notes = new Set();
				return storeNext(message, { ...about, before });
			},
			spend: (more) => {
				run.usage = addUsage(run.usage, more);
			},
		},
		emit: (event) => {
			if (isSideEvent(event) && !notes.has(event)) {
				unstored.push(event);
				notes.add(event);
			}
			return emit(event);
		},
		listNotes: () => notes,
		answersAt: 1 + messages.findLastIndex(({ role }) => role === 'user'),
		steps: [],
		resumedAt: resume?.last,
		iteration: resume?.iteration ?? 0,
		usage: resume?.usage ?? {},
		last: resume?.last,
		prompt: options.lastPrompt,
		begun: resume?.turn,
	};
	return run;
}

function createReaders({ emit, iteration, listNotes }: RunState, { onRestart }: ChatOptions): TurnReaders {
	return {
		emit,
		isShown: false,
		restart: async () => {
			const repeated = [...listNotes()];
			await onRestart?.(iteration, repeated);
			await emit({ type: 'turn.restarted', iteration });
			for (const event of repeated) await emit(event);
		},
	};
}

/** Stores messages one after the other, even if several tools finish at the same time. */
function createOrderedStore(
	onMessage: ChatOptions['onMessage'] = () => {},
): (message: Message, about: MessageContext) => Promise<void> {
	let storing = Promise.resolve();
	return (message, about) => {
		storing = storing.then(() => onMessage(message, about));
		return storing;
	};
}

/** The state of an interrupted run besides its messages. */
export interface Resumption {
	/** The number of completed model turns. */
	readonly iteration: number;
	readonly usage: ChatUsage;
	readonly last?: LastTurn;
	/** The unfinished turn. Missing if the run continues with the model. */
	readonly turn?: BegunTurn;
}

type LastTurn = Pick<TurnReply, 'model' | 'text' | 'stopReason' | 'usage' | 'providerCalls' | 'sources'> &
	Pick<Step, 'cacheMiss'>;

/** A model turn with open calls. */
export interface BegunTurn {
	readonly calls: readonly ToolCall[];
	readonly results: readonly ToolResult[];
	/** The reason if a result stops the run. */
	readonly haltedReason?: string;
}

/** The result of a run that did not fail. */
export interface RunResult<Output = unknown> {
	readonly status: 'completed' | 'awaiting_tools' | 'awaiting_user' | 'halted';
	/** The text of the model's last turn. */
	readonly text: string;
	/** The whole conversation, including the input. */
	readonly messages: readonly Message[];
	readonly haltedReason?: string;
	readonly metadata: {
		readonly stopReason?: string;
		readonly manualToolCalls?: readonly WaitingCall[];
		readonly question?: Question;
		/** Set if the tool that asked handles the answer. Pass `resume` back with the answer in `options.openCalls`. */
		readonly answerTo?: AnswerTo;
		readonly [key: string]: unknown;
	};
	readonly usage: ChatUsage;
	readonly steps: readonly Step[];
	/** The parsed value of the text, if `outputSchema` is set. Missing if the reply was cut off or refused. */
	readonly output?: Output;
}

/**
 * The agent loop. It runs the last assistant message's calls without results, else it asks the model. So a new message,
 * a tool's result from outside and a restart continue by the same path. Throws a `RunletError`.
 */
export async function loop(options: ChatOptions, input: readonly Message[], context: LoopContext): Promise<RunResult> {
	const { signal, stream, resume } = context;
	const run = createState(options, input, context);
	try {
		const setting = prepareTurns(options, { stream, signal }, run.conversation.messages);
		run.recalling = beginRecall(options.recall, run.conversation.messages);
		await setting.catalog.load();
		if (resume === undefined) await run.emit({ type: 'run.started', runId: setting.runId, attempt: 1 });
		await emitWarnings(run, setting);
		return await runTurns(run, setting);
	} catch (thrown) {
		const error = toRunletError(thrown);
		throw withUsage(signal.aborted ? toAbortError(signal) : error, addUsage(run.usage, readUsage(error)));
	}
}

async function runTurns(run: RunState, setting: TurnSetting): Promise<RunResult> {
	const { options } = setting;
	const { messages, store } = run.conversation;
	for (;;) {
		const turn = findBegunTurn(run);
		if (turn !== undefined) {
			const stop = await finishTurn(run, setting, turn);
			if (stop !== undefined) return toResult(run, stop);
		}
		// The request of a begun reply has no later messages.
		const steered = options.parking?.findBegun() === undefined ? (options.steer?.() ?? []) : [];
		messages.push(...steered);
		const isAnswered = turn?.calls.length === 0 && run.last?.stopReason !== 'pause_turn';
		if (isAnswered && steered.length === 0) {
			const outcome = await readAnswer(options, run);
			if (outcome === undefined) return toResult(run, { status: 'completed' });
			if ('value' in outcome) return toResult(run, { status: 'completed', output: outcome.value });
			messages.push(outcome.repair);
			await store(outcome.repair);
		}
		if (run.iteration === options.stopAfter)
			return toResult(run, { status: 'awaiting_tools', metadata: { manualToolCalls: [] } });
		assertTurnLeft(run, options);
		await beginTurn(run, setting);
	}
}

/** Returns the turn whose calls run next: the current turn, or a turn that an earlier run left open. */
function findBegunTurn(run: RunState): BegunTurn | undefined {
	const { begun } = run;
	run.begun = undefined;
	if (begun !== undefined) return begun;
	const open = listOpenCalls(run.conversation.messages);
	return open.length > 0 ? { calls: open, results: [] } : undefined;
}

async function beginTurn(run: RunState, setting: TurnSetting): Promise<void> {
	const { conversation } = run;
	run.iteration++;
	run.tools = await findTools(setting, conversation, conversation.messages.length);
	await emitWarnings(run, setting);
	await takeRecalled(run, setting);
	const askedAt = Date.now();
	const canRefer = setting.reader !== undefined && run.tools.includes(setting.reader);
	if (canRefer)
		await takeStep(run, findPayingStep(conversation, { ...setting.options, prompt: run.prompt, now: askedAt }));
	const reply = await takeTurn(setting, conversation, run.tools, createReaders(run, setting.options));
	const cacheMiss = takePrompt(run, reply, { ...setting.options, askedAt });
	run.last = { ...reply, cacheMiss };
	run.usage = addUsage(run.usage, reply.usage);
	const parts = await keepImages(reply, setting.context.workspace, (message) =>
		run.emit({ type: 'warning', code: 'image_not_kept', message }),
	);
	const message = dropUndefined({ ...toAssistantMessage(reply), parts });
	conversation.messages.push(message);
	const isRepeatable = areRepeatable(message.toolCalls, run.tools);
	const { model, stopReason, usage = {}, firstMs, retries, streamedInputs, pieces } = reply;
	const about = { iteration: run.iteration, model, stopReason, usage, firstMs, retries };
	const turn = dropUndefined({ ...about, streamedInputs, pieces, cacheMiss });
	await conversation.store(message, {
		turn,
		spent: reply.requestUsage,
		silentMs: reply.silentMs,
		isRepeatable,
		prompt: run.prompt,
		sent: reply.sent,
	});
	await run.emit({ type: 'stop', reason: stopReason, usage });
	run.begun = { calls: message.toolCalls ?? [], results: [] };
}

/** Records the request of a reply. If the provider's cache missed, returns the cause. */
function takePrompt(
	run: RunState,
	{ sent, requestUsage }: TurnReply,
	options: Parameters<typeof findCacheMiss>[3],
): CacheMiss | undefined {
	const { prompt: before } = run;
	if (sent === undefined) return undefined;
	run.prompt = createPromptRecord(sent, requestUsage ?? {}, Date.now());
	return before && requestUsage && findCacheMiss(before, sent, requestUsage, options);
}

/** Whether calls are safe to run again after a crash. A call of an unknown tool is safe, because it has no effect. */
function areRepeatable(calls: readonly ToolCall[] = [], tools: readonly Tool[]): boolean {
	return calls.every(({ name }) => {
		const tool = findByCall(tools, name);
		return tool === undefined || tool.retry === 'safe';
	});
}

async function emitWarnings(run: RunState, { catalog }: TurnSetting): Promise<void> {
	for (const warning of catalog.takeWarnings()) await run.emit({ type: 'warning', ...warning });
}

/** Waits for the recalled text. The first turn shows the text's sources to the readers. */
async function takeRecalled(run: RunState, { signal }: TurnSetting): Promise<void> {
	const { recalling } = run;
	run.recalling = undefined;
	try {
		const found = recalling && (await raceAbort(recalling, signal));
		if (found === undefined) return;
		run.conversation.fronts = found.fronts;
		if (found.text !== '' && run.iteration === 1)
			await run.emit({ type: 'note', id: 'recall', label: 'Recalled', detail: found.sources.join(', ') });
	} catch (thrown) {
		if (signal.aborted) throw thrown;
		const { message } = toRunletError(thrown);
		await run.emit({ type: 'warning', code: 'not_recalled', message: `Nothing was recalled. ${message}` });
	}
}

/** Runs the open calls of a turn and emits its step. Returns the reason if the run stops. */
async function finishTurn(run: RunState, setting: TurnSetting, turn: BegunTurn): Promise<Stop | undefined> {
	const open = listOpenCalls(run.conversation.messages);
	const outcome: CallsOutcome =
		open.length === 0 || setting.options.mode === 'manual'
			? { results: [], manual: open, haltedReason: turn.haltedReason }
			: await runOpenCalls(run, setting, turn);
	const results = [...turn.results, ...outcome.results];
	const { model = setting.options.model, text = '', stopReason = 'tool_use', usage = {}, cacheMiss } = run.last ?? {};
	const { providerCalls, sources } = run.last ?? {};
	const step: Step = dropUndefined({
		iteration: run.iteration,
		model,
		text,
		toolCalls: turn.calls,
		toolResults: turn.calls.flatMap(({ id }) => results.find((result) => result.id === id) ?? []),
		stopReason,
		usage,
		providerCalls,
		sources,
		cacheMiss,
	});
	run.steps.push(step);
	await run.emit({ type: 'step', ...step });
	return toStop(outcome);
}

async function runOpenCalls(run: RunState, setting: TurnSetting, turn: BegunTurn): Promise<CallsOutcome> {
	const { options, context, state } = setting;
	const { conversation, emit } = run;
	const { messages, store } = conversation;
	const lastTurnAt = messages.findLastIndex(({ role }) => role === 'assistant');
	run.tools ??= await findTools(setting, conversation, Math.max(0, lastTurnAt));
	// A later call can have the id of a resumed call, so `openCalls` applies only to the resumed turn.
	const isResumed = run.last === run.resumedAt;
	return runCalls({
		calls: listOpenCalls(messages),
		beyondLimit: findCallsBeyond(messages, run.answersAt, options.maxToolCalls ?? mostCalls),
		haltedReason: turn.haltedReason,
		tools: run.tools,
		context,
		openCalls: (isResumed ? options.openCalls : undefined) ?? new Map(),
		timeoutMs: options.timeouts?.toolMs,
		emit,
		showThrown: options.showThrown,
		inSpan: options.inSpan,
		secrets: options.secrets,
		checkFlow: options.checkFlow,
		onCall: options.onToolCall,
		atOnce: Math.max(1, options.maxParallelToolCalls ?? mostAtOnce),
		parallel: options.parallelToolCalls ?? true,
		state,
		ask: async (question, call, changes, answerTo) => {
			await options.onQuestion?.(question, call, changes, answerTo);
			await storeChanges(state, changes);
		},
		store: async (message, about) => {
			insertResult(messages, message);
			await store(message, about);
			await storeChanges(state, about.changes);
		},
	});
}

/** Reads the final reply, if the run has a required call or an output schema and the reply is complete. */
async function readAnswer(
	{ outputSchema, toolChoice }: ChatOptions,
	{ last, conversation: { messages } }: RunState,
): Promise<OutputOutcome | undefined> {
	if (last === undefined || last.stopReason === 'max_tokens' || last.stopReason === 'refusal') return undefined;
	const repair = toCallReminder(toolChoice, messages);
	if (repair !== undefined) return { repair };
	return outputSchema && readOutput(last.text, outputSchema, messages);
}

function assertTurnLeft({ iteration }: RunState, { maxIterations = 10 }: ChatOptions): void {
	if (iteration < maxIterations) return;
	const message = `The run reached its max-iterations limit of ${maxIterations} model turns. Raise maxIterations, or make the task smaller.`;
	throw new RunletError('max_iterations', message, { maxIterations });
}

type Stop = Pick<RunResult, 'status'> & Partial<RunResult>;

function toResult({ conversation, last, usage, steps }: RunState, stop: Stop): RunResult {
	const metadata = { ...(last !== undefined && { stopReason: last.stopReason }), ...stop.metadata };
	return { text: last?.text ?? '', messages: conversation.messages, usage, steps, ...stop, metadata };
}

function toStop({ question, answerTo, haltedReason, manual }: CallsOutcome): Stop | undefined {
	const open = manual.length > 0 ? { manualToolCalls: manual } : {};
	if (haltedReason !== undefined) return { status: 'halted', haltedReason, metadata: open };
	if (question !== undefined) {
		const kept = answerTo === undefined ? {} : { answerTo };
		return { status: 'awaiting_user', metadata: { question, ...kept, ...open } };
	}
	if (manual.length > 0) return { status: 'awaiting_tools', haltedReason: 'manual_tool_calls', metadata: open };
	return undefined;
}

/** Converts the reply to a message. A cut-off or refused turn keeps no calls, because they may be incomplete. */
function toAssistantMessage(reply: TurnReply): AssistantMessage {
	const { text: content, stopReason, reasoning, providerCalls, sources, providerMetadata } = reply;
	const runs = reply.toolCalls.length > 0 && stopReason !== 'max_tokens' && stopReason !== 'refusal';
	const toolCalls = runs ? reply.toolCalls : undefined;
	return dropUndefined({ role: 'assistant', content, toolCalls, reasoning, providerCalls, sources, providerMetadata });
}
