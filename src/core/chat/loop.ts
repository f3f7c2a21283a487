import { RunletError, toRunletError } from '../ground/errors.ts';
import { createBuiltins } from '../skill/builtins.ts';
import { effectiveResolver, type SkillContext, type SkillResolver } from '../skill/index.ts';
import { listAdvertised } from '../skill/resolver.ts';
import { availableTools } from '../tool/dispatch.ts';
import { forAgent, type Tool, type ToolCall, type ToolContext, type ToolResult } from '../tool/index.ts';
import { ActiveSkills } from './active-skills.ts';
import { type CallsOutcome, callsBeyond, mostCalls, runCalls } from './calls.ts';
import { type Conversation, findWindow } from './context.ts';
import type { TurnReply } from './deltas.ts';
import { assertEffort } from './effort.ts';
import { isSideEvent, type Question, type RunEvent, type SideEvent, type Step, type WaitingCall } from './event.ts';
import { readUsage, withUsage } from './failure.ts';
import { runFittingTurn } from './fit.ts';
import { type AssistantMessage, insertResult, listOpenCalls, type Message } from './message.ts';
import type { ChatOptions, MessageContext, Turn } from './options.ts';
import { anyObjectWords, assertReadable, isAnyObject, type OutputOutcome, readOutput } from './output.ts';
import { raceAbort, toAbortError } from './signal.ts';
import { askForCall, offeredTools } from './tool-choice.ts';
import type { TurnRequest } from './turn.ts';
import { addUsage, type ChatUsage } from './usage.ts';

/** How a run ended, when it did not fail. */
export interface RunResult {
	readonly status: 'completed' | 'awaiting_tools' | 'awaiting_user' | 'halted';
	/** The text of the model's last turn. */
	readonly text: string;
	/** The whole conversation, input included. */
	readonly messages: readonly Message[];
	readonly haltedReason?: string;
	readonly metadata: {
		readonly stopReason?: string;
		readonly manualToolCalls?: readonly WaitingCall[];
		readonly question?: Question;
		readonly [key: string]: unknown;
	};
	readonly usage: ChatUsage;
	readonly steps: readonly Step[];
	/** The value of the text, where `outputSchema` asked for one; missing where the reply was cut off or refused. */
	readonly output?: unknown;
}

/** What a turn of the model had come to when its run was cut off. */
export interface BegunTurn {
	/** Its calls, answered or not. */
	readonly calls: readonly ToolCall[];
	readonly results: readonly ToolResult[];
	/** Why one of them stops the run. */
	readonly haltedReason?: string;
}

/** Where a run stands that is taken up in the middle: what its messages do not say. */
export interface Resumption {
	/** Turns that the model has had. */
	readonly iteration: number;
	/** What they cost. */
	readonly usage: ChatUsage;
	/** The newest of them. */
	readonly last?: LastTurn;
	/** The turn whose end was not reached; missing where the model comes next. */
	readonly turn?: BegunTurn;
}

type LastTurn = Pick<TurnReply, 'model' | 'text' | 'stopReason' | 'usage'>;

/** What the loop is told beside its options. */
export interface LoopContext {
	readonly stream: boolean;
	readonly signal: AbortSignal;
	readonly resume?: Resumption;
}

/**
 * The agent loop (docs/runs.md, "The loop"): looks at the messages only. If the last assistant message has calls
 * without results it runs those; else it asks the model. So a first message, a tool's answer from outside and a restart
 * all go on by the same path. Yields events, those of one moment together; returns the result; throws a `RunletError`.
 */
