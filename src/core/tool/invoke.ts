import { RunletError, toMessageText } from '../base/errors.ts';
import { isRecord, maxLevels } from '../base/json.ts';
import { isFn, listParamNames } from './fn.ts';
import { askUser, halt, isAskUser, isHalt, isParts } from './results.ts';
import { type Checked, checkInput, getProperties } from './schema.ts';
import { copyData, inMemoryState } from './state.ts';
import { type Note, noEnv, type Tool, type ToolContext } from './tool.ts';

/** The reason why a call returned no value. */
export interface ToolFailure {
	readonly kind: 'unknown_tool' | 'missing_argument' | 'invalid_argument' | 'failed';
	/** Tells the model, or the calling program, what to change. */
	readonly message: string;
}

export type Outcome<T = unknown> =
	| { readonly ok: true; readonly value: T }
	| { readonly ok: false; readonly error: ToolFailure };

const usualToolMs = 120_000;

/** The context of a call: the data that the tool gets, and the time limit. */
export type InvokeContext = Partial<ToolContext> & {
	/** The time limit in milliseconds for a call, and for each check before the call. The default is 120,000. */
	readonly timeoutMs?: number;
	/** Receives an error that a tool's function threw. The result has only the error's message. Must not throw. */
	readonly onThrow?: (tool: string, thrown: unknown) => void;
	/** Creates the idempotency key of a call. The default is a random key. */
	readonly createKey?: (callId: string) => string;
	/** Creates the header `traceparent` of a call. */
	readonly createTraceparent?: (callId: string) => string;
	/** The answer to the question that the call asked. With an answer, `onAnswer` runs instead of the function. */
	readonly answer?: { readonly text: string; readonly resume: unknown };
};

/**
 * Runs one tool: checks the input, reads the arguments, shows the notes, and calls the function within its time limit.
 * Returns failures as values. Throws only `cancelled`, if the caller's signal aborts.
 */
export async function invoke(tool: Tool, input: unknown, context: InvokeContext = {}): Promise<Outcome> {
	const { timeoutMs = context.timeoutMs } = tool;
	return limitTime(tool.name, { ...context, timeoutMs }, async (signal) => {
		const { timeoutMs: _, signal: __, onThrow, answer, ...rest } = context;
		const { createKey = () => crypto.randomUUID(), createTraceparent, ...shown } = rest;
		const emit = guardEmit(context.emit, signal);
		const read = await readArguments(tool, input);
		if (!read.ok) {
			// Without an `onError` hook, there is no note, because the result already has the message.
			if (tool.onError !== undefined) emitNote(emit, () => createErrorNote(tool, copyData(input), read.error.message));
			return read;
		}
		// The tool's hooks share the result of `readArgs`. Without `readArgs`, each hook gets its own copy of the
		// model's arguments.
		const args = (): unknown => (tool.readArgs === undefined ? copyData(read.value) : read.value);
		if (tool.fn === undefined)
			return createFailure('failed', `${tool.name} has no function: its result comes from outside.`);
		emitNote(emit, () => (answer === undefined ? tool.onRequest?.(args()) : ['Answer', answer.text]));
		const state = shown.state ?? inMemoryState();
		const { callId = '' } = shown;
		const workspace = shown.workspace?.forCall(callId, signal);
		const own = {
			skillContext: {},
			metadata: {},
			env: noEnv,
			...shown,
			callId,
			idempotencyKey: createKey(callId),
			...(createTraceparent !== undefined && { traceparent: createTraceparent(callId) }),
			state,
			workspace,
			emit,
			signal,
		};
		const outcome = await callHandler(tool, args(), own, { onThrow, answer });
		if (outcome.ok) emitNote(emit, () => createResultNote(tool, args(), outcome.value));
		else emitNote(emit, () => createErrorNote(tool, args(), outcome.error.message));
		return outcome;
	});
}

/** Checks a copy of the arguments against the tool's schema, and passes the copy to the tool's `readArgs`. */
export async function readArguments(tool: Tool, input: unknown): Promise<Outcome> {
	const given = input === undefined || input === null || input === '' ? {} : copyData(input);
	if (typeof given === 'string') {
		return createFailure(
			'invalid_argument',
			`The arguments are not valid JSON, or nested more than ${maxLevels} levels deep. Call ${tool.name} again with one JSON object.`,
		);
	}
	try {
		return await checkArguments(tool, given);
	} catch (error) {
		return createFailure('invalid_argument', toMessageText(error));
	}
}

/** Like `readArguments`, for parsed arguments. Returns a promise only if the schema or `readArgs` is asynchronous. */
export function checkArguments(tool: Tool, given: unknown): Outcome | Promise<Outcome> {
	const read = (checked: Checked): Outcome | Promise<Outcome> => {
		if ('issues' in checked) {
			return createFailure(
				'invalid_argument',
				`${toList(checked.issues)}\nCorrect the arguments and call ${tool.name} again.`,
			);
		}
		if (tool.readArgs === undefined) return { ok: true, value: checked.value };
		const value = tool.readArgs(isRecord(checked.value) ? checked.value : {});
		return value instanceof Promise ? value.then((later) => ({ ok: true, value: later })) : { ok: true, value };
	};
	const checked = checkInput(tool.inputSchema, given);
	return checked instanceof Promise ? checked.then(read) : read(checked);
}

/** Joins the first issues. The list is short because a model fixes only a few mistakes at a time. */
function toList(issues: readonly string[]): string {
	const shown = issues.slice(0, 20).join('\n');
	return issues.length > 20 ? `${shown}\n… and ${issues.length - 20} more` : shown;
}

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

