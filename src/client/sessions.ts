import { createCopyMethods } from './copies.ts';
import { createHistoryMethods } from './history.ts';
import {
	type ClientOptions,
	type Connection,
	createHttp,
	createIdempotencyKey,
	type Http,
	type SignalOption,
	toPathAddress,
	toQuery,
} from './http.ts';
import { type RunEvents, streamRun } from './stream.ts';
import type {
	AcceptedRun,
	Agent,
	AnswerBody,
	ApprovalPage,
	ApprovalQuery,
	CallAnswer,
	DecisionLinks,
	FileChangePage,
	FilePage,
	FoundRequest,
	LinkBody,
	MessageBody,
	NewSession,
	Session,
	SessionBody,
	SessionChange,
	SessionFile,
	SessionPage,
	SessionQuery,
	Spending,
	SpendingQuery,
	TaskList,
	Trace,
	TraceQuery,
	WaitingMessage,
} from './types.ts';

export type SessionClient = ReturnType<typeof createSessionClient>;

/**
 * Makes a client of a server's sessions, for browsers, Workers and Node 20 or newer. The methods have the names
 * of the operations in `/openapi.json`, and throw a `ClientError`. A request that fails for a temporary reason is
 * repeated. A request that changes something has an `Idempotency-Key`, so its change happens once.
 */
export function createSessionClient(options: ClientOptions = {}) {
	const http = createHttp(options);

	/** Starts a run with a POST. */
	function begin(id: string, operation: string, body: unknown, { signal }: SignalOption = {}): RunEvents {
		const headers = { ...acceptEvents, ...createIdempotencyKey() };
		return streamRun({
			http,
			signal,
			begin: () => http.open(toPath(id, operation), { method: 'POST', body, headers, signal }),
			follow: (lastEventId) => openEvents(id, lastEventId, signal),
		});
	}

	function openEvents(id: string, lastEventId: string | undefined, signal?: AbortSignal, from?: string) {
		const headers = { ...acceptEvents, ...(lastEventId && { 'last-event-id': lastEventId }) };
		return http.open(`${toPath(id, 'events')}${toQuery({ from })}`, { headers, signal });
	}

	return {
		...createReads(http),
		...createFileMethods(http),
		...createStarts(http, openEvents),

		/** Sends a message and reads its run. If a tool asked a question, the message answers it. */
		sendMessage: (id: string, message: string | MessageBody, options?: SignalOption): RunEvents =>
			begin(id, 'messages', toBody(message), options),

		/** Sends a message without reading its run. During another run, `whenBusy` decides when it is handled. */
		leaveMessage(id: string, message: string | MessageBody, { signal }: SignalOption = {}): Promise<AcceptedRun> {
			const headers = { ...createIdempotencyKey(), prefer: 'respond-async' };
			return http.json(toPath(id, 'messages'), { method: 'POST', body: toBody(message), headers, signal });
		},

		/** Removes a message that waits for a run. `runId` is the `id` in `listWaiting`. */
		removeWaiting: (id: string, runId: string, { signal }: SignalOption = {}): Promise<void> =>
			http.remove(toPath(id, `waiting/${encodeURIComponent(runId)}`), signal),

		/** Answers a tool's question and reads the run. */
		answerQuestion: (id: string, answer: string | AnswerBody, options?: SignalOption): RunEvents =>
			begin(id, 'answer', toBody(answer), options),

		/**
		 * Answers waiting calls with results or approvals. After the last answer the run continues, and its events are
		 * read. While other calls wait, there are no events.
		 */
		submitResults: (id: string, answers: readonly CallAnswer[], options?: SignalOption): RunEvents =>
			begin(id, 'tool-results', answers, options),

		/** Continues a run that failed or that stopped after a step, and reads it. */
		continueRun: (id: string, options?: SignalOption): RunEvents => begin(id, 'continue', undefined, options),

		/** Continues a run for one turn of the model, and reads the turn. */
		stepRun: (id: string, options?: SignalOption): RunEvents => begin(id, 'step', undefined, options),

		/**
		 * Reads the newest run from its start, or the events after a given event. `from` is the id of an assistant
		 * message of the run: its turn is read first. There are no events if no run has started, or if all were read.
		 */
		followRun: (
			id: string,
			{ lastEventId, from, signal }: SignalOption & { readonly lastEventId?: string; readonly from?: string } = {},
		): RunEvents => streamRun({ http, signal, lastEventId, follow: (last) => openEvents(id, last, signal, from) }),

		/** Changes the budget or the title of a session. A run that the budget stopped can then continue. */
		changeSession(id: string, change: SessionChange, { signal }: SignalOption = {}): Promise<Session> {
			return http.json(toPath(id), { method: 'PATCH', body: change, signal });
		},

		/** Stops the run of a session, and deletes the session. */
		deleteSession: (id: string, { signal }: SignalOption = {}): Promise<void> => http.remove(toPath(id), signal),

		/** Makes links for a mail or a chat, through which a person decides about a waiting call. Needs an API key. */
		createLinks(id: string, body: LinkBody, { signal }: SignalOption = {}): Promise<DecisionLinks> {
			return http.json(toPath(id, 'links'), { method: 'POST', headers: createIdempotencyKey(), body, signal });
		},

		/** Stops the run on the server and drops the waiting messages. The run's readers get the event `cancelled`. */
		cancelRun(id: string, { signal }: SignalOption = {}): Promise<Session> {
			return http.json(toPath(id, 'cancel'), { method: 'POST', headers: createIdempotencyKey(), signal });
		},
	};
}

