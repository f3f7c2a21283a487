import { DurableObject } from 'cloudflare:workers';
import { findAgent, modelFor } from '../agents/index.ts';
import { type Message, type TerminalEvent, userMessage } from '../chat/index.ts';
import { openCalls } from '../chat/message.ts';
import { config, type Env } from '../config.ts';
import { RunletError } from '../errors.ts';
import { optionsFor, type Runtime } from './agent.ts';
import type { CreateInput, Delivery, Input, SessionApi, Submission } from './api.ts';
import { follow } from './follow.ts';
import { RunLog } from './log.ts';
import { isEnd, noSuchEvent, parsePosition, startOf } from './position.ts';
import { replay } from './replay.ts';
import { answer, deliver, eventStream, wireMessage } from './response.ts';
import { carryOut, type LiveRun } from './run.ts';
import { messageStride } from './schema.ts';
import { assertAllowed, type Operation, sessionStatus } from './status.ts';
import { type RunRecord, SessionStore } from './store.ts';
import { argumentsHash, submitted, unknownResults, type Waiting } from './submission.ts';
import { lastReply, whole } from './tail.ts';

/** Characters of messages in one page of the history, about. */
const pageBytes = 4_000_000;

/** What holds for a run that begins: the model from now on, and after how many turns it stops. */
interface BeginOptions {
	readonly model?: string | undefined;
	readonly stopAfter?: number | undefined;
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

