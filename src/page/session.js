/**
 * A client for Runlet's sessions, without build or dependencies: the page and `npm run chat` both use this file.
 *
 * @typedef {{ name: string, description?: string }} Named
 * @typedef {{ name: string, ready: boolean, needs?: string }} Model whether it can be asked, and what to set if not
 * @typedef {{ name: string, description?: string, examples?: string[], model?: string, models?: Model[], tools?: Named[], skills?: Named[] }} Agent
 * @typedef {'idle' | 'running' | 'awaiting_user' | 'awaiting_tools' | 'completed' | 'error'} Status
 * @typedef {{ id: string, agent: string, model?: string, status: Status, run?: { id: string, status: string }, toolCalls?: ToolCall[] }} Session
 * @typedef {{ id: string, name: string, input: unknown, kind?: string }} ToolCall what waits for approval is of that kind
 * @typedef {{ name: string, type: string, size: number, contentBase64: string }} Attachment
 * @typedef {{ id: string, output: unknown, isError?: boolean } | { id: string, approve: boolean, reason?: string }} Answer
 * @typedef {object} Message
 * @property {string} id
 * @property {string} [runId]
 * @property {'system' | 'user' | 'assistant' | 'tool'} role
 * @property {boolean} [isInput] whether it came from outside, and no model or tool of the run said it
 * @property {boolean} [isReplaced] whether another message took its place: no model is sent it
 * @property {unknown} content a text, a list of parts, or what a tool gave
 * @property {string} [reasoning]
 * @property {ToolCall[]} [toolCalls]
 * @property {string} [toolCallId]
 * @property {boolean} [isError]
 * @property {{ kind: string, text?: string, name?: string }[]} [parts]
 * @property {{ name: string, type: string, size: number }[]} [attachments]
 *
 * @typedef {{ inputTokens?: number, outputTokens?: number, totalTokens?: number, costUsd?: number }} Usage
 * @typedef {{ callId?: string, question: string }} Question
 * @typedef {(
 *   | { type: 'run.started', runId: string, attempt: number }
 *   | { type: 'text', text: string }
 *   | { type: 'reasoning', text: string }
 *   | { type: 'tool_use_start', id: string, name: string }
 *   | { type: 'tool_use_input', id: string, partialInputJson: string }
 *   | { type: 'tool_use_end', id: string }
 *   | { type: 'stop', reason: string, usage?: Usage }
 *   | { type: 'tool_result', id: string, output: unknown, isError?: boolean }
 *   | { type: 'note', id?: string, label: string, detail?: string }
 *   | { type: 'warning', code: string, message: string }
 *   | { type: 'turn.restarted', iteration: number }
 *   | { type: 'done', text: string, usage?: Usage }
 *   | { type: 'awaiting', status: string, question?: Question | string, toolCalls?: ToolCall[] }
 *   | { type: 'halted', reason: string }
 *   | { type: 'cancelled' }
 *   | { type: 'error', code: string, message: string }
 * )} RunEvent what a run says; kinds not named here exist and are to be ignored
 *
 * @typedef {{ signal?: AbortSignal | undefined }} Signal
 * @typedef {ReturnType<typeof createClient>} Client
 */

import { readSse, SseBroken } from './sse.js';

const terminalTypes = new Set(['done', 'awaiting', 'halted', 'cancelled', 'error']);

/**
 * A failed request. `code` and `message` are the server's own where it answered; else `code` is `unreachable` (no
 * answer at all) or `connection_lost` (an answer that broke off), and `status` is undefined.
 */
export class ClientError extends Error {
	/** @override */
	name = 'ClientError';

	/**
	 * @param {string} code
	 * @param {string} message
	 * @param {{ status?: number, cause?: unknown }} [options]
	 */
	constructor(code, message, { status, cause } = {}) {
		super(message, { cause });
		this.code = code;
		this.status = status;
	}
}

/**
 * @param {object} [options]
 * @param {string} [options.url] where the server is, without a slash at the end; by default the page's own origin
 * @param {Record<string, string>} [options.headers] sent with every request
 * @param {number} [options.retries] how often a dropped stream is taken up again without progress
 * @param {number} [options.readRetries] how often a read that failed is asked again
 * @param {number} [options.retryDelayMs] wait before the first retry; doubles up to 8 s
 * @param {number} [options.idleMs] a stream silent for so long is dropped; the server sends something every 15 s
 * @param {(attempt: number) => void} [options.onRetry] called before each wait
 */
