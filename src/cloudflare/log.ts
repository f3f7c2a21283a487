import { type ErrorBody, RunletError, toMessageText, toRunletError } from '../core/base/errors.ts';
import { redactSecrets } from '../core/base/text.ts';

/**
 * Writes one line of JSON for an event, which Workers Logs and `wrangler tail` can read. Only this file writes to the
 * console.
 *
 * A line holds only the fields listed here (docs/deploy.md, "Logs"): names from this code, ids and numbers. There
 * is no field for a body, a query, a header, a message or other text from a request. Where OpenTelemetry names a field,
 * that name is used (https://opentelemetry.io/docs/specs/semconv/). The other names start with `runlet.`.
 */
export function log(level: LogLevel, event: string, fields: LogFields = {}): void {
	write(level, event, fields);
}

function write(level: LogLevel, event: string, fields: LogFields, more: Readonly<Record<string, string>> = {}): void {
	const line: Record<string, unknown> = { level, event, ...more };
	for (const [name, value] of Object.entries(fields)) {
		const form = forms.get(name);
		if (form !== undefined && value !== undefined) line[name] = isAllowedValue(value, form) ? value : 'redacted';
	}
	console[level](JSON.stringify(line));
}

export type LogLevel = 'info' | 'warn' | 'error';

/** The fields of a line. */
export type LogFields = { readonly [N in StringField]?: string } & {
	readonly [N in NumberField]?: number;
};

/** One word: the name of a model or an agent, or a code. */
const name = /^[\w.:/@-]{1,128}$/;
const id = /^[\w-]{1,128}$/;

/** The form of each field's text. A text that does not match is written as `redacted`. */
const strings = {
	'error.type': name,
	'exception.type': id,
	'exception.stacktrace': /^(at [^\n]{1,300}(\n|$)){1,16}$/,
	'gen_ai.agent.name': id,
	'gen_ai.conversation.id': id,
	'gen_ai.operation.name': id,
	'gen_ai.provider.name': name,
	'gen_ai.request.model': name,
	'gen_ai.tool.name': name,
	'http.request.method': /^[A-Z_]{1,16}$/,
	'http.route': /^\/[\w/:.{}*-]{0,128}$/,
	'runlet.key.id': id,
	'runlet.mcp.server': id,
	'runlet.object': id,
	'runlet.object.id': id,
	'runlet.owner': id,
	'runlet.request.id': id,
	'runlet.run.id': id,
	'runlet.run.status': id,
	'runlet.secret.name': id,
	'runlet.skill.name': name,
	'runlet.transport': name,
	'runlet.variable': /^[A-Z][A-Z0-9_]{0,63}$/,
} as const;

const numbers = [
	'gen_ai.usage.cache_read.input_tokens',
	'gen_ai.usage.input_tokens',
	'gen_ai.usage.output_tokens',
	'gen_ai.usage.reasoning.output_tokens',
	'http.response.status_code',
	'runlet.cost.usd',
	'runlet.duration_ms',
	'runlet.first_event_ms',
	'runlet.object.bytes',
	'runlet.run.lives',
	'runlet.run.tool_calls',
	'runlet.run.tool_failures',
	'runlet.run.turns',
] as const;

type StringField = keyof typeof strings;
type NumberField = (typeof numbers)[number];

const forms: ReadonlyMap<string, RegExp | 'number'> = new Map<string, RegExp | 'number'>([
	...Object.entries(strings),
	...numbers.map((field) => [field, 'number'] as const),
]);

function isAllowedValue(value: unknown, form: RegExp | 'number'): boolean {
	if (form === 'number') return Number.isFinite(value);
	return typeof value === 'string' && form.test(value) && redactSecrets(value) === value;
}

/**
 * Returns the fields of a failure: its code, and the stack frames of its innermost cause. Never includes the message,
 * which can quote a request, an answer or a key.
 */