/** Makes the note for a successful call with the tool's `onResult`. A call that asks the user has no note yet. */
function createResultNote(tool: Tool, args: unknown, value: unknown): Note | undefined {
	if (isAskUser(value)) return undefined;
	return tool.onResult?.(args, copyData(isHalt(value) ? value.result : value));
}

/** Makes the note for a failed call with the tool's `onError`. If this hook returns `ignore`, there is no note. */
function createErrorNote(tool: Tool, args: unknown, reason: string): Note | undefined {
	const said = tool.onError?.(args, reason) ?? 'default';
	if (said === 'ignore') return undefined;
	return said === 'default' ? [`${tool.name} failed`, reason] : said;
}

export function createFailure(kind: ToolFailure['kind'], message: string): { ok: false; error: ToolFailure } {
	return { ok: false, error: { kind, message } };
}

/** Limits the time of `work`. The signal of `work` aborts with the caller's signal and at the end of the time limit. */
export async function limitTime(
	name: string,
	{ signal: outer, timeoutMs = usualToolMs }: InvokeContext,
	work: (signal: AbortSignal) => Promise<Outcome>,
): Promise<Outcome> {
	throwIfAborted(outer);
	const controller = new AbortController();
	let timer: ReturnType<typeof setTimeout> | undefined;
	let onAbort = (): void => {};
	const ended = new Promise<Outcome>((resolve, reject) => {
		const after = Math.min(timeoutMs, 2 ** 31 - 1);
		timer = setTimeout(() => resolve(createFailure('failed', `${name} gave no result within ${timeoutMs} ms.`)), after);
		onAbort = () => {
			controller.abort(outer?.reason);
			reject(createCancelled());
		};
		outer?.addEventListener('abort', onAbort, { once: true });
	});
	try {
		return await Promise.race([work(controller.signal), ended]);
	} finally {
		if (timer !== undefined) clearTimeout(timer);
		outer?.removeEventListener('abort', onAbort);
		// Aborts the tool if it still runs.
		controller.abort();
	}
}

async function callHandler(
	tool: Tool,
	args: unknown,
	context: ToolContext,
	{ onThrow, answer }: Pick<InvokeContext, 'onThrow' | 'answer'>,
): Promise<Outcome> {
	try {
		const value =
			answer === undefined ? await call(tool, args, context) : await takeAnswer(tool, args, answer, context);
		throwIfAborted(context.signal);
		return asData(tool, value);
	} catch (error) {
		throwIfAborted(context.signal);
		const refused = error instanceof RunletError && error.code === 'invalid_argument';
		if (!isExpected(error)) onThrow?.(tool.name, error);
		return createFailure(refused ? 'invalid_argument' : 'failed', toMessageText(error));
	}
}

/** The codes of file and server errors that a model can handle. Such an error is not a fault of the tool. */
const expectedCodes: readonly string[] = [
	'invalid_argument',
	'invalid_request',
	'not_found',
	'conflict',
	'too_large',
	'network',
	'timeout',
];

function isExpected(error: unknown): boolean {
	return error instanceof RunletError && expectedCodes.includes(error.code);
}

async function call(tool: Tool, args: unknown, context: ToolContext): Promise<unknown> {
	if (tool.fn === undefined) return undefined;
	if (tool.passInput === true) return tool.fn(args, context);
	const names = isFn(tool.fn) ? listParamNames(tool.fn) : Object.keys(getProperties(tool.inputSchema));
	return applyByName(tool.fn.bind(tool), names, isRecord(args) ? args : {});
}

/** Passes a person's answer to the tool that asked. Without `onAnswer`, the answer is the result. */
function takeAnswer(
	tool: Tool,
	args: unknown,
	{ text, resume }: NonNullable<InvokeContext['answer']>,
	context: ToolContext,
): unknown {
	return tool.onAnswer === undefined ? text : tool.onAnswer(text, { args, resume }, context);
}

/** The maximum length of a question's `resume` data in characters of JSON. */
const longestResume = 262_144;

/** Converts the return value of a tool to a JSON copy for the history. Fails if JSON cannot hold the value. */
function asData(tool: Tool, value: unknown): Outcome {
	if (isAskUser(value)) {
		const options = asData(tool, value.options);
		if (!options.ok) return options;
		const resume = value.resume === undefined ? { ok: true as const, value: undefined } : asData(tool, value.resume);
		if (!resume.ok) return resume;
		if (JSON.stringify(resume.value ?? null).length > longestResume)
			return createFailure('failed', `${tool.name} keeps more than ${longestResume} characters with its question.`);
		return {
			ok: true,
			value: askUser(value.question, isRecord(options.value) ? options.value : undefined, resume.value),
		};
	}
	if (isHalt(value)) {
		const result = asData(tool, value.result);
		return result.ok ? { ok: true, value: halt(value.reason, result.value) } : result;
	}
	if (typeof value === 'string' || isParts(value)) return { ok: true, value };
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

function emitNote(emit: ToolContext['emit'], make: () => Note | undefined): void {
	try {
		const said = make();
		if (said !== undefined && said !== null && said !== '') emit(said);
	} catch {
		// If a hook throws, only its note is missing.
	}
}

/** Shows notes while the call runs. An `emit` that throws does not make the call fail. */
function guardEmit(emit: ToolContext['emit'] = () => {}, signal: AbortSignal): ToolContext['emit'] {
	return (said) => {
		try {
			if (!signal.aborted) emit(said);
		} catch {
			// A failure to show a note is not an error of the tool.
		}
	};
}

function throwIfAborted(signal: AbortSignal | undefined): void {
	if (signal?.aborted === true) throw createCancelled();
}

function createCancelled(): RunletError {
	return new RunletError('cancelled', 'The run was cancelled.');
}
