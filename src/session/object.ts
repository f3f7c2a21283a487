import { DurableObject } from 'cloudflare:workers';
import { findAgent, modelFor } from '../agents/index.ts';
import { type Message, userMessage } from '../chat/index.ts';
import { config, type Env } from '../config.ts';
import { RunletError } from '../errors.ts';
import type { ToolCall } from '../tool/index.ts';
import { optionsFor, type Runtime } from './agent.ts';
import type { CreateInput, Handling, Input, Once, SessionApi, Submission } from './api.ts';
import { follow } from './follow.ts';
import type { RunLog } from './log.ts';
import { pastLog, pastRun } from './past.ts';
import { approvedCalls, argumentsHash, lastTurn, pendingOf } from './pending.ts';
import { isEnd, noSuchEvent, parsePosition, startOf } from './position.ts';
import { answer, deliver, eventStream, type Frame, wireMessage } from './response.ts';
import { carryOut, type LiveRun } from './run.ts';
import { assertAllowed, type Operation, sessionStatus } from './status.ts';
import { type RunRecord, SessionStore } from './store.ts';
import { submitted, unknownResults } from './submission.ts';

/** Characters of messages in one page of the history, about. */
const pageBytes = 4_000_000;

/** What holds for a run that begins. */
interface BeginOptions {
	/** The model from now on. */
	readonly model?: string | undefined;
	/** After how many turns it stops. */
	readonly stopAfter?: number | undefined;
	/** The request that it answers. */
	readonly once?: Once | undefined;
	/** Calls that were allowed. */
	readonly approved?: readonly ToolCall[];
}

/**
 * The Durable Object class of a session, for a runtime's agents. The object loads, calls and saves; what it knows stands
 * in the files beside it. It owns its run: a request that goes away stops nothing.
 */
