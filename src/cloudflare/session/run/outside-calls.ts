import type { Actor } from '../../../core/base/actor.ts';
import { toHex } from '../../../core/base/bytes.ts';
import { createFieldError, RunletError, toRunletError } from '../../../core/base/errors.ts';
import { close } from '../../../core/chat/event.ts';
import type { Message, RunEvent } from '../../../core/chat/index.ts';
import { prepareSingleCalls } from '../../../core/chat/single-call.ts';
import type { CallsOutcome } from '../../../core/chat/tool-calls.ts';
import type { ToolCall } from '../../../core/tool/index.ts';
import { storeChanges } from '../../../core/tool/state.ts';
import { inMemory } from '../../../core/workspace/index.ts';
import { assertArguments } from '../../agent/arguments.ts';
import { assertNoSecret, createCallSecrets } from '../../agent/call-secrets.ts';
import { findChildWork } from '../../agent/children.ts';
import { findAgent } from '../../agent/define.ts';
import { listCallLabels, listToolWords } from '../../agent/labels.ts';
import { logUnexpected } from '../../log.ts';
import type { ListedTool, OutsideAnswer, OutsideCall, OutsideEnd, OutsideLine } from '../../objects/outside-call.ts';
import { type Bytes, toFailure } from '../../objects/reach.ts';
import type { CreateInput } from '../../objects/session-api.ts';
import type { SessionFiles } from '../files/session-files.ts';
import { listAskers } from '../store/askers.ts';
import { createCallKey, hashCall, type WaitingCallRecord } from '../store/calls.ts';
import type { Connections } from './load-tools.ts';
import { createAgentOptions, type RunnerOptions } from './prepare.ts';

const mostAtOnce = 32;
/** The maximum number of lines that wait for a slow reader. Further notes are left out. */
const mostLines = 1_000;
/** How often a silent stream gets a comment, in milliseconds. The comment shows whether the reader is still there. */
const beatMs = 1_000;
/** How many characters of the conversation a tool can read. */
const historyCharacters = 1_000_000;
/** How long the session's tools may take to load when arguments are checked, in milliseconds. */
const loadMs = 15_000;

/** Throws `forbidden` if the caller may not decide about a call. */
type AssertMayDecide = (call: ToolCall, approve: boolean) => void;

interface OutsideOptions extends RunnerOptions {
	readonly files: SessionFiles;
	readonly connections: Pick<Connections, 'take' | 'rest'>;
}

/** The session of a call. The session need not exist yet. */
type Whose = Pick<CreateInput, 'agent' | 'owner' | 'user' | 'by'>;

/** Calls of the agent's tools from outside of a run, such as calls by MCP clients (docs/mcp.md). */
export class OutsideCalls {
	readonly #options: OutsideOptions;
	readonly #running = new Set<AbortController>();
	/** Resolves when the newest call of a sequential tool has ended. */
	#alone: Promise<unknown> = Promise.resolve();

	constructor(options: OutsideOptions) {
		this.#options = options;
	}

	get isBusy(): boolean {
		return this.#running.size > 0;
	}

