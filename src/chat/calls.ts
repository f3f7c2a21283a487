import { findByCall } from '../tool/define.ts';
import { isAvailable } from '../tool/dispatch.ts';
import {
	dispatch,
	type InvokeContext,
	isAskUser,
	isHalt,
	type Note,
	type Tool,
	type ToolCall,
	type ToolContext,
	type ToolResult,
} from '../tool/index.ts';
import { inTime, readArguments } from '../tool/invoke.ts';
import { isRecord } from '../tool/schema.ts';
import { pushed } from './channel.ts';
import type { Question, RunEvent, WaitingCall } from './event.ts';
import { type ToolMessage, toolResultMessage } from './message.ts';

/** What the calls of a turn run with. */
export interface CallsRequest {
	readonly calls: readonly ToolCall[];
	readonly tools: readonly Tool[];
	readonly context: Omit<ToolContext, 'callId' | 'emit'>;
	readonly timeoutMs: number;
	/** Calls that a person allowed. */
	readonly approved: ReadonlySet<string>;
	/** Told of every event as it is shown. */
	readonly onEvent: (event: RunEvent) => void;
	/** Questions that calls of this turn have put before: they are not run again. */
	readonly asked: readonly Question[];
	/** Why a call of this turn that ended before stops the run. */
	readonly haltedReason: string | undefined;
	/** Has noted that a tool begins with a call, before it does. */
	readonly onCall?: ((call: ToolCall, tool: Tool) => void | Promise<void>) | undefined;
	/** Has noted what a call asks the person. */
	readonly onQuestion?: ((question: Question, call: ToolCall) => void | Promise<void>) | undefined;
	/** Puts a result into the history, and has stored it when it resolves; with why it stops the run, if it does. */
	readonly store: (message: ToolMessage, haltedReason: string | undefined) => Promise<void>;
}

/** What came of the calls: the results in the order of the calls, and why the run may have to stop. */
export interface CallsOutcome {
	readonly results: readonly ToolResult[];
	/** Calls that somebody else has to answer, or to allow. */
	readonly manual: readonly WaitingCall[];
	readonly question?: Question | undefined;
	readonly haltedReason?: string | undefined;
}

/**
 * Runs the open calls of a turn: those that may run together, then the sequential ones, one at a time; manual ones stay
 * open. Each result is stored before it is shown. Once a tool asked or halted, no further sequential one begins.
 */
export function runCalls(request: CallsRequest): AsyncGenerator<RunEvent[], CallsOutcome> {
	const { calls, tools, context, timeoutMs, onEvent, onCall, onQuestion, store } = request;
	const work = async (push: (event: RunEvent) => undefined | Promise<void>): Promise<CallsOutcome> => {
		const results = new Map<string, ToolResult>();
		const outcome: { question?: Question; haltedReason?: string | undefined } = { haltedReason: request.haltedReason };

		const runOne = async (call: ToolCall): Promise<void> => {
			const before = request.asked.find(({ callId }) => callId === call.id);
			if (before !== undefined) {
				outcome.question ??= before;
				return;
			}
			const tool = findByCall(tools, call.name);
			if (tool !== undefined) await onCall?.(call, tool);
			const emit = (note: Note): void => void push(noteEvent(call.id, note));
			const given = await dispatch(tools, call, { ...context, emit, timeoutMs });
			if (isAskUser(given.output)) {
				const { question, options } = given.output;
				const asks: Question = { callId: call.id, question, ...(options !== undefined && { options }) };
				await onQuestion?.(asks, call);
				outcome.question ??= asks;
				return;
			}
			const halted = isHalt(given.output) ? given.output : undefined;
			if (halted !== undefined) outcome.haltedReason ??= halted.reason;
			const result = halted === undefined ? given : { ...given, output: halted.result };
			await store(toolResultMessage(result), halted?.reason);
			results.set(call.id, result);
			await push({ type: 'tool_result', ...result });
		};

		const { together, alone, manual } = await partition(request);
		await allDone(together.map(runOne));
		for (const call of alone) {
			if (outcome.question !== undefined || outcome.haltedReason !== undefined) break;
			await runOne(call);
		}
		return { ...outcome, manual, results: calls.flatMap(({ id }) => results.get(id) ?? []) };
	};
	return pushed(work, onEvent);
}

/** Calls by the way they run. One that cannot run is refused as any other, and never put before a person. */
async function partition({ calls, tools, context, timeoutMs, approved }: CallsRequest) {
	const together: ToolCall[] = [];
	const alone: ToolCall[] = [];
	const manual: WaitingCall[] = [];
	for (const call of calls) {
		const tool = findByCall(tools, call.name);
		const waits = tool && (await waitsForPerson(tool, call, approved, { ...context, timeoutMs }));
		if (waits === 'result') manual.push(call);
		else if (waits === 'approval') manual.push({ ...call, kind: waits });
		else (tool?.sequential === true ? alone : together).push(call);
	}
	return { together, alone, manual };
}

/** What a call with valid arguments waits for, of a manual tool or of one that needs approval; nothing for any other. */
async function waitsForPerson(
	tool: Tool,
	{ id, input }: ToolCall,
	approved: ReadonlySet<string>,
	context: InvokeContext,
): Promise<'result' | 'approval' | undefined> {
	const { needsApproval = false } = tool;
	const byHand = tool.manual === true || tool.fn === undefined;
	if (!byHand && (needsApproval === false || approved.has(id))) return undefined;
	if (!(await isAvailable(tool, context))) return undefined;
	const read = await inTime(tool.name, context, () => readArguments(tool, input));
	if (!read.ok) return undefined;
	if (byHand) return 'result';
	if (typeof needsApproval === 'boolean') return 'approval';
	const args = isRecord(read.value) ? read.value : {};
	// What cannot say that it needs none needs approval.
	const said = await inTime(tool.name, context, async () => ({ ok: true, value: await needsApproval(args) })).catch(
		(thrown: unknown) => {
			if (context.signal?.aborted) throw thrown;
		},
	);
	return said?.ok && !said.value ? undefined : 'approval';
}

/** Waits for all, then throws what the first failed one threw: none is left running behind the loop's back. */
async function allDone(running: readonly Promise<void>[]): Promise<void> {
	for (const settled of await Promise.allSettled(running)) {
		if (settled.status === 'rejected') throw settled.reason;
	}
}

function noteEvent(id: string, note: Note): RunEvent {
	return typeof note === 'string'
		? { type: 'note', id, label: note }
		: { type: 'note', id, label: note[0], detail: note[1] };
}