export function createSessionClass(runtime: Runtime) {
	return class Session extends DurableObject<Env> implements SessionApi {
		readonly #store: SessionStore;
		/** Tells this life of the object from those before it. */
		readonly #boot = crypto.randomUUID();
		#live: LiveRun | undefined;

		constructor(ctx: DurableObjectState, env: Env) {
			super(ctx, env);
			this.#store = new SessionStore(ctx.storage);
			this.#closeLostRun();
		}

		create({ agent, model, metadata, input }: CreateInput, how: Handling): Promise<Response> {
			return answer(async () => {
				const id = this.ctx.id.toString();
				const frame = { status: 201, headers: { location: `/v1/sessions/${id}` } };
				// An id is made for one request, so the session is here only where that request comes again.
				const before = this.#store.exists() ? this.#delivered(how.once) : undefined;
				if (before !== undefined) return this.#redeliver(before, how, frame);
				modelFor(findAgent(runtime.agents, agent), model, config(this.env).model);
				this.#store.transaction(() => {
					this.#store.create({ id, agent, model, metadata, createdAt: Date.now() });
					if (input === undefined && how.once !== undefined) this.#store.deliver(how.once, 0, Date.now());
				});
				if (input === undefined) return Response.json(this.#state(), frame);
				const live = this.#begin([userMessage(input.parts ?? input.text ?? '')], how);
				return deliver(live, how.delivery, { ...frame, about: this.#state() });
			});
		}

		state(): Promise<Response> {
			return answer(async () => {
				this.#assertExists();
				return Response.json(this.#state());
			});
		}

		messages({ cursor, limit = 100 }: { cursor?: number | undefined; limit?: number | undefined }): Promise<Response> {
			return answer(async () => {
				this.#assertExists();
				const { records, next } = this.#store.messages({ from: cursor ?? 0, limit, bytes: pageBytes });
				const runIds = new Map<number, string | undefined>();
				const messages = records.map((record) => {
					if (!runIds.has(record.run)) runIds.set(record.run, this.#store.run(record.run)?.id);
					return wireMessage(record, runIds.get(record.run));
				});
				return Response.json(next === undefined ? { messages } : { messages, cursor: String(next) });
			});
		}

		send(input: Input, how: Handling): Promise<Response> {
			return this.#take('reply', how, () => {
				const message = this.#messageOf(input);
				const cutOff = message.role === 'user' ? this.#unknownResults() : [];
				return this.#begin([...cutOff, message], { ...how, model: input.model });
			});
		}

		answer(input: Input, how: Handling): Promise<Response> {
			return this.#take('answer', how, () => this.#begin([this.#messageOf(input)], how));
		}

		submit(answers: readonly Submission[], how: Handling): Promise<Response> {
			return this.#take('submit', how, () => {
				const { agent } = this.#store.session();
				const { approvalMs = Number.POSITIVE_INFINITY } = findAgent(runtime.agents, agent);
				const { messages, approved, isLast } = submitted(pendingOf(this.#store), answers, approvalMs);
				if (isLast) return this.#begin(messages, { ...how, approved });
				this.#store.transaction(() => {
					this.#approve(approved);
					this.#addInput(this.#store.run()?.n ?? 0, messages);
					if (how.once !== undefined) this.#store.deliver(how.once, 0, Date.now());
				});
				return undefined;
			});
		}

		continue(how: Handling, operation: 'continue' | 'step' = 'continue'): Promise<Response> {
			return this.#take(operation, how, () => {
				return this.#begin(this.#unknownResults(), { ...how, stopAfter: operation === 'step' ? 1 : undefined });
			});
		}

		events(lastEventId: string | undefined): Promise<Response> {
			return answer(async () => {
				this.#assertExists();
				const newest = this.#store.run();
				const seen = lastEventId === undefined || lastEventId === '' ? undefined : parsePosition(lastEventId);
				if (newest === undefined) return new Response(null, { status: 204 });
				if (seen !== undefined && (seen.run < 1 || seen.run > newest.n)) throw noSuchEvent();
				// Who has seen a run's end goes on with the next run, if there is one.
				const from = seen === undefined ? startOf(newest.n) : isEnd(seen) ? startOf(seen.run + 1) : seen;
				if (from.run > newest.n) return new Response(null, { status: 204 });
				return eventStream(follow(this.#log(from.run), from));
			});
		}

		cancel(): Promise<Response> {
			return answer(async () => {
				this.#assertExists();
				assertAllowed(this.#status(), 'cancel');
				const live = this.#live;
				if (live !== undefined) {
					live.cancel();
					await live.ended;
				} else this.#cancelWaiting();
				return Response.json(this.#state());
			});
		}

		delete(): Promise<Response> {
			return answer(async () => {
				this.#assertExists();
				this.#live?.cancel();
				await this.#live?.ended;
				await this.ctx.storage.deleteAll();
				return new Response(null, { status: 204 });
			});
		}

		/** A run that waited for somebody is over; its open calls are answered as not run when the conversation goes on. */
		#cancelWaiting(): void {
			const run = this.#store.run();
			if (run?.status !== 'awaiting_user' && run?.status !== 'awaiting_tools') return;
			const tail = { before: [], draft: [], ...run.tail, event: { type: 'cancelled' } } as const;
			this.#store.endRun(run.n, 'cancelled', tail, Date.now());
		}

		/** An operation, if the status allows it; one that was taken before gets the answer that it got. */
		#take(operation: Operation, how: Handling, work: () => LiveRun | undefined): Promise<Response> {
			return answer(async () => {
				this.#assertExists();
				const before = this.#delivered(how.once);
				if (before !== undefined) return this.#redeliver(before, how);
				const status = this.#status();
				assertAllowed(status, operation, pendingOf(this.#store).calls?.length !== 0);
				const live = work();
				return live === undefined ? Response.json(this.#state()) : deliver(live, how.delivery);
			});
		}

		/** The run that a request began when it came before, 0 for none; nothing for one that is new. */
		#delivered(once: Once | undefined): number | undefined {
			const before = once === undefined ? undefined : this.#store.delivery(once.key);
			if (before === undefined || before.request === once?.request) return before?.run;
			const message = 'Idempotency-Key: this key belongs to another request. Use a new one for each request.';
			throw new RunletError('conflict', message, { field: 'Idempotency-Key' });
		}

		/** The answer to a request that came before: its run, live or as it is stored. */
		#redeliver(n: number, { delivery }: Handling, frame: Frame = {}): Promise<Response> | Response {
			const about = frame.status === undefined ? {} : { about: this.#state() };
			const run = this.#live?.record.n === n ? this.#live : pastRun(this.#store, n);
			return run === undefined ? Response.json(this.#state(), frame) : deliver(run, delivery, { ...frame, ...about });
		}

		#approve(calls: readonly ToolCall[]): void {
			const turn = this.#store.lastTurn();
			for (const call of calls) this.#store.approve(turn, call.id, argumentsHash(call), Date.now());
		}

		#addInput(run: number, messages: readonly Message[]): void {
			for (const message of messages) this.#store.addMessage(run, message, Date.now(), { input: true });
		}

		/**
		 * Stores what the run begins with and the run together, then lets it go: a message, the answers to calls, or nothing
		 * where a run that failed is taken up.
		 */
		#begin(input: readonly Message[], { model, stopAfter, once, approved = [] }: BeginOptions): LiveRun {
			const session = this.#store.session();
			const options = optionsFor(runtime, config(this.env), { ...session, model: model ?? session.model });
			const record = this.#store.transaction(() => {
				if (model !== undefined) this.#store.chooseModel(model);
				const n = (this.#store.run()?.n ?? 0) + 1;
				const isNew = input.some(({ role }) => role === 'user');
				const firstSeq = isNew ? this.#store.nextPlace() : this.#store.lastTurn();
				const createdAt = Date.now();
				const run: RunRecord = {
					n,
					id: `run_${crypto.randomUUID()}`,
					status: 'running',
					boot: this.#boot,
					attempt: 1,
					firstSeq,
					createdAt,
				};
				this.#store.beginRun(run);
				this.#approve(approved);
				this.#addInput(n, input);
				if (once !== undefined) this.#store.deliver(once, n, createdAt);
				return run;
			});
			const context = { sessionId: this.ctx.id.toString(), runId: record.id };
			const live = carryOut(
				this.#store,
				record,
				{ ...options, context, approved: approvedCalls(this.#store), stopAfter },
				this.#store.history(),
			);
			this.#live = live;
			void live.ended.then(() => {
				if (this.#live === live) this.#live = undefined;
			});
			return live;
		}

		/** For calls that a run had begun when it was cut off. */
		#unknownResults(): readonly Message[] {
			const { tools } = findAgent(runtime.agents, this.#store.session().agent);
			return unknownResults(lastTurn(this.#store), tools, approvedCalls(this.#store));
		}

		/** A message as it enters the history: to a session that asked, it is the answer. */
		#messageOf({ text, parts }: Input): Message {
			const waiting = this.#store.run()?.tail?.event;
			if (this.#status() !== 'awaiting_user' || waiting?.type !== 'awaiting' || waiting.question === undefined)
				return userMessage(parts ?? text ?? '');
			const { content } = userMessage(parts ?? text ?? '');
			const { callId: toolCallId } = waiting.question;
			return { role: 'tool', content, toolCallId, isError: false, ...(parts !== undefined && { parts }) };
		}

		/** A run's events: the live ones, or those made again from the store. */
		#log(n: number): RunLog {
			return this.#live?.record.n === n ? this.#live.log : pastLog(this.#store, n);
		}

		/**
		 * A run of an earlier life has died with it. Until runs are recovered it ends as `interrupted`, which allows the
		 * next message.
		 */
		#closeLostRun(): void {
			if (!this.#store.exists()) return;
			const run = this.#store.run();
			if (run?.status !== 'running' || run.boot === this.#boot) return;
			const event = {
				type: 'error',
				code: 'interrupted',
				message: 'The run was cut off when its session restarted. Continue it, or send a message.',
			} as const;
			this.#store.endRun(run.n, 'error', { before: [], draft: [], event }, Date.now());
		}

		#assertExists(): void {
			if (!this.#store.exists()) throw new RunletError('not_found', 'There is no such session.');
		}

		#status() {
			return sessionStatus(this.#store.run()?.status);
		}

		#state() {
			const { id, agent, model, metadata, createdAt } = this.#store.session();
			const run = this.#store.run();
			const last = run?.tail?.event;
			const { question, calls } = pendingOf(this.#store);
			return {
				id,
				agent,
				model: model ?? runtime.agents.find(({ name }) => name === agent)?.model ?? config(this.env).model,
				status: this.#status(),
				createdAt: new Date(createdAt).toISOString(),
				...(metadata !== undefined && { metadata }),
				...(run !== undefined && { run: { id: run.id, status: run.status } }),
				...(last?.type === 'error' && { error: { code: last.code, message: last.message } }),
				...(question !== undefined && { question }),
				...(calls !== undefined && { toolCalls: calls }),
			};
		}
	};
}