export async function* loop(
	options: ChatOptions,
	input: readonly Message[],
	{ stream, signal, resume }: LoopContext,
): AsyncGenerator<RunEvent[], RunResult> {
	const messages = [...input];
	const begins = 1 + messages.findLastIndex(({ role }) => role === 'user');
	const steps: Step[] = [];
	let usage: ChatUsage = resume?.usage ?? {};
	let last: LastTurn | undefined = resume?.last;
	let iteration = resume?.iteration ?? 0;
	let begun: BegunTurn | undefined = resume?.turn;
	let side: SideEvent[] = [];
	/** Notes and warnings since the last message that is no summary: what is said again where a turn is asked again. */
	let said: SideEvent[] = [];

	try {
		const setting = prepare(options, signal, (event) => {
			if (!isSideEvent(event) || said.includes(event)) return;
			side.push(event);
			said.push(event);
		});
		if (resume === undefined) yield [{ type: 'run.started', runId: setting.runId, attempt: 1 }];
		const tell = orderResults(options.onMessage);
		const store: Conversation['store'] = (message, about = {}) => {
			const before = side;
			side = [];
			if (about.inFrontOf === undefined) said = [];
			return tell(message, { ...about, before });
		};
		const conversation: Conversation = {
			messages,
			window: findWindow(messages),
			store,
			spend: (more) => {
				usage = addUsage(usage, more);
			},
			onEvent: setting.onEvent,
			skills: () => setting.skills?.names ?? [],
		};
		const restart = async (): Promise<readonly RunEvent[]> => {
			const repeated = [...said];
			await options.onRestart?.(iteration, repeated);
			return [{ type: 'turn.restarted', iteration }, ...repeated];
		};
		/** What the newest turn was offered. */
		let tools: readonly Tool[] | undefined;
		const isEnded = (status: RunResult['status'], more: Partial<RunResult> = {}): RunResult => ({
			status,
			text: last?.text ?? '',
			messages,
			usage,
			steps,
			...more,
			metadata: { ...(last !== undefined && { stopReason: last.stopReason }), ...more.metadata },
		});
		const step = ({ calls, results }: Pick<BegunTurn, 'calls' | 'results'>): RunEvent[] => {
			const { model = options.model, text = '', stopReason = 'tool_use', usage: spent = {} } = last ?? {};
			const toolResults = calls.flatMap(({ id }) => results.find((result) => result.id === id) ?? []);
			const record: Step = { iteration, model, text, toolCalls: calls, toolResults, stopReason, usage: spent };
			steps.push(record);
			return [{ type: 'step', ...record }];
		};

		for (;;) {
			const open = listOpenCalls(messages);
			const turn = begun ?? (open.length > 0 ? { calls: open, results: [] } : undefined);
			begun = undefined;
			if (turn !== undefined) {
				tools ??= await toolsAt(setting, conversation, placeOfTurn(messages));
				const outcome: CallsOutcome =
					open.length === 0 || options.mode === 'manual'
						? { ...turn, results: [], manual: open }
						: yield* runCalls({
								calls: open,
								refused: callsBeyond(messages, begins, options.maxToolCalls ?? mostCalls),
								haltedReason: turn.haltedReason,
								tools,
								context: setting.context,
								// A call of a later turn may have the same id, and was asked about by nobody.
								approved: new Set(last === resume?.last ? options.approved : []),
								asked: (last === resume?.last ? options.asked : undefined) ?? [],
								timeoutMs: options.timeouts?.toolMs,
								onEvent: setting.onEvent,
								onCall: options.onToolCall,
								onQuestion: options.onQuestion,
								parallel: options.parallelToolCalls ?? true,
								store: (message, haltedReason) => {
									insertResult(messages, message);
									return store(message, haltedReason === undefined ? {} : { haltedReason });
								},
							});
				yield step({ calls: turn.calls, results: [...turn.results, ...outcome.results] });
				const stopped = toStop(outcome);
				if (stopped !== undefined) return isEnded(stopped.status, stopped);
			}

			const steered = options.steer?.() ?? [];
			messages.push(...steered);
			const goesOn = turn === undefined || turn.calls.length > 0 || last?.stopReason === 'pause_turn';
			if (!goesOn && steered.length === 0) {
				const read = await askForOutput(options, last, messages);
				if (read === undefined) return isEnded('completed');
				if ('value' in read) return isEnded('completed', { output: read.value });
				messages.push(read.repair);
				await store(read.repair);
			}
			if (iteration === options.stopAfter) return isEnded('awaiting_tools', { metadata: { manualToolCalls: [] } });
			if (!(iteration < (options.maxIterations ?? 10))) throw createTooManyTurns(options.maxIterations ?? 10);
			iteration++;
			tools = await toolsAt(setting, conversation, messages.length);
			const reply: TurnReply = yield* ask(options, { ...setting, tools, restart }, conversation, { stream, signal });
			last = reply;
			usage = addUsage(usage, reply.usage);
			const message = toAssistantMessage(reply);
			messages.push(message);
			await store(message, { turn: toTurn(reply, iteration), spent: reply.requestUsage });
			yield [{ type: 'stop', reason: reply.stopReason, usage: reply.usage ?? {} }];
			begun = { calls: message.toolCalls ?? [], results: [] };
		}
	} catch (thrown) {
		const error = toRunletError(thrown);
		throw withUsage(signal.aborted ? toAbortError(signal) : error, addUsage(usage, readUsage(error)));
	}
}

interface Setting {
	readonly runId: string;
	/** Those that are there without any skill being read. */
	readonly tools: readonly Tool[];
	readonly resolver: SkillResolver | undefined;
	readonly skills: ActiveSkills | undefined;
	readonly context: Omit<ToolContext, 'callId' | 'emit'>;
	readonly onEvent: (event: RunEvent) => void;
}