		create({ agent, model, metadata, input }: CreateInput, delivery: Delivery): Promise<Response> {
			return answer(async () => {
				const session = { id: this.ctx.id.toString(), agent, model, metadata, createdAt: Date.now() };
				modelFor(findAgent(runtime.agents, agent), model, config(this.env).model);
				this.#store.transaction(() => this.#store.create(session));
				const location = { location: `/v1/sessions/${session.id}` };
				if (input === undefined) return Response.json(this.#state(), { status: 201, headers: location });
				const live = this.#begin([userMessage(input.parts ?? input.text ?? '')]);
				return deliver(live, delivery, { status: 201, headers: location, about: this.#state() });
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

		send(input: Input, delivery: Delivery): Promise<Response> {
			return this.#take('reply', () =>
				deliver(this.#begin([this.#messageOf(input)], { model: input.model }), delivery),
			);
		}

		answer(input: Input, delivery: Delivery): Promise<Response> {
			return this.#take('answer', () => deliver(this.#begin([this.#messageOf(input)]), delivery));
		}

		submit(answers: readonly Submission[], delivery: Delivery): Promise<Response> {
			return this.#take('submit', async () => {
				const { messages, approved, isLast } = submitted(this.#waiting(), answers);
				this.#store.transaction(() => {
					const turn = this.#store.lastTurn();
					for (const call of approved) this.#store.approve(turn, call.id, argumentsHash(call), Date.now());
					if (!isLast) this.#addInput(this.#store.run()?.n ?? 0, messages);
				});
				return isLast ? deliver(this.#begin(messages), delivery) : Response.json(this.#state());
			});
		}

		continue(delivery: Delivery, how: 'continue' | 'step' = 'continue'): Promise<Response> {
			return this.#take(how, () => {
				const { tools } = findAgent(runtime.agents, this.#store.session().agent);
				const input = unknownResults(this.#turn(), tools, this.#approved());
				return deliver(this.#begin(input, { stopAfter: how === 'step' ? 1 : undefined }), delivery);
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

		/** An operation, if the status allows it. */
		#take(operation: Operation, work: () => Promise<Response>): Promise<Response> {
			return answer(async () => {
				this.#assertExists();
				const status = this.#status();
				assertAllowed(status, operation, status !== 'awaiting_tools' || this.#waiting().calls.length > 0);
				return work();
			});
		}

		/** The last assistant message and the results behind it, or the last message. */
		#turn(): readonly Message[] {
			return this.#store.messages({ from: this.#store.lastTurn() }).records.map(({ message }) => message);
		}

		#addInput(run: number, messages: readonly Message[]): void {
			for (const message of messages) this.#store.addMessage(run, message, Date.now(), { input: true });
		}

		/**
		 * Stores what the run begins with and the run together, then lets it go: a message, the answers to calls, or nothing
		 * where a run that failed is taken up.
		 */
		#begin(input: readonly Message[], { model, stopAfter }: BeginOptions = {}): LiveRun {
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
				this.#addInput(n, input);
				return run;
			});
			const context = { sessionId: this.ctx.id.toString(), runId: record.id };
			const approved = this.#approved();
			const live = carryOut(this.#store, record, { ...options, context, approved, stopAfter }, this.#store.history());
			this.#live = live;
			void live.ended.then(() => {
				if (this.#live === live) this.#live = undefined;
			});
			return live;
		}

		/** A message as it enters the history: to a session that asked, it is the answer. */
		#messageOf({ text, parts }: Input): Message {
			const waiting = this.#store.run()?.tail?.event;
			if (this.#status() !== 'awaiting_user' || waiting?.type !== 'awaiting' || waiting.question === undefined)
				return userMessage(parts ?? text ?? '');
			const content = userMessage(parts ?? text ?? '').content;
			return { role: 'tool', content, toolCallId: waiting.question.callId, isError: false };
		}

		/** A run's events: the live ones, or those made again from the store. */
		#log(n: number): RunLog {
			if (this.#live?.record.n === n) return this.#live.log;
			const run = this.#store.run(n);
			if (run === undefined) return new RunLog(n);
			const to = this.#store.run(n + 1)?.firstSeq;
			return new RunLog(
				n,
				replay(run, this.#store.messages({ from: run.firstSeq, to: to && to + messageStride }).records),
			);
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
				message: 'The run was cut off when its session restarted. Send a message to go on.',
			} as const;
			this.#store.endRun(run.n, 'error', { before: [], draft: [], event }, Date.now());
		}

		#whole(run: RunRecord, event: TerminalEvent & { type: 'awaiting' }) {
			const restored = whole(event, lastReply(this.#store.messages({ from: this.#store.lastTurn() }).records, run.n));
			return restored.type === 'awaiting' ? restored : event;
		}

		/** The calls of the last turn that were allowed with just these arguments. */
		#approved(): readonly string[] {
			const approvals = this.#store.approvals(this.#store.lastTurn());
			const open = approvals.size === 0 ? [] : openCalls(this.#turn());
			return open.filter((call) => approvals.get(call.id) === argumentsHash(call)).map(({ id }) => id);
		}

		/** What somebody is asked for, without what was answered since. */
		#waiting(): Waiting {
			const turn = this.#turn();
			const run = this.#store.run();
			const event = run?.tail?.event;
			const asked = run !== undefined && event?.type === 'awaiting' ? this.#whole(run, event).toolCalls : undefined;
			const open = new Set(openCalls(turn).map(({ id }) => id));
			for (const id of this.#approved()) open.delete(id);
			const { agent } = this.#store.session();
			const approvalMs = runtime.agents.find(({ name }) => name === agent)?.approvalMs ?? Number.POSITIVE_INFINITY;
			const allowedUntil = (run?.endedAt ?? 0) + approvalMs;
			return { turn, calls: (asked ?? []).filter(({ id }) => open.has(id)), allowedUntil };
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
			const waiting = run !== undefined && last?.type === 'awaiting' ? this.#whole(run, last) : undefined;
			return {
				id,
				agent,
				model: model ?? runtime.agents.find(({ name }) => name === agent)?.model ?? config(this.env).model,
				status: this.#status(),
				createdAt: new Date(createdAt).toISOString(),
				...(metadata !== undefined && { metadata }),
				...(run !== undefined && { run: { id: run.id, status: run.status } }),
				...(last?.type === 'error' && { error: { code: last.code, message: last.message } }),
				...(waiting?.question !== undefined && { question: waiting.question }),
				...(waiting?.toolCalls !== undefined && { toolCalls: this.#waiting().calls }),
			};
		}
	};
}
