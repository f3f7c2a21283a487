import { DurableObject } from 'cloudflare:workers';
import { findAgent, modelFor } from '../agents/index.ts';
import type { Message, UserMessage } from '../chat/index.ts';
import { config, type Env } from '../config.ts';
import { RunletError } from '../errors.ts';
import type { Limit } from '../ledger/budget.ts';
import { failureFields, log } from '../log.ts';
import type { Runtime } from './agent.ts';
import type { CreateInput, Handling, Input, Once, SessionApi, Submission } from './api.ts';
import { crashPoints } from './crash.ts';
import { follow } from './follow.ts';
import { type Inbound, inboundOf } from './inbound.ts';
import { pastLog, pastRun } from './past.ts';
import { pendingOf } from './pending.ts';
import { isEnd, noSuchEvent, parsePosition, startOf } from './position.ts';
import { answer, deliver, eventStream, type Frame, type Upcoming, wireMessage } from './response.ts';
import type { LiveRun } from './run.ts';
import { Runner } from './runner.ts';
import { assertAllowed, type Operation, sessionStatus } from './status.ts';
import { SessionStore } from './store.ts';
import { submitted } from './submission.ts';

/** Characters of messages in one page of the history, about. */
const pageBytes = 4_000_000;

/** Messages that may wait for a run to end. */
const longestQueue = 16;

/**
 * The Durable Object class of a session, for a runtime's agents: one method an operation, which says whether it may be,
 * has it done and answers. What it knows stands in the files beside it, what it runs is the `Runner`'s.
 */
