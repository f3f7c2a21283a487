import { type Http, type SignalOption, toQuery } from './http.ts';
import type { Message, RunEvent, Session } from './types.ts';
import { sumRuns } from './usage.ts';

/** A page of the history, its oldest message first. */
export interface EarlierMessages {
	readonly messages: Message[];
	/** The cursor that reads the messages before this page. Missing if there are none. */
	readonly cursor?: string;
}

export interface EarlierOptions extends SignalOption {
	/** The `cursor` of the page that was read last. The listed messages come before that page. */
	readonly before?: string;
	readonly limit?: number;
	/** Whether to include replaced messages. */
	readonly withReplaced?: boolean;
}

export interface LoadOptions extends SignalOption {
	/** About how many messages are loaded. Without it, all are. */
	readonly newest?: number;
	/** Whether to include the whole newest run if it has ended. */
	readonly withEnded?: boolean;
}

/** A session for display. */
export interface LoadedSession extends EarlierMessages {
	readonly session: Session;
	readonly steered: ReadonlyMap<Message['id'], number>;
	/** If the newest run is long, the message whose turn `followRun` reads first: give it this as `from`. */
	readonly from?: string;
}

/** The default number of messages per page. */
const pageLength = 100;
/** The maximum number of pages of the newest run that are read to find its beginning. */
const mostPages = 2;

export function createHistoryMethods(http: Http, getSession: (id: string, options?: SignalOption) => Promise<Session>) {
	const readPage = (id: string, query: string, signal: AbortSignal | undefined): Promise<EarlierMessages> =>
		http.json(`/v1/sessions/${encodeURIComponent(id)}/messages${query}`, { signal });

	/** Lists the messages of a session, oldest first. With `from`, lists only that message and later ones. */
	async function listMessages(
		id: string,
		{ from, signal }: SignalOption & { readonly from?: string } = {},
	): Promise<Message[]> {
		const messages: Message[] = [];
		for (let cursor = from; ; ) {
			const page = await readPage(id, cursor === undefined ? '' : `?cursor=${encodeURIComponent(cursor)}`, signal);
			messages.push(...page.messages);
			if (!page.cursor) return messages;
			cursor = page.cursor;
		}
	}

	/** Lists the newest messages of a session, or the messages before a cursor, a page at a time. */
	async function listEarlier(
		id: string,
		{ before, limit = pageLength, withReplaced = false, signal }: EarlierOptions = {},
	): Promise<EarlierMessages> {
		const replaced = withReplaced ? undefined : false;
		const query = toQuery({ order: 'desc', limit, cursor: before, replaced });
		const { messages, cursor } = await readPage(id, query, signal);
		return { messages: messages.reverse(), cursor };
	}

	/**
	 * Reads backwards from the newest message, until there are enough messages for display. A run of more than two
	 * pages is cut at a turn, so that the number of requests does not depend on its length.
	 */
	async function loadNewest(
		session: Session,
		{ newest, withEnded = false, signal }: LoadOptions & { readonly newest: number },
	): Promise<LoadedSession> {
		const all: Message[] = [];
		for (let before: string | undefined; ; ) {
			const page = await listEarlier(session.id, { before, limit: newest, signal });
			const { cursor } = page;
			all.unshift(...page.messages);
			// Only a message of an earlier run shows where the newest run begins.
			const isWhole = cursor === undefined || all[0]?.runId !== session.run?.id;
			const isLong = !isWhole && all.length > mostPages * newest;
			const cut = isLong ? all.findIndex(({ role }) => role === 'assistant') : -1;
			if (isLong && withEnded && hasEnded(session)) return { session, messages: all, steered: new Map(), cursor };
			if (cut !== -1) {
				const { messages, steered } = leaveRepeated(session, all.slice(cut), withEnded);
				return { session, messages: [...all.slice(0, cut), ...messages], steered, cursor, from: all[cut]?.id };
			}
			const loaded = { ...leaveRepeated(session, all, withEnded), cursor };
			if (cursor === undefined || (isWhole && loaded.messages.length >= newest)) return loaded;
			before = cursor;
		}
	}

	/** Lists a page of messages, oldest first, from a message on. Includes replaced messages. */
	async function listLater(
		id: string,
		{ from, limit = pageLength, signal }: SignalOption & { readonly from: string; readonly limit?: number },
	): Promise<EarlierMessages> {
		return readPage(id, toQuery({ limit, cursor: from }), signal);
	}

	return {
		listMessages,
		listEarlier,
		listLater,

		/**
		 * Loads a session for display. Leaves out the answers and tool results of the newest run, because `followRun`
		 * repeats them. Includes the input that began the run, and the messages that steered the run: `steered` has the
		 * number of turns before each steering message. With `newest`, loads only about that many messages. Then
		 * `listEarlier` with the `cursor` reads the earlier messages, and `followRun` needs the `from`. With `withEnded`, a
		 * run that has ended is loaded with its answers, so that it need not be followed.
		 */
		async loadSession(id: string, { newest, withEnded = false, signal }: LoadOptions = {}): Promise<LoadedSession> {
			for (let session = await getSession(id, { signal }); ; ) {
				const loaded =
					newest === undefined
						? leaveRepeated(session, (await listMessages(id, { signal })).filter(isCurrent), withEnded)
						: await loadNewest(session, { newest, withEnded, signal });
				if (loaded.messages.at(-1)?.runId === session.run?.id) return loaded;
				const now = await getSession(id, { signal });
				if (now.run?.id === session.run?.id) return loaded;
				// Another run has begun, so the loaded messages do not match the loaded session.
				session = now;
			}
		},
	};
}