	/** Lists the tools that may be called in a session. The session need not exist yet. */
	async list(whose: Whose): Promise<readonly ListedTool[]> {
		const { signal } = new AbortController();
		const calls = await prepareSingleCalls(this.#createOptions(whose), [], signal);
		const listed = (await calls.list()).map(
			({ name, description, inputSchema, outputSchema, metadata, retry, manual, fn }): ListedTool => {
				const about = { name, description, inputSchema, outputSchema, metadata };
				return { ...about, isRepeatable: retry === 'safe', isManual: manual === true || fn === undefined };
			},
		);
		return JSON.parse(JSON.stringify(listed));
	}

	/** Runs a call. Streams its notes as lines; the last line is its end. If the reader leaves, the call is aborted. */
	begin(call: OutsideCall, by: Actor | undefined, assertMayDecide: AssertMayDecide): Bytes {
		const message = `session: ${mostAtOnce} calls run here already. Wait for one of them.`;
		if (this.#running.size >= mostAtOnce) throw new RunletError('overloaded', message, { retryAfter: 1 });
		const abort = new AbortController();
		this.#running.add(abort);
		const lines = createLines();
		const work = async (): Promise<OutsideEnd> => {
			try {
				return await this.#run(call, by, assertMayDecide, abort.signal, lines.add);
			} catch (thrown) {
				logUnexpected(thrown);
				return { type: 'failed', ...toFailure(toRunletError(thrown)) };
			} finally {
				this.#running.delete(abort);
				this.#options.connections.rest('awaiting');
			}
		};
		void work().then(lines.end);
		return lines.read(() => abort.abort());
	}

	/** Checks the edited arguments of a run's call with the tool. Throws `invalid_request`, which names the field. */
	async checkArguments(call: ToolCall): Promise<void> {
		const { runtime, store, config: readConfig, connections } = this.#options;
		const [session, config] = [store.session(), readConfig()];
		const { options } = createAgentOptions(session, {
			...{ runtime, config, store, connections: connections.take(session, config) },
			askers: () => listAskers(store),
		});
		const tools = [...options.tools, ...options.skillTools];
		const calls = await prepareSingleCalls({ ...options, tools }, [], AbortSignal.timeout(loadMs));
		connections.rest('awaiting');
		assertNoSecret(call, options.secrets);
		await assertArguments(calls.find(call.name), call);
	}

	/** Throws `invalid_request` if the edited arguments of a child's call have a secret of this deployment. */
	assertNoSecret(call: ToolCall): void {
		const { runtime, store, config } = this.#options;
		const { id, agent } = store.session();
		assertNoSecret(call, createCallSecrets(findAgent(runtime.agents, agent), config(), { session: id }));
	}

	stop(): void {
		for (const abort of this.#running) abort.abort();
	}

	async #run(
		asked: OutsideCall,
		by: Actor | undefined,
		assertMayDecide: AssertMayDecide,
		signal: AbortSignal,
		add: (line: OutsideLine) => void,
	): Promise<OutsideEnd> {
		const { store } = this.#options;
		const { createdAt } = store.session();
		const assertThere = (): void => {
			if (store.session().createdAt !== createdAt) throw new RunletError('not_found', 'There is no such session.');
		};
		const { tool: name, answer, canAsk } = asked;
		// JSON has no `Infinity` or `-0`. So the arguments that run are the ones that are shown and hashed.
		const input: unknown = JSON.parse(JSON.stringify(asked.input ?? {}));
		const hash = await hashCall(name, input);
		// If the decision is refused, the transaction rolls back, so the call continues to wait.
		const waited =
			answer &&
			store.transaction(() => {
				const taken = this.#take(answer.waiting, hash);
				assertFits(taken, answer);
				const call = { id: taken.callId, name, input };
				if (taken.for === 'approval') assertMayDecide(call, answer.gives === 'permission');
				return taken;
			});
		const answered = waited && answer && toAnsweredEnd(waited, answer);
		if (answered !== undefined) return answered;
		const noteChange = () => this.#noteChange(name);
		const options = this.#createOptions(store.session(), by, noteChange);
		const calls = await prepareSingleCalls(options, this.#readHistory(), signal);
		const tool = calls.find(name);
		const missing = `tool: there is no tool named ${name.slice(0, 200)}.`;
		if (tool === undefined) throw new RunletError('invalid_request', missing, { field: 'tool' });
		const call = { id: waited?.callId ?? `call_${crypto.randomUUID()}`, name, input };
		const work = (): Promise<CallsOutcome> =>
			calls.run({
				call,
				isApproved: waited?.for === 'approval',
				answer: toToolAnswer(waited, answer),
				emit: (event) => addNote(event, add),
				store: (changes, question) => {
					assertThere();
					if (question !== undefined && !canAsk) return undefined;
					if (changes.size > 0) noteChange();
					return storeChanges(store.state, changes);
				},
			});
		const outcome = await (tool.sequential === true ? this.#runAlone(work) : work());
		return this.#toEnd(outcome, { hash, callId: call.id, canAsk });
	}

	#runAlone<T>(work: () => Promise<T>): Promise<T> {
		const next = this.#alone.then(work);
		this.#alone = next.catch(() => {});
		return next;
	}

	#toEnd(
		{ results: [result], manual: [waiting], question, answerTo }: CallsOutcome,
		{ hash, callId, canAsk }: Pick<WaitingCallRecord, 'hash' | 'callId'> & Pick<OutsideCall, 'canAsk'>,
	): OutsideEnd {
		if (result !== undefined) {
			const { output, isError, parts } = result;
			return { type: 'result', output, isError, parts };
		}
		const waitsFor = waiting === undefined ? 'answer' : (waiting.kind ?? 'result');
		const { preview } = waiting ?? {};
		const { question: text, options } = question ?? {};
		const asked = { type: 'waits', for: waitsFor, preview, question: text, options } as const;
		if (!canAsk) return asked;
		const id = toHex(crypto.getRandomValues(new Uint8Array(16)));
		const resume = answerTo && JSON.stringify(answerTo.resume);
		this.#options.store.calls.outside.add({ id, callId, for: waitsFor, hash, resume }, Date.now());
		return { ...asked, waiting: id };
	}

	#take(id: string, hash: string): WaitingCallRecord {
		const { runtime, store } = this.#options;
		const { approvalMs } = findAgent(runtime.agents, store.session().agent);
		const waited = store.calls.outside.take(id, Date.now(), approvalMs);
		if (waited?.hash === hash) return waited;
		throw new RunletError(
			'conflict',
			'This call does not wait for an answer: it was answered, its time is over, or it was another one. Call the tool again.',
		);
	}

	/** Notes what a call leaves in the session. Nothing in the history shows it, and its caller may be a model. */
	#noteChange(tool: string): void {
		const { runtime, store } = this.#options;
		const { agent, leftByCalls } = store.session();
		const words = listToolWords(findAgent(runtime.agents, agent), runtime.agents);
		const labels = new Set(['outside', ...listCallLabels(tool, words)]);
		const now = Object.fromEntries([...labels].map((label) => [label, Date.now()]));
		store.update({ leftByCalls: { ...leftByCalls, ...now } });
	}