export function createClient({
	url = '',
	headers = {},
	retries = 7,
	readRetries = 0,
	retryDelayMs = 250,
	idleMs = 45_000,
	onRetry,
} = {}) {
	/**
	 * @param {string} path
	 * @param {{ method?: string, body?: unknown, headers?: Record<string, string> } & Signal} [options]
	 */
	async function request(path, { method = 'GET', body, headers: more = {}, signal } = {}) {
		/** @type {Response} */
		let response;
		try {
			response = await fetch(`${url}${path}`, {
				method,
				headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...more },
				body: body === undefined ? null : JSON.stringify(body),
				signal: signal ?? null,
			});
		} catch (cause) {
			if (signal?.aborted) throw cause;
			throw new ClientError('unreachable', 'The server does not answer.', { cause });
		}
		if (!response.ok) throw await toClientError(response);
		return response;
	}

	/**
	 * @param {string} path
	 * @param {{ method?: string, body?: unknown } & Signal} [options]
	 */
	async function json(path, options) {
		const response = await request(path, options);
		try {
			return await response.json();
		} catch (cause) {
			if (options?.signal?.aborted) throw cause;
			throw new ClientError('connection_lost', 'The answer of the server broke off.', { cause });
		}
	}

	/**
	 * What a path has. Asked again after a failure that may pass.
	 *
	 * @param {string} path
	 * @param {Signal} [options]
	 */
	async function read(path, options) {
		for (let failures = 0; ; ) {
			try {
				return await json(path, options);
			} catch (error) {
				if (options?.signal?.aborted || failures === readRetries || !isTransient(error)) throw error;
			}
			failures += 1;
			onRetry?.(failures);
			await sleep(retryDelayMs * 2 ** (failures - 1), options?.signal);
		}
	}

	/**
	 * The events of `response` up to the terminal one; where the connection breaks before it, those of `…/events`.
	 *
	 * @param {string} id
	 * @param {{ response?: Response, lastEventId?: string | undefined } & Signal} options
	 * @returns {AsyncGenerator<RunEvent, void, void>}
	 */
	async function* events(id, { response, lastEventId, signal }) {
		for (let failures = 0; ; ) {
			try {
				response ??= await request(`${toPath(id)}/events`, {
					headers: { accept: 'text/event-stream', ...(lastEventId ? { 'last-event-id': lastEventId } : {}) },
					signal,
				});
				if (response.status === 204 || !response.body) return;
				for await (const message of readSse(response.body, idleMs)) {
					failures = 0;
					lastEventId = message.id;
					const event = toRunEvent(message.data);
					if (!event) continue;
					yield event;
					if (terminalTypes.has(event.type)) return;
				}
			} catch (error) {
				if (signal?.aborted || !isTransient(error)) throw error;
			}
			response = undefined;
			failures += 1;
			if (failures > retries) {
				throw new ClientError('connection_lost', 'The connection was lost. The run goes on at the server.');
			}
			onRetry?.(failures);
			await sleep(Math.min(retryDelayMs * 2 ** (failures - 1), 8_000), signal);
		}
	}

	/**
	 * @param {string} id
	 * @param {Signal} [options]
	 * @returns {Promise<Message[]>} oldest first
	 */
	async function messages(id, options) {
		/** @type {Message[]} */
		const all = [];
		for (let cursor; ; ) {
			const query = cursor === undefined ? '' : `?cursor=${encodeURIComponent(cursor)}`;
			const page = await read(`${toPath(id)}/messages${query}`, options);
			all.push(...page.messages);
			if (page.cursor === undefined || page.cursor === null) return all;
			cursor = page.cursor;
		}
	}

	return {
		messages,

		/**
		 * @param {Signal} [options]
		 * @returns {Promise<Agent[]>}
		 */
		async agents(options) {
			return (await read('/v1/agents', options)).agents;
		},

		/**
		 * @param {{ agent: string, model?: string }} body
		 * @param {Signal} [options]
		 * @returns {Promise<Session>}
		 */
		createSession: (body, options) => json('/v1/sessions', { method: 'POST', body, ...options }),

		/**
		 * @param {string} id
		 * @param {Signal} [options]
		 * @returns {Promise<Session>}
		 */
		session: (id, options) => read(toPath(id), options),

		/**
		 * A session as it is to be shown: `messages` leaves out what `follow` replays of the newest run. What a person said
		 * begins a run; where it answers a question, it is the question's tool result.
		 *
		 * @param {string} id
		 * @param {Signal} [options]
		 * @returns {Promise<{ session: Session, messages: Message[] }>}
		 */
		async load(id, options) {
			const session = await read(toPath(id), options);
			const all = (await messages(id, options)).filter(({ isReplaced }) => isReplaced !== true);
			const newest = session.run?.id;
			const isShown = (/** @type {Message} */ { runId, role, isInput }, /** @type {number} */ index) =>
				runId !== newest ||
				role === 'system' ||
				(isInput === true && (role === 'user' || all[index - 1]?.runId !== runId || all[index - 1]?.isInput === true));
			return { session, messages: all.filter(isShown) };
		},

		/**
		 * Sends a message and yields its run up to the terminal event, across dropped connections.
		 *
		 * @param {string} id
		 * @param {string} text
		 * @param {{ attachments?: Attachment[] } & Signal} [options]
		 * @returns {AsyncGenerator<RunEvent, void, void>}
		 */
		async *send(id, text, { attachments = [], signal } = {}) {
			const response = await request(`${toPath(id)}/messages`, {
				method: 'POST',
				body: {
					...(text === '' && attachments.length > 0 ? {} : { text }),
					...(attachments.length > 0 ? { attachments } : {}),
				},
				headers: { accept: 'text/event-stream' },
				signal,
			});
			yield* events(id, { response, signal });
		},

		/**
		 * Answers calls that wait for it, and yields the run that goes on with the last of them; nothing while others are
		 * still open.
		 *
		 * @param {string} id
		 * @param {Answer[]} answers
		 * @param {Signal} [options]
		 * @returns {AsyncGenerator<RunEvent, void, void>}
		 */
		async *submit(id, answers, { signal } = {}) {
			const response = await request(`${toPath(id)}/tool-results`, {
				method: 'POST',
				body: answers,
				headers: { accept: 'text/event-stream' },
				signal,
			});
			if (response.headers.get('content-type')?.startsWith('text/event-stream'))
				yield* events(id, { response, signal });
			else await response.body?.cancel();
		},

		/**
		 * The newest run from its start up to its terminal event; nothing where no run was ever started.
		 *
		 * @param {string} id
		 * @param {Signal} [options]
		 * @returns {AsyncGenerator<RunEvent, void, void>}
		 */
		follow: (id, { signal } = {}) => events(id, { signal }),

		/**
		 * Ends the run on the server. Whoever follows it gets `cancelled`.
		 *
		 * @param {string} id
		 */
		async cancel(id) {
			await request(`${toPath(id)}/cancel`, { method: 'POST' });
		},
	};
}