export function toFailureFields(
	thrown: unknown,
): Pick<LogFields, 'error.type' | 'exception.type' | 'exception.stacktrace' | 'runlet.variable'> {
	const root = findRoot(thrown);
	const type = root instanceof Error ? nameClass(root) : typeof root;
	const expected = thrown instanceof RunletError && root === thrown && thrown.status !== 500;
	return {
		'error.type': thrown instanceof RunletError ? thrown.code : type,
		'runlet.variable': thrown instanceof RunletError ? findVariable(thrown) : undefined,
		...(!expected && {
			'exception.type': type,
			'exception.stacktrace': root instanceof Error ? readFrames(root) : undefined,
		}),
	};
}

/** Where a function of the project threw an error: a tool, and the ids of its session, its run and its request. */
interface ThrownAbout {
	readonly tool?: string;
	readonly session?: string;
	readonly run?: string;
	readonly request?: string;
	readonly local: boolean;
}

/**
 * Logs the error that a function of the project threw: its class and its stack frames. Includes the message only on a
 * developer's own machine.
 */
export function logThrown(
	event: 'tool.threw' | 'authenticate.threw' | 'approvers.threw',
	thrown: unknown,
	{ tool, session, run, request, local }: ThrownAbout,
): void {
	const { 'exception.type': type, 'exception.stacktrace': stack } = toFailureFields(thrown);
	const fields = {
		'gen_ai.tool.name': tool,
		'gen_ai.conversation.id': session,
		'runlet.run.id': run,
		'runlet.request.id': request,
		'exception.type': type,
		'exception.stacktrace': stack,
	};
	const message = local ? redactSecrets(toMessageText(thrown)).slice(0, 1_000) : undefined;
	write('error', event, fields, message === undefined ? {} : { 'exception.message': message });
}

/** Logs a failure that is Runlet's own fault. A failure that the caller can fix is only in the answer. */
export function logUnexpected(thrown: unknown): void {
	const { status, code } = toRunletError(thrown);
	if (status === 500 || code === 'storage_unavailable') log('error', 'failure', toFailureFields(thrown));
}

/** The maximum number of causes that are followed. */
const deepest = 8;

function findRoot(thrown: unknown): unknown {
	let root = thrown;
	for (let depth = 0; depth < deepest && root instanceof Error && root.cause !== undefined; depth++) root = root.cause;
	return root;
}

/** The name of a class of errors. Any code can set `name`, so no other text is written. */
const className = /^(?:[A-Z][A-Za-z]{0,60})?(?:Error|Exception)$/;

/** Returns the class from the error's `name`. In minified code the class itself has another name. */
function nameClass({ name }: Error): string {
	return className.test(name) ? name : 'Error';
}

/** A stack frame of V8: an optional function name and a position in a file. */
const frame =
	/^ {4}(at (?:async )?(?:(?:new )?[\w$.<>#[\] ]{1,80}(?: \[as [\w$]{1,40}\])? \([\w./:@~+%-]{1,160}\)|[\w./:@~+%-]{1,160}))$/;

/**
 * Returns the stack frames after the message. A message can have lines that look like frames, so the message is removed
 * first. Returns undefined if the stack does not start with the message.
 */
function readFrames({ message, stack = '' }: Error): string | undefined {
	const head = /^[\w$.]*(?:: )?/.exec(stack)?.[0] ?? '';
	const rest = stack.slice(head.length);
	if (!rest.startsWith(`${message}\n`)) return undefined;
	const lines = rest.slice(message.length + 1).split('\n');
	const frames = lines.flatMap((line) => frame.exec(line)?.[1] ?? []).slice(0, 12);
	return frames.length === 0 ? undefined : frames.join('\n');
}

/** Returns the variable that an error is about: the variable is not set, or a provider refuses its value. */
export function findVariable({ code, message, data }: ErrorBody['error']): string | undefined {
	if (typeof data?.needs === 'string') return data.needs;
	return code === 'not_configured' ? /^([A-Z][A-Z0-9_]{1,63}):/.exec(message)?.[1] : undefined;
}
