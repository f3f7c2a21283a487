import * as v from 'valibot';
import { isRecord } from '../base/json.ts';
import { findSecret } from '../base/secrets.ts';
import { truncateText } from '../base/text.ts';
import { createResult, isAvailable } from '../tool/call.ts';
import { findByCall } from '../tool/define.ts';
import {
	dispatch,
	type InvokeContext,
	isAskUser,
	isHalt,
	type Note,
	type TasksShown,
	type Tool,
	type ToolCall,
	type ToolContext,
	type ToolResult,
} from '../tool/index.ts';
import { limitTime, readArguments } from '../tool/invoke.ts';
import { draftState, type StateChanges, type StateStore } from '../tool/state.ts';
import { tasksShown } from '../tool/tasks.ts';
import type { AnswerTo, Emit, Question, RunEvent, WaitingCall } from './event.ts';
import { type CallSecrets, type CheckFlow, describeRefusal, describeSecret, type FlowReason } from './flow.ts';
import { type Message, type ToolMessage, toolResultMessage } from './message.ts';
import type { InSpan, OpenCallState, SpanOfWork } from './options.ts';

/** The context of all calls of a run. */
export type CallsContext = Omit<ToolContext, 'callId' | 'idempotencyKey' | 'traceparent' | 'emit' | 'state'> &
	Pick<InvokeContext, 'onThrow' | 'createKey' | 'createTraceparent'>;

export interface CallsRequest {
	readonly calls: readonly ToolCall[];
	readonly tools: readonly Tool[];
	readonly context: CallsContext;
	/** The state of the session. Each call changes a draft of the state. */
	readonly state: StateStore;
	readonly timeoutMs?: number;
	/** The ids of the calls over the run's limit, which are not run. */
	readonly beyondLimit: ReadonlySet<string>;
	/** The decisions and answers of people, by call id. */
	readonly openCalls: ReadonlyMap<string, OpenCallState>;
	readonly emit: Emit;
	/** The reason if an earlier call of this turn stops the run. */
	readonly haltedReason?: string;
	readonly atOnce: number;
	/** Whether several calls can wait for a person or a client at the same time. */
	readonly parallel: boolean;
	readonly showThrown?: (thrown: unknown) => string | undefined;
	readonly inSpan?: InSpan;
	readonly secrets?: CallSecrets;
	readonly checkFlow?: CheckFlow;
	readonly onCall?: (call: ToolCall, tool: Tool) => void | Promise<void>;
	/** Called with a call's question and state changes, and with `resume` data if the tool handles the answer. */
	readonly ask: (question: Question, call: ToolCall, changes: StateChanges, answerTo?: AnswerTo) => Promise<void>;
	readonly store: (message: ToolMessage, about: ResultContext) => Promise<void>;
}

interface ResultContext {
	/** The reason if the result stops the run. */
	readonly haltedReason?: string;
	readonly changes: StateChanges;
}

/** The results in the order of their calls, and the reasons why the run stops. */
export interface CallsOutcome {
	readonly results: readonly ToolResult[];
	/** The calls that a person or a client must answer or approve. */
	readonly manual: readonly WaitingCall[];
	readonly question?: Question;
	/** The `resume` data of the question, if its tool handles the answer. */
	readonly answerTo?: AnswerTo;
	readonly haltedReason?: string;
}

export const mostAtOnce = 10;
export const mostCalls = 200;

/**
 * Finds the newest turn's calls that exceed a run's limit. Counts calls from index `from`, even in a continued run.
 */
export function findCallsBeyond(messages: readonly Message[], from: number, limit: number): ReadonlySet<string> {
	const turns = messages
		.slice(from)
		.flatMap((message) => (message.role === 'assistant' ? [message.toolCalls ?? []] : []));
	const before = turns.slice(0, -1).reduce((sum, calls) => sum + calls.length, 0);
	return new Set((turns.at(-1) ?? []).slice(Math.max(0, limit - before)).map(({ id }) => id));
}

/**
 * Runs the open calls of a turn: parallel calls, `atOnce` at a time, then sequential calls. Manual calls stay open.
 * Each result is stored before it is shown. After a question or a halt, no further sequential call begins.
 */