type OpenEvents = (id: string, lastEventId: string | undefined, signal?: AbortSignal) => Promise<Connection>;

function createStarts(http: Http, openEvents: OpenEvents) {
	return {
		/** Creates a session. With `text`, `parts` or `attachments`, also starts a run, which `followRun` reads. */
		createSession(body: SessionBody, { signal }: SignalOption = {}): Promise<NewSession> {
			const hasMessage = body.text !== undefined || body.parts !== undefined || body.attachments !== undefined;
			const headers = { ...createIdempotencyKey(), ...(hasMessage && { prefer: 'respond-async' }) };
			return http.json('/v1/sessions', { method: 'POST', body, headers, signal });
		},

		/**
		 * Creates a session with its first message, in one request, and reads the run. `onCreated` is called with the
		 * session's id before the first event.
		 */
		startSession(
			body: SessionBody,
			{ onCreated, signal }: SignalOption & { readonly onCreated?: (id: string) => void } = {},
		): RunEvents {
			const headers = { ...acceptEvents, ...createIdempotencyKey() };
			let id: string | undefined;
			return streamRun({
				http,
				signal,
				begin: async () => {
					const connection = await http.open('/v1/sessions', { method: 'POST', body, headers, signal });
					const made = connection.response.headers.get('location')?.split('/').at(-1);
					if (id === undefined && made !== undefined) onCreated?.(made);
					id ??= made;
					return connection;
				},
				follow: (lastEventId) => openEvents(id ?? '', lastEventId, signal),
			});
		},
	};
}