/** @param {string} id */
function toPath(id) {
	return `/v1/sessions/${encodeURIComponent(id)}`;
}

/**
 * @param {Response} response
 * @returns {Promise<ClientError>}
 */
async function toClientError(response) {
	const { status } = response;
	const body = await response.json().catch(() => undefined);
	const { code, message } = body?.error ?? {};
	if (typeof code === 'string' && typeof message === 'string') return new ClientError(code, message, { status });
	return new ClientError(`http_${status}`, `The server answered with status ${status}.`, { status });
}

/**
 * Whether the same request may succeed when it is made again.
 *
 * @param {unknown} error
 */
export function isTransient(error) {
	if (error instanceof SseBroken) return true;
	if (!(error instanceof ClientError)) return false;
	return error.status === undefined || error.status >= 500 || error.status === 429 || error.status === 408;
}

/**
 * @param {string} data
 * @returns {RunEvent | undefined}
 */
function toRunEvent(data) {
	try {
		const event = JSON.parse(data);
		return typeof event?.type === 'string' ? event : undefined;
	} catch {
		return undefined;
	}
}

/**
 * @param {number} ms
 * @param {AbortSignal} [signal]
 * @returns {Promise<void>}
 */
function sleep(ms, signal) {
	return new Promise((resolve, reject) => {
		const stop = () => {
			clearTimeout(timer);
			reject(signal?.reason);
		};
		const timer = setTimeout(() => {
			signal?.removeEventListener('abort', stop);
			resolve();
		}, ms);
		if (signal?.aborted) stop();
		else signal?.addEventListener('abort', stop, { once: true });
	});
}
