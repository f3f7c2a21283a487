import { RunletError, toMessageText } from '../ground/errors.ts';
import { isRecord, maxLevels } from '../ground/json.ts';
import { askUser, halt, isAskUser, isHalt } from './control.ts';
import { copyData } from './copy.ts';
import { isFn, paramNames } from './fn.ts';
import { checkInput, getProperties } from './schema.ts';
import type { Note, Tool, ToolContext } from './tool.ts';

/** Why a call gave no value. */
export interface ToolFailure {
	readonly kind: 'unknown_tool' | 'missing_argument' | 'invalid_argument' | 'failed';
	/** Says to the model, or the caller, what to change. */
	readonly message: string;
}

export type Outcome<T = unknown> =
	| { readonly ok: true; readonly value: T }
	| { readonly ok: false; readonly error: ToolFailure };

/** Milliseconds that a tool may take where nobody says. */
const usualToolMs = 120_000;

/** What `invoke` may be told: everything a tool sees, and how long it may take. */
export type InvokeContext = Partial<ToolContext> & {
	/** Milliseconds for the call, and for each question that is asked of the tool before it; 120,000. */
	readonly timeoutMs?: number;
	/** Told what a tool's function threw: the result has its message only. Never throws. */
	readonly onThrow?: (tool: string, thrown: unknown) => void;
};

/**
 * Runs one tool: checks the input, reads the arguments, shows the notes, calls the function within its time. Every
 * failure is a value; it throws only when the caller's signal aborts (`cancelled`).
 */
export async function invoke(tool: Tool, input: unknown, context: InvokeContext = {}): Promise<Outcome> {
	return limitTime(tool.name, context, async (signal) => {
		const { timeoutMs: _, onThrow, ...shown } = context;
		const emit = guardEmit(context.emit, signal);
		const arranged = await readArguments(tool, input);
		if (!arranged.ok) {
			// Who wrote a hook wants to say something; else the result says it all.
			if (tool.onError !== undefined) note(emit, () => errorNote(tool, copyData(input), arranged.error.message));
			return arranged;
		}
		// What `readArgs` made is the tool's own; else each function gets a copy of what the model wrote.
		const args = (): unknown => (tool.readArgs === undefined ? copyData(arranged.value) : arranged.value);
		if (tool.fn === undefined)
			return createFailure('failed', `${tool.name} has no function: its result comes from outside.`);
		note(emit, () => tool.onRequest?.(args()));
		const own = { callId: '', skillContext: {}, ...shown, emit, signal };
		const outcome = await findOutcome(tool, args(), own, onThrow);
		if (outcome.ok) note(emit, () => resultNote(tool, args(), outcome.value));
		else note(emit, () => errorNote(tool, args(), outcome.error.message));
		return outcome;
	});
}

/**
 * A tool's arguments, checked by its schema and read by its `readArgs`: what the handler and the notes get. They are made
 * from a copy, so that no tool changes what the history says of its call.
 */
export async function readArguments(tool: Tool, input: unknown): Promise<Outcome> {
	const given = input === undefined || input === null || input === '' ? {} : copyData(input);
	if (typeof given === 'string') {
		return createFailure(
			'invalid_argument',
			`The arguments are not valid JSON, or nested more than ${maxLevels} levels deep. Call ${tool.name} again with one JSON object.`,
		);
	}
	try {
		const checked = await checkInput(tool.inputSchema, given);
		if ('issues' in checked) {
			return createFailure(
				'invalid_argument',
				`${toList(checked.issues)}\nCorrect the arguments and call ${tool.name} again.`,
			);
		}
		if (tool.readArgs === undefined) return { ok: true, value: checked.value };
		return { ok: true, value: await tool.readArgs(isRecord(checked.value) ? checked.value : {}) };
	} catch (error) {
		return createFailure('invalid_argument', toMessageText(error));
	}
}

/** The first of what is wrong: a model mends a few mistakes at a time. */
function toList(issues: readonly string[]): string {
	const shown = issues.slice(0, 20).join('\n');
	return issues.length > 20 ? `${shown}\n… and ${issues.length - 20} more` : shown;
}

/** Calls a function made by `fn`, or any other, with arguments by name. */
export function applyByName(
	f: (...args: never[]) => unknown,
	names: readonly string[],
	values: Readonly<Record<string, unknown>>,
): unknown {
	return Reflect.apply(
		f,
		undefined,
		names.map((name) => (Object.hasOwn(values, name) ? values[name] : undefined)),
	);
}

/** The note for a call that went well, by the tool's `onResult`: none while its question is open. */
function resultNote(tool: Tool, args: unknown, value: unknown): Note | undefined {
	if (isAskUser(value)) return undefined;
	return tool.onResult?.(args, copyData(isHalt(value) ? value.result : value));
}

