import { type ClientOptions, createHttp, type Http, type SignalOption } from './http.ts';
import { type RunEvents, streamRun } from './stream.ts';
import type { Agent, AnswerBody, CallAnswer, Message, MessageBody, NewSession, Session, SessionBody } from './types.ts';

export type SessionClient = ReturnType<typeof createSessionClient>;

/**
 * Makes a client of a server's sessions, for browsers, Workers and Node 20 or newer. The methods have the names of the
 * operations in `/openapi.json`, and throw a `ClientError`. A request that fails for a passing reason is made again, under an
 * `Idempotency-Key` where it changes something: it happens once.
 */
export function createSessionClient(options: ClientOptions = {}) {
	const http = createHttp(options);

	/** Begins a run with a POST. */
	function begin(id: string, operation: string, body: unknown, { signal }: SignalOption = {}): RunEvents {
		const headers = { ...acceptEvents, ...createIdempotencyKey() };
		return streamRun({
			http,
			signal,
			begin: () => http.open(toPath(id, operation), { method: 'POST', body, headers, signal }),
			follow: (lastEventId) => openEvents(id, lastEventId, signal),
		});
	}

	function openEvents(id: string, lastEventId: string | undefined, signal: AbortSignal | undefined) {
		const headers = { ...acceptEvents, ...(lastEventId && { 'last-event-id': lastEventId }) };
		return http.open(toPath(id, 'events'), { headers, signal });
	}

	return {
		...createReads(http),

		/** Creates a session. With a `text`, `parts` or `attachments` a run begins, which `followRun` reads. */
		createSession(body: SessionBody, { signal }: SignalOption = {}): Promise<NewSession> {
			const hasMessage = body.text !== undefined || body.parts !== undefined || body.attachments !== undefined;
			const headers = { ...createIdempotencyKey(), ...(hasMessage && { prefer: 'respond-async' }) };
			return http.json('/v1/sessions', { method: 'POST', body, headers, signal });
		},

		/** Sends a message and reads its run. Where a tool asked, the message is the answer. */
		sendMessage: (id: string, message: string | MessageBody, options?: SignalOption): RunEvents =>
			begin(id, 'messages', toBody(message), options),

		/** Answers a tool's question and reads the run that goes on. */
		answerQuestion: (id: string, answer: string | AnswerBody, options?: SignalOption): RunEvents =>
			begin(id, 'answer', toBody(answer), options),

		/**
		 * Answers calls that wait, with results or approvals, and reads the run that goes on with the last of them. There are no
		 * events while other calls still wait.
		 */
		submitResults: (id: string, answers: readonly CallAnswer[], options?: SignalOption): RunEvents =>
			begin(id, 'tool-results', answers, options),

		/** Takes up a run that failed, or that stopped after a step, and reads it. */
		continueRun: (id: string, options?: SignalOption): RunEvents => begin(id, 'continue', undefined, options),

		/** Takes up a run for one turn of the model, and reads it. */
		stepRun: (id: string, options?: SignalOption): RunEvents => begin(id, 'step', undefined, options),

		/**
		 * Reads the newest run from its start, or what comes behind an event. There are no events where no run was ever started,
		 * or none is left.
		 */
		followRun: (
			id: string,
			{ lastEventId, signal }: SignalOption & { readonly lastEventId?: string } = {},
		): RunEvents => streamRun({ http, signal, lastEventId, follow: (last) => openEvents(id, last, signal) }),

		/** Stops the run at the server, and drops what waits. Its readers get `cancelled`. */
		cancelRun(id: string, { signal }: SignalOption = {}): Promise<Session> {
			return http.json(toPath(id, 'cancel'), { method: 'POST', headers: createIdempotencyKey(), signal });
		},
	};
}

/** What only reads. */
function createReads(http: Http) {
	/** All messages of a session, oldest first. */
	async function listMessages(id: string, { signal }: SignalOption = {}): Promise<Message[]> {
		const messages: Message[] = [];
		for (let query = ''; ; ) {
			const path = toPath(id, `messages${query}`);
			const page = await http.json<{ messages: Message[]; cursor?: string }>(path, { signal });
			messages.push(...page.messages);
			if (!page.cursor) return messages;
			query = `?cursor=${encodeURIComponent(page.cursor)}`;
		}
	}

	function getSession(id: string, { signal }: SignalOption = {}): Promise<Session> {
		return http.json(toPath(id), { signal });
	}

	return {
		async listAgents({ signal }: SignalOption = {}): Promise<Agent[]> {
			return (await http.json<{ agents: Agent[] }>('/v1/agents', { signal })).agents;
		},

		getSession,
		listMessages,

		/**
		 * A session as it is to be shown: its messages without those that `followRun` replays of the newest run. What a person
		 * says begins a run; where it answers a question, it is the question's tool result.
		 */
		async loadSession(id: string, options?: SignalOption): Promise<{ session: Session; messages: Message[] }> {
			const session = await getSession(id, options);
			const all = (await listMessages(id, options)).filter(({ isReplaced }) => isReplaced !== true);
			const newest = session.run?.id;
			const messages = all.filter(({ runId, role, isInput }, index) => {
				if (runId !== newest || role === 'system') return true;
				const before = all[index - 1];
				return isInput === true && (role === 'user' || before?.runId !== runId || before?.isInput === true);
			});
			return { session, messages };
		},
	};
}

const acceptEvents = { accept: 'text/event-stream' };

function toPath(id: string, rest?: string): string {
	const path = `/v1/sessions/${encodeURIComponent(id)}`;
	return rest === undefined ? path : `${path}/${rest}`;
}

function toBody<B extends object>(given: string | B): B | { readonly text: string } {
	return typeof given === 'string' ? { text: given } : given;
}

/** A key of its own for a request. `randomUUID` is missing on pages that came without TLS. */
function createIdempotencyKey() {
	const bytes = crypto.getRandomValues(new Uint8Array(16));
	return { 'idempotency-key': Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('') };
}