	#createOptions({ agent, owner, user, by }: Whose, askedBy?: Actor, noteChange = () => {}) {
		const { runtime, store, config: readConfig, files, connections } = this.#options;
		const config = readConfig();
		const session = store.exists() ? store.session() : undefined;
		const { id, metadata } = session ?? {};
		// `store` is left out, so each memory needs an approval: the client's model may have read outside text.
		const { options } = createAgentOptions(
			{ id, agent, owner, user, createdBy: session?.createdBy ?? by, metadata, rerun: session?.rerun },
			{
				...{ runtime, config, connections: session && connections.take(session, config) },
				askers: () => (askedBy === undefined ? [] : [askedBy]),
			},
		);
		const createKey = session && ((callId: string) => createCallKey(session, 0, callId));
		const ofSession = session && { createKey, sessionId: id, metadata, state: store.state };
		return {
			...options,
			// Tools that start child sessions work only in runs.
			tools: options.tools.filter((tool) => findChildWork(tool) === undefined),
			skillContext: { transport: 'mcp', sender: askedBy?.user ?? user ?? owner, attachments: [] },
			context: {
				...options.context,
				...{ owner, user, askedBy, ...ofSession },
				workspace: session === undefined ? inMemory() : files.openForCall(noteChange),
			},
		};
	}

	#readHistory(): readonly Message[] {
		const { messages, summary: from } = this.#options.store;
		return messages.newest({ from, characters: historyCharacters }).map(({ message }) => message);
	}
}

/** Throws `invalid_request` for a result that would count as a permission, or a permission that would be a result. */
function assertFits({ for: waitsFor }: WaitingCallRecord, { gives }: OutsideAnswer): void {
	if (gives === 'refusal' || (gives === 'permission') === (waitsFor === 'approval')) return;
	const needed = waitsFor === 'approval' ? 'an approval. Give `approve`' : `a person's ${waitsFor}. Give \`output\``;
	throw createFieldError('invalid_request', 'answer', `the call waits for ${needed}.`);
}

/** Returns the end of a call that a person has answered. Returns nothing for a call that continues. */
function toAnsweredEnd(waited: WaitingCallRecord, answer: OutsideAnswer): OutsideEnd | undefined {
	if (waited.resume !== undefined) return undefined;
	if (answer.gives === 'refusal') return { type: 'result', output: 'A person did not allow this.', isError: true };
	return answer.gives === 'value' ? { type: 'result', output: answer.value, isError: false } : undefined;
}

function toToolAnswer(waited: WaitingCallRecord | undefined, answer: OutsideAnswer | undefined) {
	if (waited?.resume === undefined || answer === undefined) return undefined;
	const value = answer.gives === 'value' ? answer.value : 'decline';
	const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
	return { text, resume: JSON.parse(waited.resume) };
}

/** Passes on the notes of a call. Other events of the call are only for readers of runs. */
function addNote(event: RunEvent, add: (line: OutsideLine) => void): undefined {
	if (event.type !== 'note') return;
	const { label, detail } = event;
	add({ type: 'note', label, detail });
}

function createLines() {
	const encoder = new TextEncoder();
	const waiting: OutsideLine[] = [];
	let isDone = false;
	let wake = (): void => {};
	return {
		add: (line: OutsideLine): void => {
			if (waiting.length >= mostLines) return;
			waiting.push(line);
			wake();
		},
		end: (line: OutsideEnd): void => {
			waiting.push(line);
			isDone = true;
			wake();
		},
		read: (onLeave: () => void): Bytes =>
			new ReadableStream({
				type: 'bytes',
				pull: async (controller) => {
					if (waiting.length === 0 && !isDone) {
						let timer: ReturnType<typeof setTimeout> | undefined;
						await new Promise<void>((resolve) => {
							wake = resolve;
							timer = setTimeout(resolve, beatMs);
						});
						clearTimeout(timer);
					}
					if (waiting.length === 0 && isDone) return close(controller);
					if (waiting.length === 0) return controller.enqueue(encoder.encode(':\n'));
					const text = waiting.splice(0).map((line) => `${JSON.stringify(line)}\n`);
					controller.enqueue(encoder.encode(text.join('')));
				},
				cancel: onLeave,
			}),
	};
}
