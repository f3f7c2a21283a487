import { messageOf, RunletError } from '../errors.ts';
import { isAskUser, isHalt } from './control.ts';
import { isFn, paramNames } from './fn.ts';
import { checkInput, isRecord, propertiesOf } from './schema.ts';
import type { Note, Tool, ToolContext } from './tool.ts';

/** Why a call gave no value, in document 004's kinds. */
export interface ToolFailure {
	readonly kind: 'unknown_tool' | 'missing_argument' | 'invalid_argument' | 'failed';
	/** Says to the model, or the caller, what to change. */
	readonly message: string;
}

export type Outcome<T = unknown> =
	| { readonly ok: true; readonly value: T }
	| { readonly ok: false; readonly error: ToolFailure };

/** What `invoke` may be told: everything a tool sees, and how long it may take. */
export type InvokeContext = Partial<ToolContext> & { readonly timeoutMs?: number | undefined };

/**
 * Runs one tool: checks the input, reads the arguments, shows the notes, calls the function within its time. Every
 * failure is a value; it throws only when the caller's signal aborts (`cancelled`).
 */
export async function invoke(tool: Tool, input: unknown, context: InvokeContext = {}): Promise<Outcome> {
	const emit = neverThrowing(context.emit);
	const arranged = await readArguments(tool, input);
	if (!arranged.ok) {
		// Who wrote a hook wants to say something; else the result says it all.
		if (tool.onError !== undefined) note(emit, () => errorNote(tool, input, arranged.error.message));
		return arranged;
	}
	const args = arranged.value;
	if (tool.fn === undefined) return failure('failed', `${tool.name} has no function: its result comes from outside.`);
	note(emit, () => tool.onRequest?.(args));
	const outcome = await callInTime(tool, args, { ...context, emit });
	if (outcome.ok) note(emit, () => resultNote(tool, args, outcome.value));
	else note(emit, () => errorNote(tool, args, outcome.error.message));
	return outcome;
}

/** A tool's arguments, checked by its schema and read by its `readArgs`: what the handler and the notes get. */
export async function readArguments(tool: Tool, input: unknown): Promise<Outcome> {
	const given = input === undefined || input === null || input === '' ? {} : input;
	if (typeof given === 'string') {
		return failure(
			'invalid_argument',
			`The arguments are not valid JSON. Call ${tool.name} again with one JSON object.`,
		);
	}
	try {
		const checked = await checkInput(tool.inputSchema, given);
		if ('issues' in checked) {
			return failure(
				'invalid_argument',
				`${checked.issues.join('\n')}\nCorrect the arguments and call ${tool.name} again.`,
			);
		}
		if (tool.readArgs === undefined) return { ok: true, value: checked.value };
		return { ok: true, value: await tool.readArgs(isRecord(checked.value) ? checked.value : {}) };
	} catch (error) {
		return failure('invalid_argument', messageOf(error));
	}
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
	return tool.onResult?.(args, isHalt(value) ? value.result : value);
}

/** The note for a failed call, by the tool's `onError` (document 004): none for `ignore`. */
function errorNote(tool: Tool, args: unknown, reason: string): Note | undefined {
	const said = tool.onError?.(args, reason) ?? 'default';
	if (said === 'ignore') return undefined;
	return said === 'default' ? [`${tool.name} failed`, reason] : said;
}

export function failure(kind: ToolFailure['kind'], message: string): { ok: false; error: ToolFailure } {
	return { ok: false, error: { kind, message } };
}

async function callInTime(
	tool: Tool,
	args: unknown,
	context: InvokeContext & Pick<ToolContext, 'emit'>,
): Promise<Outcome> {
	const { signal: outer, timeoutMs } = context;
	throwIfAborted(outer);
	const own = new AbortController();
	const signal = outer === undefined ? own.signal : AbortSignal.any([outer, own.signal]);
	let timer: ReturnType<typeof setTimeout> | undefined;
	try {
		const running = Promise.resolve(call(tool, args, { ...contextDefaults, ...context, signal }));
		const value = await Promise.race([
			running,
			aborted(signal),
			...(timeoutMs === undefined
				? []
				: [
						new Promise<never>((_, reject) => {
							timer = setTimeout(() => {
								reject(new Error(`${tool.name} gave no result within ${timeoutMs} ms.`));
								own.abort();
							}, timeoutMs);
						}),
					]),
		]);
		throwIfAborted(outer);
		return asData(tool, value);
	} catch (error) {
		throwIfAborted(outer);
		const refused = error instanceof RunletError && error.code === 'invalid_argument';
		return failure(refused ? 'invalid_argument' : 'failed', messageOf(error));
	} finally {
		if (timer !== undefined) clearTimeout(timer);
		// A tool that goes on after its time, or whose siblings were cancelled, is told to stop.
		own.abort();
	}
}

const contextDefaults = { callId: '', skillContext: {} } as const;

async function call(tool: Tool, args: unknown, context: ToolContext): Promise<unknown> {
	if (tool.fn === undefined) return undefined;
	if (tool.passInput === true) return tool.fn(args, context);
	const names = isFn(tool.fn) ? paramNames(tool.fn) : Object.keys(propertiesOf(tool.inputSchema));
	return applyByName(tool.fn.bind(tool), names, isRecord(args) ? args : {});
}

/** What a tool gave back, refused where it could not be written into a history. */
function asData(tool: Tool, value: unknown): Outcome {
	if (typeof value === 'bigint') return { ok: true, value: String(value) };
	if (typeof value === 'function' || typeof value === 'symbol') {
		return failure('failed', `${tool.name} returned what JSON cannot hold: a ${typeof value}.`);
	}
	if (typeof value === 'object' && value !== null) {
		try {
			JSON.stringify(value);
		} catch (error) {
			return failure('failed', `${tool.name} returned what JSON cannot hold: ${messageOf(error)}`);
		}
	}
	return { ok: true, value: value ?? null };
}

function note(emit: (note: Note) => void, make: () => Note | undefined): void {
	try {
		const said = make();
		if (said !== undefined && said !== null && said !== '') emit(said);
	} catch {
		// A hook that throws costs only its note (parity.md, "What outside checks rely on").
	}
}

function neverThrowing(emit: ToolContext['emit'] = () => {}): ToolContext['emit'] {
	return (said) => {
		try {
			emit(said);
		} catch {
			// Who follows a run must not be able to fail it.
		}
	};
}

export function throwIfAborted(signal: AbortSignal | undefined): void {
	if (signal?.aborted === true) throw new RunletError('cancelled', 'The run was cancelled.');
}

function aborted(signal: AbortSignal): Promise<never> {
	return new Promise((_, reject) => {
		signal.addEventListener('abort', () => reject(new RunletError('cancelled', 'The run was cancelled.')), {
			once: true,
		});
	});
}