/** The methods that only read. */
function createReads(http: Http) {
	function getSession(id: string, { signal }: SignalOption = {}): Promise<Session> {
		return http.json(toPath(id), { signal });
	}

	return {
		async listAgents({ signal }: SignalOption = {}): Promise<Agent[]> {
			return (await http.json<{ agents: Agent[] }>('/v1/agents', { signal })).agents;
		},

		/** Finds the session and the run of a request by the `x-request-id` of its answer. Needs an API key of staff. */
		getRequest(id: string, { signal }: SignalOption = {}): Promise<FoundRequest> {
			return http.json(`/v1/requests/${encodeURIComponent(id)}`, { signal });
		},

		/** Reads the spending of owners, the newest day first. The request needs a key with the scope `admin`. */
		getUsage({ signal, ...query }: SignalOption & SpendingQuery = {}): Promise<Spending> {
			return http.json(`/v1/usage${toQuery(query)}`, { signal });
		},

		/** Lists what waits for a person: the calls and questions of all the owner's sessions, oldest first, by page. Needs an API key. */
		listApprovals({ signal, ...query }: SignalOption & ApprovalQuery = {}): Promise<ApprovalPage> {
			return http.json(`/v1/approvals${toQuery(query)}`, { signal });
		},

		/** Lists the sessions of the owner, the newest activity first, a page at a time. Needs an API key. */
		listSessions({ signal, ...query }: SignalOption & SessionQuery = {}): Promise<SessionPage> {
			return http.json(`/v1/sessions${toQuery(query)}`, { signal });
		},

		getSession,
		...createHistoryMethods(http, getSession),
		...createCopyMethods(http),

		/** Reads the traces of a session as OTLP/JSON, or with `run` only the trace with that run. Needs an API key. */
		getTrace(id: string, { signal, ...query }: SignalOption & TraceQuery = {}): Promise<Trace> {
			return http.json(`${toPath(id, 'trace')}${toQuery(query)}`, { signal });
		},

		/** Lists the messages that wait for the end of the run or for its next turn, oldest first. */
		async listWaiting(id: string, { signal }: SignalOption = {}): Promise<WaitingMessage[]> {
			return (await http.json<{ waiting: WaitingMessage[] }>(toPath(id, 'waiting'), { signal })).waiting;
		},

		/** Lists the task lists of a session. An event `tasks` reports each later change. */
		async listTasks(id: string, { signal }: SignalOption = {}): Promise<TaskList[]> {
			return (await http.json<{ lists: TaskList[] }>(toPath(id, 'tasks'), { signal })).lists;
		},
	};
}

const acceptEvents = { accept: 'text/event-stream' };

function toPath(id: string, rest?: string): string {
	const path = `/v1/sessions/${encodeURIComponent(id)}`;
	return rest === undefined ? path : `${path}/${rest}`;
}

function toBody<B extends object>(message: string | B): B | { readonly text: string } {
	return typeof message === 'string' ? { text: message } : message;
}

/** The requested page: `cursor` is from the page before, and `limit` is the maximum number of entries. */
interface FilePageOptions extends SignalOption {
	readonly cursor?: string;
	readonly limit?: number;
}

function createFileMethods(http: Http) {
	return {
		/** Lists the files of a session, a page at a time, sorted by path. */
		listFiles: (id: string, { signal, ...page }: FilePageOptions = {}): Promise<FilePage> =>
			http.json(`${toPath(id, 'files')}${toQuery(page)}`, { signal }),

		readFile: async (id: string, path: string, { signal }: SignalOption = {}): Promise<Blob> =>
			http.read(toFilePath(id, path), { signal }, (response) => response.blob()),

		/** Writes a file, or replaces the file at its path. */
		writeFile: async (
			id: string,
			path: string,
			content: string | Blob | Uint8Array<ArrayBuffer>,
			{ signal }: SignalOption = {},
		): Promise<SessionFile> => http.json(toFilePath(id, path), { method: 'PUT', content, signal }),

		deleteFile: async (id: string, path: string, { signal }: SignalOption = {}): Promise<void> =>
			http.remove(toFilePath(id, path), signal),

		/** Lists the changes of the files, a page at a time, the newest first. */
		listChanges: (id: string, { signal, ...page }: FilePageOptions = {}): Promise<FileChangePage> =>
			http.json(`${toPath(id, 'changes')}${toQuery(page)}`, { signal }),
	};
}

function toFilePath(id: string, path: string): string {
	return toPath(id, `files/${toPathAddress(path)}`);
}