export function createSessionClass(runtime: Runtime) {
	return class Session extends DurableObject<Env> implements SessionApi {
		readonly #store: SessionStore;
		readonly #runner: Runner;
		/** Whether the session is being removed: nothing may begin any more. */
		#isLeaving = false;

		constructor(ctx: DurableObjectState, env: Env) {
			super(ctx, env);
			const { storage } = ctx;
			this.#store = new SessionStore(storage);
			this.#runner = new Runner({ runtime, store: this.#store, storage, config: () => config(env) });
			this.#runner.wake();
		}

		create(
			{ agent, owner, model, metadata, budget, expiresAfterMs, input }: CreateInput,
			how: Handling,
		): Promise<Response> {
			return answer(async () => {
				const id = this.ctx.id.toString();
				const frame = { status: 201, headers: { location: `/v1/sessions/${id}` } };
				// An id is made for one request, so the session is here only where that request comes again.
				const before = this.#store.exists() ? this.#delivered(how.once) : undefined;
				if (before !== undefined) return this.#redeliver(before, how, frame);
				modelFor(findAgent(runtime.agents, agent), model, config(this.env).model);
				const createdAt = Date.now();
				this.#store.transaction(() => {
					this.#store.create({ id, agent, owner, model, metadata, budget, expiresAfterMs, createdAt });
					if (input === undefined && how.once !== undefined) this.#store.deliveries.add(how.once, 0, createdAt);
				});
				if (input === undefined) {
					this.#runner.created();
					return Response.json(this.#state(), frame);
				}
				const { message, inbound } = inboundOf(input, owner);
				const live = this.#runner.begin([message], { ...how, inbound });
				await this.#accepted(live.record);
				return deliver(live, how.delivery, { ...frame, about: () => this.#state() });
			});
		}

		state(): Promise<Response> {
			return answer(async () => {
				this.#assertExists();
				const day = await this.#runner.owner.day();
				return Response.json({ ...this.#state(), ...(day !== undefined && { dayBudget: day }) });
			});
		}

		change({ budget }: { readonly budget: Limit }): Promise<Response> {
			return answer(async () => {
				this.#assertExists();
				this.#store.setBudget(budget);
				return Response.json(this.#state());
			});
		}

		messages({ cursor, limit = 100 }: { cursor?: number | undefined; limit?: number | undefined }): Promise<Response> {
			return answer(async () => {
				this.#assertExists();
				const { records, next } = this.#store.messages.page({ from: cursor ?? 0, limit, bytes: pageBytes });
				const runIds = new Map<number, string | undefined>();
				const messages = records.map((record) => {
					if (!runIds.has(record.run)) runIds.set(record.run, this.#store.runs.get(record.run)?.id);
					return wireMessage(record, runIds.get(record.run));
				});
				return Response.json(next === undefined ? { messages } : { messages, cursor: String(next) });
			});
		}

		message(seq: number): Promise<Response> {
			return answer(async () => {
				this.#assertExists();
				const record = this.#store.messages.get(seq);
				if (record === undefined) throw new RunletError('not_found', 'There is no such message in this session.');
				const runId = this.#store.runs.get(record.run)?.id;
				return Response.json(wireMessage(this.#store.messages.whole(record), runId));
			});
		}

		send(input: Input, how: Handling): Promise<Response> {
			const { whenBusy = 'queue', model } = input;
			const busy = this.#runner.live !== undefined && whenBusy !== 'reject';
			return this.#take(busy ? undefined : 'reply', how, () => {
				const given = this.#given(input);
				if (busy) return this.#wait(given, whenBusy === 'steer', input, how);
				return this.#runner.begin([this.#asAnswer(given.message)], { once: how.once, model, inbound: given.inbound });
			});
		}

		answer(input: Input, how: Handling): Promise<Response> {
			return this.#take('answer', how, () => {
				const { message, inbound } = this.#given(input);
				return this.#runner.begin([this.#asAnswer(message)], { once: how.once, inbound });
			});
		}

		submit(answers: readonly Submission[], how: Handling): Promise<Response> {
			return this.#take('submit', how, () => {
				const store = this.#store;
				const { approvalMs = Number.POSITIVE_INFINITY } = findAgent(runtime.agents, store.session().agent);
				const everAsked = store.calls.askedIds();
				const { messages, approved, isLast } = submitted(pendingOf(store), answers, { approvalMs, everAsked });
				if (isLast) return this.#runner.begin(messages, { once: how.once, approved });
				store.transaction(() => {
					const now = Date.now();
					for (const call of approved) store.calls.note(store.messages.lastTurn(), call, 'allowed', now);
					// They belong to the run that the last answer begins.
					for (const message of messages) store.messages.add(this.#runner.nextRun, message, now, { input: true });
					if (how.once !== undefined) store.deliveries.add(how.once, 0, now);
				});
				return undefined;
			});
		}

		continue(how: Handling, operation: 'continue' | 'step' = 'continue'): Promise<Response> {
			return this.#take(operation, how, () => {
				const stopAfter = operation === 'step' ? 1 : undefined;
				return this.#runner.begin([], { once: how.once, stopAfter });
			});
		}

		events(lastEventId: string | undefined): Promise<Response> {
			return answer(async () => {
				this.#assertExists();
				const newest = this.#store.runs.get();
				const seen = lastEventId === undefined || lastEventId === '' ? undefined : parsePosition(lastEventId);
				if (newest === undefined) return new Response(null, { status: 204 });
				if (seen !== undefined && (seen.run < 1 || seen.run > newest.n)) throw noSuchEvent();
				// Who has seen a run's end goes on with the next run, if there is one.
				const from = seen === undefined ? startOf(newest.n) : isEnd(seen) ? startOf(seen.run + 1) : seen;
				if (from.run > newest.n) return new Response(null, { status: 204 });
				const { live } = this.#runner;
				return eventStream(follow(live?.record.n === from.run ? live.log : pastLog(this.#store, from.run), from));
			});
		}

		cancel({ once }: Pick<Handling, 'once'>): Promise<Response> {
			return answer(async () => {
				this.#assertExists();
				if (this.#delivered(once) === undefined) {
					assertAllowed(this.#status(), 'cancel');
					await this.#runner.cancel();
					this.#assertExists();
					if (once !== undefined && this.#delivered(once) === undefined)
						this.#store.deliveries.add(once, 0, Date.now());
				}
				return Response.json(this.#state());
			});
		}

		delete(): Promise<Response> {
			return answer(async () => {
				this.#assertExists();
				await this.#remove();
				return new Response(null, { status: 204 });
			});
		}

		override async alarm(): Promise<void> {
			try {
				if (this.#runner.alarm()) await this.#remove();
			} catch (cause) {
				// An alarm that throws is tried a few times only; this one has to come again.
				log('error', 'session.alarm_failed', failureFields(cause));
				await this.ctx.storage.setAlarm(Date.now() + 60_000);
			}
		}

		async #remove(): Promise<void> {
			this.#isLeaving = true;
			try {
				await this.#runner.cancel();
				// What the ledger is not told stays set aside there: more than was spent, never less.
				await this.#runner.owner.settleUp().catch(() => {});
				await this.#runner.owner.unlist();
				await this.ctx.storage.deleteAlarm();
				await this.ctx.storage.deleteAll();
			} finally {
				this.#isLeaving = false;
			}
		}

		/** An operation, if the status allows it (one without a name it always does); one that was taken before gets the answer that it got. */
		#take(
			operation: Operation | undefined,
			how: Handling,
			work: () => LiveRun | Upcoming | undefined,
		): Promise<Response> {
			return answer(async () => {
				this.#assertExists();
				const before = this.#delivered(how.once);
				if (before !== undefined) return this.#redeliver(before, how);
				const hasOpenCalls = pendingOf(this.#store).calls?.length !== 0;
				if (operation !== undefined) assertAllowed(this.#status(), operation, hasOpenCalls);
				const run = work();
				if (run === undefined) return Response.json(this.#state());
				await this.#accepted(run.record);
				return deliver(run, how.delivery);
			});
		}

		async #accepted({ n }: { readonly n: number }): Promise<void> {
			await crashPoints(runtime.crashPoint, this.ctx.id.toString(), n)('accepted');
		}

		/** A message that came while a run goes on: the run that will answer it. */
		#wait(
			given: { readonly message: Message; readonly inbound: Inbound },
			steers: boolean,
			{ model }: Input,
			{ once }: Handling,
		): LiveRun | Upcoming {
			if (this.#store.queue.size >= longestQueue) {
				const text = `whenBusy: ${longestQueue} messages wait already. Send it when a run has ended, or cancel.`;
				throw new RunletError('conflict', text, { field: 'whenBusy', waiting: longestQueue });
			}
			const { live, queue } = this.#runner;
			const { id, runId } = queue.add(given, { model, steers, once });
			const record = steers && live !== undefined ? live.record : { n: 0, id: runId };
			return { record, begun: queue.run(id) };
		}

		/** The run that a request began when it came before, 0 for none, below 0 one that waits; nothing for one that is new. */
		#delivered(once: Once | undefined): number | undefined {
			const before = once === undefined ? undefined : this.#store.deliveries.get(once.key);
			if (before === undefined || before.request === once?.request) return before?.run;
			const message = 'Idempotency-Key: this key belongs to another request. Use a new one for each request.';
			throw new RunletError('conflict', message, { field: 'Idempotency-Key' });
		}

		/** The answer to a request that came before: its run, live, as it is stored, or as it will be. */
		#redeliver(n: number, { delivery }: Handling, frame: Frame = {}): Promise<Response> | Response {
			const about = frame.status === undefined ? {} : { about: () => this.#state() };
			const waits = n < 0 ? this.#store.queue.get(-n) : undefined;
			if (waits !== undefined)
				return deliver({ record: { n: 0, id: waits.runId }, begun: this.#runner.queue.run(waits.id) }, delivery);
			const { live } = this.#runner;
			const run = live?.record.n === n ? live : pastRun(this.#store, n);
			return run === undefined ? Response.json(this.#state(), frame) : deliver(run, delivery, { ...frame, ...about });
		}

		#given(input: Input) {
			return inboundOf(input, this.#store.session().owner);
		}

		/** A message as it enters the history: to a session that asked, it is the answer. */
		#asAnswer(message: UserMessage): Message {
			const { content, parts } = message;
			const { question } = pendingOf(this.#store);
			if (this.#status() !== 'awaiting_user' || question === undefined) return message;
			return {
				role: 'tool',
				content,
				toolCallId: question.callId,
				isError: false,
				...(parts !== undefined && { parts }),
			};
		}

		#assertExists(): void {
			if (this.#isLeaving || !this.#store.exists()) throw new RunletError('not_found', 'There is no such session.');
		}

		#status() {
			return sessionStatus(this.#store.runs.get()?.status);
		}

		#state() {
			const { id, agent, model, metadata, createdAt } = this.#store.session();
			const run = this.#store.runs.get();
			const last = run?.tail?.event;
			const { question, calls } = pendingOf(this.#store);
			const waiting = this.#store.queue.size;
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
				...(waiting > 0 && { waiting }),
				budget: this.#runner.budget(),
			};
		}
	};
}
