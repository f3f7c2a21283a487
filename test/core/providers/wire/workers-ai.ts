import * as v from 'valibot';
import { providers } from '../../../../src/core/index.ts';
import { chatCompletions, chunk, done, functionTool, hearShared, readBody, readEvents, shared } from './chat.ts';
import { type Dialect, type Fault, type NeutralUsage, pieces, sse, usualUsage, type WireRequest } from './dialect.ts';

const wireModel = '@cf/meta/llama-4-scout-17b-16e-instruct';

/** Cloudflare's binding with a newer model: the events of Chat Completions. */
export const workersAi: Dialect = {
	name: 'workers-ai',
	model: `workers-ai/${wireModel}`,
	wireModel,
	provider: (baseURL, settings = {}) => providers.workersAi({ binding: bindingTo(baseURL), ...settings }),
	paths: { stream: `/run/${wireModel}`, whole: `/run/${wireModel}` },
	keys: [],
	events: readEvents,
	ending: 3,
	body: readBody,
	errorEvent: (kind) =>
		kind === 'overloaded'
			? sse({ error: { message: 'Capacity temporarily exceeded, please try again.', code: 3040 } })
			: sse({ error: { message: 'You have used up your daily free allocation of neurons.', code: 3036 } }),
	errorBody: (kind, message) => {
		const fault = faults[kind];
		if (fault === undefined) return undefined;
		const [status, internalCode, description] = fault;
		return { status, body: { internalCode, name: 'InferenceUpstreamError', description: message ?? description } };
	},
	codes: { overloaded: ['overloaded', 'rate_limited'] },
	unknownEvents: [sse({ object: 'weather', mood: 'sunny' }), chunk({ hologram: [1, 2] })],
	refusals: chatCompletions.refusals,
	memories: [],
	readRequest,
	can: { ...chatCompletions.can, audio: false, files: false, retryAfter: false },
};

const faults: Readonly<Partial<Record<Fault, readonly [status: number, code: number, description: string]>>> = {
	rate_limit: [429, 3036, 'You have used up your daily free allocation of 10,000 neurons.'],
	overloaded: [429, 3040, 'No more data centers to forward the request to'],
	auth: [403, 5018, 'The account is not allowed to access this model'],
	not_found: [400, 5007, 'No such model @cf/meta/unknown or task'],
	context: [
		400,
		5021,
		'The estimated number of input and maximum output tokens (33512) exceeded this model context window limit (32000).',
	],
	too_large: [413, 3006, 'Request is too large'],
};

/** Creates the stream of an older model: pieces of text, and the usage with an empty text. */
export function plainEvents(text: string, usage: NeutralUsage = usualUsage, tool_calls: readonly unknown[] = []) {
	return [
		...pieces(text).map((response) => sse({ response, p: 'abdefghij' })),
		...(tool_calls.length > 0 ? [sse({ response: null, tool_calls })] : []),
		sse({ response: '', usage: readUsage(usage) }),
		done,
	];
}

/** Creates the whole answer of an older model. */
export function plainBody(text: string, usage: NeutralUsage = usualUsage, tool_calls: readonly unknown[] = []) {
	return { response: text === '' ? null : text, tool_calls, usage: readUsage(usage) };
}

function readUsage({ input, output }: NeutralUsage) {
	return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}

interface RunOptions {
	readonly signal?: AbortSignal;
	readonly returnRawResponse?: boolean;
	readonly [option: string]: unknown;
}

/**
 * The `AI` binding of workerd (cloudflare/workerd, `src/cloudflare/internal/ai-api.ts`). The message of an error begins
 * with the code of Workers AI. The error has no status. Only the raw response has the status.
 */
function bindingTo(baseURL: string) {
	return {
		run: async (model: string, inputs: unknown, options: RunOptions = {}): Promise<unknown> => {
			const { signal, returnRawResponse, ...rest } = options;
			const response = await fetch(`${baseURL}/run/${model}`, {
				method: 'POST',
				headers: { 'content-type': 'application/json' },
				body: JSON.stringify({ inputs, options: rest }),
				signal,
			});
			if (returnRawResponse === true) return response;
			if (!response.ok) throw await upstreamError(response);
			const streams = typeof inputs === 'object' && inputs !== null && 'stream' in inputs && inputs.stream === true;
			if (streams || !response.headers.get('content-type')?.startsWith('application/json')) return response.body;
			return response.json();
		},
	};
}

async function upstreamError(response: Response): Promise<Error> {
	const content = await response.text();
	const read = v.safeParse(
		v.pipe(
			v.string(),
			v.parseJson(),
			v.object({ internalCode: v.number(), name: v.string(), description: v.string() }),
		),
		content,
	);
	if (!read.success) return Object.assign(new Error(content), { name: 'InferenceUpstreamError' });
	const { internalCode, name, description } = read.output;
	return Object.assign(new Error(`${internalCode}: ${description}`), { name });
}

const flatTool = v.strictObject({
	name: v.pipe(v.string(), v.regex(/^[a-zA-Z0-9_-]{1,64}$/)),
	description: v.optional(v.string()),
	parameters: v.looseObject({ type: v.literal('object') }),
});
const request = v.object({
	inputs: v.strictObject({
		...shared,
		tools: v.optional(
			v.pipe(v.array(v.union([functionTool, v.pipe(flatTool, v.transform(asFunction))])), v.nonEmpty()),
		),
		response_format: v.optional(v.strictObject({ type: v.literal('json_schema'), json_schema: v.looseObject({}) })),
	}),
});

function asFunction(tool: v.InferOutput<typeof flatTool>) {
	return { type: 'function' as const, function: tool };
}

function readRequest(body: unknown, path: string): WireRequest {
	const { inputs } = v.parse(request, body);
	const schema = inputs.response_format?.json_schema;
	return {
		model: path.replace('/run/', ''),
		...hearShared(inputs),
		outputSchema: schema !== undefined && 'schema' in schema ? schema.schema : schema,
	};
}