/** The note for a failed call, by the tool's `onError`: none for `ignore`. */
function errorNote(tool: Tool, args: unknown, reason: string): Note | undefined {
	const said = tool.onError?.(args, reason) ?? 'default';
	if (said === 'ignore') return undefined;
	return said === 'default' ? [`${tool.name} failed`, reason] : said;
}

export function createFailure(kind: ToolFailure['kind'], message: string): { ok: false; error: ToolFailure } {
	return { ok: false, error: { kind, message } };
}

/** The work's outcome, or that it took too long. Its signal aborts with the caller's, and when its time is over. */
export async function limitTime(
	name: string,
	{ signal: outer, timeoutMs = usualToolMs }: InvokeContext,
	work: (signal: AbortSignal) => Promise<Outcome>,
): Promise<Outcome> {
	throwIfAborted(outer);
	const own = new AbortController();
	const signal = outer === undefined ? own.signal : AbortSignal.any([outer, own.signal]);
	let timer: ReturnType<typeof setTimeout> | undefined;
	const late = new Promise<Outcome>((resolve) => {
		const after = Math.min(timeoutMs, 2 ** 31 - 1);
		timer = setTimeout(() => resolve(createFailure('failed', `${name} gave no result within ${timeoutMs} ms.`)), after);
	});
	try {
		return await Promise.race([work(signal), late, rejectOnAbort(signal)]);
	} finally {
		if (timer !== undefined) clearTimeout(timer);
		// A tool that goes on after its time is told to stop.
		own.abort();
	}
}

async function findOutcome(
	tool: Tool,
	args: unknown,
	context: ToolContext,
	onThrow: InvokeContext['onThrow'],
): Promise<Outcome> {
	try {
		const value = await call(tool, args, context);
		throwIfAborted(context.signal);
		return asData(tool, value);
	} catch (error) {
		throwIfAborted(context.signal);
		const refused = error instanceof RunletError && error.code === 'invalid_argument';
		if (!refused) onThrow?.(tool.name, error);
		return createFailure(refused ? 'invalid_argument' : 'failed', toMessageText(error));
	}
}

async function call(tool: Tool, args: unknown, context: ToolContext): Promise<unknown> {
	if (tool.fn === undefined) return undefined;
	if (tool.passInput === true) return tool.fn(args, context);
	const names = isFn(tool.fn) ? paramNames(tool.fn) : Object.keys(getProperties(tool.inputSchema));
	return applyByName(tool.fn.bind(tool), names, isRecord(args) ? args : {});
}

/**
 * What a tool gave back, as `JSON.stringify` writes it: what a history holds and every session stores, `toJSON` included.
 * A copy, so that nothing the tool does later changes it. Refused where JSON cannot hold it.
 */
function asData(tool: Tool, value: unknown): Outcome {
	if (isAskUser(value)) {
		const options = asData(tool, value.options);
		if (!options.ok) return options;
		return { ok: true, value: askUser(value.question, isRecord(options.value) ? options.value : undefined) };
	}
	if (isHalt(value)) {
		const result = asData(tool, value.result);
		return result.ok ? { ok: true, value: halt(value.reason, result.value) } : result;
	}
	if (typeof value === 'string') return { ok: true, value };
	if (typeof value === 'bigint') return { ok: true, value: String(value) };
	if (typeof value === 'function' || typeof value === 'symbol') {
		return createFailure('failed', `${tool.name} returned what JSON cannot hold: a ${typeof value}.`);
	}
	try {
		const json = JSON.stringify(value);
		return { ok: true, value: json === undefined ? null : JSON.parse(json) };
	} catch (error) {
		return createFailure('failed', `${tool.name} returned what JSON cannot hold: ${toMessageText(error)}`);
	}
}

function note(emit: (note: Note) => void, make: () => Note | undefined): void {
	try {
		const said = make();
		if (said !== undefined && said !== null && said !== '') emit(said);
	} catch {
		// A hook that throws costs only its note.
	}
}

/** Shows notes while the call goes on; who follows a run must not be able to fail it. */
function guardEmit(emit: ToolContext['emit'] = () => {}, signal: AbortSignal): ToolContext['emit'] {
	return (said) => {
		try {
			if (!signal.aborted) emit(said);
		} catch {
			// The tool is not to blame.
		}
	};
}

function throwIfAborted(signal: AbortSignal | undefined): void {
	if (signal?.aborted === true) throw new RunletError('cancelled', 'The run was cancelled.');
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
	return new Promise((_, reject) => {
		signal.addEventListener('abort', () => reject(new RunletError('cancelled', 'The run was cancelled.')), {
			once: true,
		});
	});
}