function isCurrent({ isReplaced }: Message): boolean {
	return isReplaced !== true;
}

function hasEnded({ run }: Session): boolean {
	return run?.status !== 'running';
}

/** Leaves out those messages of the newest run that `followRun` repeats. With `withEnded`, only if the run is running. */
function leaveRepeated(session: Session, all: readonly Message[], withEnded: boolean): LoadedSession {
	const newest = session.run?.id;
	const steered = new Map<string, number>();
	if (withEnded && hasEnded(session)) return { session, messages: [...all], steered };
	let turns = 0;
	const messages = all.filter((message, index) => {
		const { runId, role, isInput } = message;
		if (runId !== newest || role === 'system') return true;
		if (role === 'assistant') turns += 1;
		const before = all[index - 1];
		const isFirst = isInput === true && (before?.runId !== runId || before?.isInput === true);
		if (isInput === true && !isFirst && role === 'user') steered.set(message.id, turns);
		return isFirst || (isInput === true && role === 'user');
	});
	return { session, messages, steered };
}

/** Returns the events that show a stored message of an agent or a tool. A message of a user has none. */
export function* toEvents(message: Message): Generator<RunEvent> {
	if (message.role === 'tool') {
		const { toolCallId: id, content: output, isError = false, parts } = message;
		yield { type: 'tool_result', id, output, isError, parts };
	}
	if (message.role !== 'assistant') return;
	const { content, reasoning, toolCalls = [], providerCalls = [], sources = [] } = message;
	if (reasoning) yield { type: 'reasoning', text: reasoning };
	for (const call of providerCalls) yield { type: 'provider_tool', ...call };
	if (content) yield { type: 'text', text: content };
	for (const source of sources) yield { type: 'source', ...source };
	for (const { id, name, input } of toolCalls) {
		yield { type: 'tool_use_start', id, name };
		yield { type: 'tool_use_input', id, partialInputJson: JSON.stringify(input) };
		yield { type: 'tool_use_end', id };
	}
	yield { type: 'stop', reason: 'end' };
}

/** The end of a run, made of what is stored. */
export interface RunEnd {
	readonly runId: string;
	readonly event: Extract<RunEvent, { type: 'done' | 'awaiting' | 'halted' | 'cancelled' | 'error' }>;
}

type EndedSession = Pick<LoadedSession, 'session' | 'messages' | 'cursor'>;

/** Returns the end of the newest run of a session. Undefined if the run goes on, or if there is no run. */
export function findRunEnd(loaded: EndedSession): RunEnd | undefined {
	const { run } = loaded.session;
	const event = run && toEnd(run, loaded);
	return event && { runId: run.id, event };
}

function toEnd(
	{ id, status, reason = '' }: NonNullable<Session['run']>,
	{ session: { question, toolCalls, error }, messages, cursor }: EndedSession,
): RunEnd['event'] | undefined {
	switch (status) {
		case 'running':
			return undefined;
		case 'completed': {
			const isWhole = cursor === undefined || messages[0]?.runId !== id;
			return { type: 'done', text: '', usage: (isWhole && sumRuns(messages).get(id)) || {} };
		}
		case 'awaiting_user':
		case 'awaiting_tools':
			return { type: 'awaiting', status, question, toolCalls };
		case 'halted':
			return { type: 'halted', reason };
		case 'cancelled':
			return { type: 'cancelled' };
		case 'error':
			return { type: 'error', code: 'internal', message: '', ...error };
	}
}