function prepare(options: ChatOptions, signal: AbortSignal, onEvent: Setting['onEvent']): Setting {
	if (typeof options.model !== 'string' || options.model === '') {
		throw new RunletError('invalid_request', 'model: missing. Name one, such as "demo".', { field: 'model' });
	}
	assertReadable(options.outputSchema);
	assertEffort(options.reasoningEffort);
	const { sessionId, runId = crypto.randomUUID() } = options.context ?? {};
	const resolver = effectiveResolver(options.skillResolver, options.skills);
	let tools: readonly Tool[] = [];
	const offered = forAgent(options.skillTools ?? []);
	const skills = resolver && new ActiveSkills({ resolver, offered, tools: () => tools, signal });
	const builtins = resolver === undefined ? [] : createBuiltins(resolver, { bundle: (more) => skills?.bundle(more) });
	tools = forAgent([...forAgent(options.tools ?? []), ...builtins]);
	const context = {
		signal,
		runId,
		sessionId,
		onThrow: options.onToolThrow,
		get skillContext(): SkillContext {
			const { skillContext = options.context?.skillContext ?? {} } = options;
			return typeof skillContext === 'function' ? skillContext() : skillContext;
		},
	};
	return { runId, resolver, skills, tools, context, onEvent };
}

/** All tools that a turn may call whose messages end at a place. */
async function toolsAt({ tools, skills }: Setting, conversation: Conversation, end: number): Promise<readonly Tool[]> {
	return skills === undefined ? tools : skills.toolsAt(conversation, end);
}

/** The place of the last assistant message. */
function placeOfTurn(messages: readonly Message[]): number {
	return Math.max(
		0,
		messages.findLastIndex(({ role }) => role === 'assistant'),
	);
}

/** One model turn: the skills of the moment, the context check, the call itself. */
async function* ask(
	options: ChatOptions,
	{ tools: all, resolver, context, restart }: Setting & Pick<TurnRequest, 'restart'>,
	conversation: Conversation,
	{ stream, signal }: LoopContext,
): AsyncGenerator<RunEvent[], TurnReply> {
	const { model } = options;
	const about = { messages: conversation.messages, system: options.system, model };
	const index = resolver === undefined ? '' : await raceAbort(listAdvertised(resolver, about), signal);
	const form = isAnyObject(options.outputSchema) ? anyObjectWords : undefined;
	const said = [options.system, index, form].filter((text) => text !== undefined && text !== '');
	const system = said.join('\n\n') || undefined;
	const available = await availableTools(all, { ...context, timeoutMs: options.timeouts?.toolMs });
	const tools = offeredTools(available, options, conversation.messages);
	const request = { options, system, tools: tools.length > 0 ? tools : undefined, stream, signal, restart };
	return yield* runFittingTurn(request, conversation);
}

/** What came of the reply that ends a run which asked for a call or a value; nothing of one that was cut off or refused. */
async function askForOutput(
	{ outputSchema, toolChoice }: ChatOptions,
	last: LastTurn | undefined,
	messages: readonly Message[],
): Promise<OutputOutcome | undefined> {
	if (last === undefined || last.stopReason === 'max_tokens' || last.stopReason === 'refusal') return undefined;
	const repair = askForCall(toolChoice, messages);
	if (repair !== undefined) return { repair };
	return outputSchema && readOutput(last.text, outputSchema, messages);
}

function toTurn({ model, stopReason, usage = {}, streamedInputs }: TurnReply, iteration: number): Turn {
	return { iteration, model, stopReason, usage, streamedInputs };
}

/**
 * The reply as it enters the history. A turn that was cut off, or refused, keeps no calls: they may be incomplete, must
 * not run, and would dangle.
 */
function toAssistantMessage({ text, toolCalls, stopReason, reasoning, providerMetadata }: TurnReply): AssistantMessage {
	const runs = toolCalls.length > 0 && stopReason !== 'max_tokens' && stopReason !== 'refusal';
	return {
		role: 'assistant',
		content: text,
		...(runs && { toolCalls }),
		reasoning,
		providerMetadata,
	};
}

function toStop({
	question,
	haltedReason,
	manual,
}: CallsOutcome): (Partial<RunResult> & Pick<RunResult, 'status'>) | undefined {
	const open = manual.length > 0 ? { manualToolCalls: manual } : {};
	if (haltedReason !== undefined) return { status: 'halted', haltedReason, metadata: open };
	if (question !== undefined) return { status: 'awaiting_user', metadata: { question, ...open } };
	if (manual.length > 0) return { status: 'awaiting_tools', haltedReason: 'manual_tool_calls', metadata: open };
	return undefined;
}

/** Has messages stored one after another, also those of tools that finish together. */
function orderResults(
	onMessage: ChatOptions['onMessage'] = () => {},
): (message: Message, about: MessageContext) => Promise<void> {
	let storing = Promise.resolve();
	return (message, about) => {
		storing = storing.then(() => onMessage(message, about));
		return storing;
	};
}

function createTooManyTurns(limit: number): RunletError {
	return new RunletError(
		'max_iterations',
		`The run reached its max-iterations limit of ${limit} model turns. Raise maxIterations, or make the task smaller.`,
		{ maxIterations: limit },
	);
}