export async function runCalls(request: CallsRequest): Promise<CallsOutcome> {
	const { calls, tools, context, timeoutMs, emit, onCall, ask, store, inSpan = (_, work) => work() } = request;
	const results = new Map<string, ToolResult>();
	const outcome: Pick<Writable<CallsOutcome>, 'question' | 'answerTo' | 'haltedReason'> = {
		haltedReason: request.haltedReason,
	};
	const notes = createNoteGate(emit);

	const runCall = async (call: ToolCall): Promise<void> => {
		if (request.beyondLimit.has(call.id)) return settle(call, { id: call.id, output: overLimit, isError: true });
		const { question: before, answer, input: ranWith } = request.openCalls.get(call.id) ?? {};
		if (before !== undefined && answer === undefined) {
			outcome.question ??= before;
			return;
		}
		const tool = findByCall(tools, call.name);
		if (tool !== undefined) await onCall?.(call, tool);
		const show = (shown: Note | TasksShown): void => notes.show(toSideEvent(call.id, shown));
		const draft = draftState(request.state);
		const edited = ranWith === undefined ? call : { ...call, input: ranWith };
		const onThrow = createThrowHandler(request, call);
		const ownContext = { ...context, onThrow, state: draft.state, emit: show, timeoutMs, answer };
		const result = await inSpan(toSpan(call), () => dispatch(tools, edited, ownContext));
		const changes = draft.close();
		// A failed call changes nothing.
		return settle(call, ranWith === undefined ? result : { ...result, ranWith }, result.isError ? undefined : changes);
	};
	const settle = async (call: ToolCall, returned: ToolResult, changes: StateChanges = new Map()): Promise<void> => {
		if (isAskUser(returned.output)) {
			const { question, options, resume } = returned.output;
			const asked: Question = { callId: call.id, question, ...(options !== undefined && { options }) };
			const takesAnswer = findByCall(tools, call.name)?.onAnswer !== undefined;
			const answerTo = takesAnswer ? { callId: call.id, resume: resume ?? null } : undefined;
			await ask(asked, call, changes, answerTo);
			if (outcome.question === undefined) [outcome.question, outcome.answerTo] = [asked, answerTo];
			return;
		}
		const halted = isHalt(returned.output) ? returned.output : undefined;
		if (halted !== undefined) outcome.haltedReason ??= halted.reason;
		const result = halted === undefined ? returned : { ...returned, ...createResult(call.id, halted.result) };
		const { shown } = await notes.hold(async () => {
			await store(toolResultMessage(result), { haltedReason: halted?.reason, changes });
			results.set(call.id, result);
			return { shown: emit({ type: 'tool_result', ...result }) };
		});
		await shown;
	};

	const { together, alone, manual: waiting, refused } = await partition(request);
	for (const [call, output] of refused) await settle(call, { id: call.id, output, isError: true });
	const manual = request.parallel ? waiting : waiting.slice(0, 1);
	for (const call of waiting.slice(manual.length)) await settle(call, { id: call.id, output: onlyOne, isError: true });
	await runInPool(together, request.atOnce, runCall);
	for (const call of alone) {
		if (outcome.question !== undefined || outcome.haltedReason !== undefined) break;
		await runCall(call);
	}
	return { ...outcome, manual, results: calls.flatMap(({ id }) => results.get(id) ?? []) };
}

function toSpan({ id, name }: ToolCall): SpanOfWork {
	const attributes = {
		'gen_ai.operation.name': 'execute_tool',
		'gen_ai.tool.name': name,
		'gen_ai.tool.call.id': id,
	};
	return { name: `execute_tool ${name}`, attributes };
}

/** Creates the handler for errors of a tool's function. It emits the stack before the result. */
function createThrowHandler(request: CallsRequest, { id }: ToolCall): InvokeContext['onThrow'] {
	const { showThrown, emit } = request;
	const { onThrow } = request.context;
	if (showThrown === undefined) return onThrow;
	return (tool, thrown) => {
		onThrow?.(tool, thrown);
		const stack = showThrown(thrown);
		if (stack !== undefined) void emit({ type: 'tool_stack', id, stack });
	};
}

type Writable<T> = { -readonly [Field in keyof T]: T[Field] };

const overLimit =
	'This call was not run: the run has made as many tool calls as it may. Answer with what you have, and call no more tools.';
const onlyOne = 'Not run: one call at a time is possible here. Call it again when the other one is answered.';

/** Sorts calls by the way in which they run. A call that cannot run fails, and no person is asked about it. */
async function partition(request: CallsRequest) {
	const { calls, tools, beyondLimit, openCalls, secrets } = request;
	const together: ToolCall[] = [];
	const alone: ToolCall[] = [];
	const manual: WaitingCall[] = [];
	const refused: (readonly [ToolCall, output: string])[] = [];
	for (const call of calls) {
		const secret = secrets && findSecret(openCalls.get(call.id)?.input ?? call.input, secrets.list());
		if (secret !== undefined) {
			secrets?.onFound?.(call, secret);
			refused.push([call, describeSecret(secret)]);
			continue;
		}
		const tool = findByCall(tools, call.name);
		const { isApproved = false, answer } = openCalls.get(call.id) ?? {};
		// A call whose question was answered has already begun, so it was allowed.
		const isAllowed = isApproved || answer !== undefined;
		const wait = tool && !beyondLimit.has(call.id) ? await findWait(tool, call, isAllowed, request) : undefined;
		if (wait?.for === 'result') manual.push(call);
		else if (wait?.for === 'approval') manual.push({ ...call, ...wait.shown, kind: 'approval' });
		else if (wait?.for === 'nothing') refused.push([call, describeRefusal(wait.flow)]);
		else (tool?.sequential === true && !beyondLimit.has(call.id) ? alone : together).push(call);
	}
	return { together, alone, manual, refused };
}

/** What a call waits for. A call that waits for nothing is refused. */
type Wait =
	| { readonly for: 'result' }
	| { readonly for: 'approval'; readonly shown: Pick<WaitingCall, 'flow' | 'preview'> }
	| { readonly for: 'nothing'; readonly flow: FlowReason };

/** Returns what a call with valid arguments waits for. Returns `undefined` if it may run. */
async function findWait(
	tool: Tool,
	{ input }: ToolCall,
	isAllowed: boolean,
	{ context: given, timeoutMs: usualMs, checkFlow }: Pick<CallsRequest, 'context' | 'timeoutMs' | 'checkFlow'>,
): Promise<Wait | undefined> {
	const { needsApproval = false, timeoutMs = usualMs } = tool;
	const context: InvokeContext = { ...given, timeoutMs };
	const byHand = tool.manual === true || tool.fn === undefined;
	const isChecked = tool.writes !== undefined && checkFlow !== undefined;
	if (!byHand && (isAllowed || (needsApproval === false && !isChecked))) return undefined;
	if (!(await isAvailable(tool, context))) return undefined;
	const read = await limitTime(tool.name, context, () => readArguments(tool, input));
	if (!read.ok) return undefined;
	if (byHand) return { for: 'result' };
	const args = isRecord(read.value) ? read.value : {};
	const flow = isChecked ? checkFlow(tool, args) : undefined;
	if (flow?.decision === 'refuse') return { for: 'nothing', flow: flow.reason };
	const { onThrow: _, timeoutMs: __, createKey: ___, createTraceparent: ____, ...shown } = context;
	const askTool = async <T>(ask: () => T | Promise<T>): Promise<T | undefined> => {
		let value: T | undefined;
		const work = async () => {
			value = await ask();
			return { ok: true, value } as const;
		};
		await limitTime(tool.name, context, work).catch((thrown: unknown) => {
			if (context.signal?.aborted) throw thrown;
		});
		return value;
	};
	// If the check of a tool fails, the call needs approval.
	const isNeeded =
		flow !== undefined ||
		(typeof needsApproval === 'boolean' ? needsApproval : ((await askTool(() => needsApproval(args, shown))) ?? true));
	if (!isNeeded) return undefined;
	const preview = await askTool(() => tool.preview?.(args, shown));
	return {
		for: 'approval',
		shown: {
			...(flow && { flow: flow.reason }),
			...(typeof preview === 'string' && preview !== '' && { preview: shortenPreview(preview) }),
		},
	};
}

/** The maximum number of characters of a preview. */
const longestPreview = 8_000;

function shortenPreview(preview: string): string {
	if (preview.length <= longestPreview) return preview;
	const shown = truncateText(preview, longestPreview);
	return `${shown}\n… ${(preview.length - shown.length).toLocaleString('en')} more characters, which are not shown`;
}

/** Runs the work with limited parallelism. After a failure no other item begins. Throws after all begun items ended. */
async function runInPool<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
	const waiting = [...items];
	const worker = async (): Promise<void> => {
		try {
			for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
		} catch (thrown) {
			waiting.length = 0;
			throw thrown;
		}
	};
	for (const settled of await Promise.allSettled(Array.from({ length: Math.min(atOnce, items.length) }, worker))) {
		if (settled.status === 'rejected') throw settled.reason;
	}
}

/**
 * Delays notes while a result is stored and emitted. A note is stored with the next result, so without the delay
 * readers of the store would see another order than readers of the run. Results are stored one by one.
 */
function createNoteGate(emit: Emit) {
	let waiting: RunEvent[] = [];
	let held = 0;
	let last: Promise<unknown> = Promise.resolve();
	const release = (): void => {
		held--;
		const notes = waiting;
		waiting = [];
		for (const note of notes) void emit(note);
	};
	return {
		show: (note: RunEvent): void => {
			if (held > 0) waiting.push(note);
			else void emit(note);
		},
		hold: <T>(work: () => Promise<T>): Promise<T> => {
			const next = last.then(() => {
				held++;
				return work().finally(release);
			});
			last = next.catch(() => {});
			return next;
		},
	};
}

/** Creates the event for a note or task lists of a tool. Throws for invalid lists. */
function toSideEvent(id: string, shown: Note | TasksShown): RunEvent {
	if (typeof shown === 'string') return { type: 'note', id, label: shown };
	if ('type' in shown) return { id, ...v.parse(tasksShown, shown) };
	return { type: 'note', id, label: shown[0], detail: shown[1] };
}
