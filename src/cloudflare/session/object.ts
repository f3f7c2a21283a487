import { DurableObject } from 'cloudflare:workers';
import { RunletError } from '../../core/ground/errors.ts';
import { createCrashPoints } from '../agent/crash.ts';
import { chooseModel, findAgent } from '../agent/define.ts';
import type { Runtime } from '../agent/runtime.ts';
import type { Format } from '../compat/format.ts';
import { uiHeaders, uiNothing } from '../compat/ui/protocol.ts';
import { config } from '../config/config.ts';
import type { Env } from '../config/env.ts';
import { log, toFailureFields } from '../log.ts';
import type { Limit } from '../rpc/budget.ts';
import {
	type Caller,
	type CreateInput,
	type Exchange,
	type Handling,
	type Input,
	type Once,
	type PagePost,
	type PageQuery,
	replayed,
	type SessionApi,
	type Submission,
	type TokenRequest,
} from '../rpc/session.ts';
import type { session } from '../wire/session.ts';
import type { Shown } from '../wire/shown.ts';
import type { TokenScope } from '../wire/token.ts';
import { createNoSuchEvent, isEnd, parseEventId, toStart } from './events/event-id.ts';
import { follow } from './events/follow.ts';
import { createPastLog } from './events/replay.ts';
import { Admission, noSuchSession, type Pass } from './inbox/admission.ts';
import { chooseOperation } from './inbox/exchange.ts';
import { Inbox, type Stored } from './inbox/inbox.ts';
import { answer, deliver, eventStream, type Frame, type Upcoming, wireMessage } from './inbox/response.ts';
import { findOpenAnswers } from './inbox/submission.ts';
import { runInBackground } from './run/owner.ts';
import type { LiveRun } from './run/run.ts';
import { Runner } from './run/runner.ts';
import type { Outcome } from './store/deliveries.ts';
import { toInbound } from './store/inbound.ts';
import { findPending } from './store/pending.ts';
import { assertAllowed, type Operation } from './store/status.ts';
import { isStorageError } from './store/storage.ts';
import { SessionStore } from './store/store.ts';
import { type ExportForm, exportResponse, exportStream } from './ui/export.ts';
import { findHead, uiMessages } from './ui/ui.ts';

/** Characters of messages in one page of the history, about. */
const pageBytes = 4_000_000;

const pageFormat = { type: 'ui' } as const;

const messageScope: readonly TokenScope[] = ['message'];

/** What answers to calls need: to allow one, or not to, is more than to say what came of it. */
function toScopes(answers: readonly Submission[]): readonly TokenScope[] {
	const decisions = answers.filter((answer) => 'approve' in answer).length;
	return [...(decisions > 0 ? (['approve'] as const) : []), ...(decisions < answers.length ? messageScope : [])];
}

/** An alarm that failed comes again after so many milliseconds: soon where the storage failed, which passes. */
const [storageAgainMs, alarmAgainMs] = [5_000, 60_000];

/**
 * The Durable Object of a session: one method an operation, which says whether it may be, has it done and answers. What
 * it knows stands in the files beside it; what comes in is the `Inbox`'s, what it runs the `Runner`'s.
 */
class Session extends DurableObject<Env> implements SessionApi {
	readonly #runtime: Runtime;
	readonly #store: SessionStore;
	readonly #runner: Runner;
	readonly #inbox: Inbox;
	readonly #admission: Admission;
	/** Whether what an earlier life of the object left was taken up. */
	#isAwake = false;
	/** Whether the alarm that the session needs stands, as far as this life of the object knows. */
	#hasAlarm = false;
	/** Whether the session is being removed: nothing may begin any more. */
	#isLeaving = false;

	constructor(ctx: DurableObjectState, env: Env, runtime: Runtime) {
		super(ctx, env);
		this.#runtime = runtime;
		const { storage } = ctx;
		this.#store = new SessionStore(storage);
		this.#runner = new Runner({ runtime, store: this.#store, config: () => config(env) });
		const assertExists = () => this.#assertExists();
		this.#inbox = new Inbox(this.#store, this.#runner, runtime.agents, assertExists);
		this.#admission = new Admission(this.#store, () => config(env), assertExists);
		try {
			this.#wake();
		} catch (cause) {
			// Each request and the alarm try it again.
			log('error', 'session.not_awake', toFailureFields(cause));
		}
	}

	create(given: CreateInput, how: Handling): Promise<Response> {
		return this.#answer(async () => {
			const { owner, keyId = '', input } = given;
			const headers = { location: `/v1/sessions/${this.ctx.id}`, 'cache-control': 'no-store' };
			const frame = async () => {
				const token = await this.#admission.first(keyId);
				return { status: 201, headers, about: () => ({ ...this.#state(), ...token }) };
			};
			// An id is made for one request, so the session is here only where that request comes again.
			if (!this.#store.exists()) await this.#runner.alarm.announce();
			const before = this.#store.exists() ? this.#inbox.deliver(how.once) : undefined;
			if (before !== undefined) return this.#redeliver(before, how, await frame());
			const begin = this.#store.transaction(() => {
				this.#create(given, input === undefined ? how.once : undefined);
				this.#admission.addFirst(keyId);
				if (input === undefined) return undefined;
				const { message, inbound } = toInbound(input, owner);
				return this.#runner.storeRun([message], { ...how, inbound });
			});
			if (begin === undefined) {
				// It is listed, and may expire.
				this.#runner.tellOwner();
				const { about, ...init } = await frame();
				return Response.json(about(), init);
			}
			const live = begin();
			await this.#accept(live.record);
			return deliver(live, how, await frame());
		}, how.format);
	}

	state(caller: Caller): Promise<Response> {
		return this.#answer(async () => {
			await this.#admission.open(caller, ['read']);
			// What the owner's other sessions spend is nothing to who holds a token of this one.
			const day = 'owner' in caller ? await this.#runner.owner.day() : undefined;
			const owner = 'owner' in caller && caller.isAdmin ? this.#store.session().owner : undefined;
			return Response.json({ ...this.#state(), owner, dayBudget: day });
		});
	}

	change(caller: Caller, { budget }: { readonly budget: Limit }): Promise<Response> {
		return this.#answer(async () => {
			await this.#admission.findOwn(caller);
			this.#store.setBudget(budget);
			return Response.json(this.#state());
		});
	}

	token(caller: Caller, asked: TokenRequest): Promise<Response> {
		return this.#answer(async () => {
			const made = await this.#admission.make(await this.#admission.findOwn(caller), asked);
			return Response.json(made, { status: 201, headers: { 'cache-control': 'no-store' } });
		});
	}

	revokeToken(caller: Caller, id: string): Promise<Response> {
		return this.#answer(async () => {
			await this.#admission.findOwn(caller);
			this.#admission.revoke(id);
			return new Response(null, { status: 204 });
		});
	}

	messages(caller: Caller, { cursor, limit = 100 }: PageQuery): Promise<Response> {
		return this.#answer(async () => {
			await this.#admission.open(caller, ['read']);
			const { records, next } = this.#store.messages.page({ from: cursor ?? 0, limit, bytes: pageBytes });
			const runIds = new Map<number, string | undefined>();
			const messages = records.map((record) => {
				if (!runIds.has(record.run)) runIds.set(record.run, this.#store.runs.get(record.run)?.id);
				return wireMessage(record, runIds.get(record.run));
			});
			return Response.json(next === undefined ? { messages } : { messages, cursor: String(next) });
		});
	}

	message(caller: Caller, seq: number): Promise<Response> {
		return this.#answer(async () => {
			await this.#admission.open(caller, ['read']);
			const record = this.#store.messages.get(seq);
			if (record === undefined) throw new RunletError('not_found', 'There is no such message in this session.');
			const runId = this.#store.runs.get(record.run)?.id;
			return Response.json(wireMessage(this.#store.messages.whole(record), runId));
		});
	}

	send(caller: Caller, input: Input, how: Handling): Promise<Response> {
		const { create } = input;
		return this.#take(caller, undefined, { ...how, create }, () => this.#inbox.send(input, how));
	}

	answer(caller: Caller, input: Input, how: Handling): Promise<Response> {
		return this.#take(caller, 'answer', how, () => this.#inbox.answer(input, how));
	}

	converse(caller: Caller, exchange: Exchange, how: Handling): Promise<Response> {
		const operation = () => chooseOperation(this.#store, exchange);
		const { create } = exchange;
		return this.#take(caller, operation, { ...how, create }, () => this.#inbox.converse(exchange, how));
	}

	submit(caller: Caller, answers: readonly Submission[], how: Handling): Promise<Response> {
		return this.#take(caller, 'submit', how, () => this.#inbox.submit(answers, how), toScopes(answers));
	}

	continue(caller: Caller, how: Handling, operation: 'continue' | 'step' = 'continue'): Promise<Response> {
		return this.#take(caller, operation, how, () => {
			const stopAfter = operation === 'step' ? 1 : undefined;
			return this.#runner.storeRun([], { once: how.once, stopAfter });
		});
	}

	events(caller: Caller, lastEventId: string | undefined): Promise<Response> {
		return this.#answer(async () => {
			const { lease } = await this.#admission.open(caller, ['read']);
			const newest = this.#store.runs.get();
			const seen = lastEventId === undefined || lastEventId === '' ? undefined : parseEventId(lastEventId);
			if (newest === undefined) return new Response(null, { status: 204 });
			if (seen !== undefined && (seen.run < 1 || seen.run > newest.n)) throw createNoSuchEvent();
			// Who has seen a run's end goes on with the next run, if there is one.
			const from = seen === undefined ? toStart(newest.n) : isEnd(seen) ? toStart(seen.run + 1) : seen;
			if (from.run > newest.n) return new Response(null, { status: 204 });
			const { live } = this.#runner;
			const log = live?.record.n === from.run ? live.log : createPastLog(this.#store, from.run);
			return eventStream(follow(log, from, undefined, lease));
		});
	}

	post(caller: Caller, post: PagePost, how: Handling): Promise<Response> {
		return this.#answer(async () => {
			const { agent, input } = post;
			const pass = await this.#admit(caller, [], input?.create, agent);
			for (const scope of input === undefined ? this.#scopesFor(post) : messageScope) pass.assert(scope);
			const before = this.#store.exists() ? this.#inbox.deliver(how.once) : undefined;
			const createMissing = () => this.#createMissing(input?.create);
			const run =
				before === undefined ? await this.#inbox.post(post, how, createMissing) : this.#inbox.redelivered(before);
			const format = { type: 'ui', isContinued: post.answers !== undefined } as const;
			if (run === undefined) return this.#refuseEmpty();
			await this.#accept(run.record);
			return deliver(run, { delivery: 'stream', format }, this.#pageFrame(pass));
		}, pageFormat);
	}

	resume(caller: Caller, agent: string): Promise<Response> {
		return this.#answer(async () => {
			const pass = await this.#admission.open(caller, ['read'], agent);
			const { live } = this.#runner;
			if (live === undefined) return new Response(null, { status: 204 });
			return deliver(live, { delivery: 'stream', format: pageFormat }, this.#pageFrame(pass));
		}, pageFormat);
	}

	pageMessages(caller: Caller, agent: string): Promise<Response> {
		return this.#answer(async () => {
			await this.#admission.open(caller, ['read'], agent);
			return Response.json({ messages: uiMessages(this.#store) }, this.#pageFrame());
		}, pageFormat);
	}

	cancel(caller: Caller, { once, format }: Pick<Handling, 'once' | 'format'>): Promise<Response> {
		return this.#answer(async () => {
			await this.#admission.open(caller, messageScope);
			if (this.#inbox.deliver(once) === undefined) {
				assertAllowed(this.#store.status, 'cancel');
				await this.#runner.cancel();
				this.#assertExists();
				if (once !== undefined && this.#inbox.deliver(once) === undefined)
					this.#store.deliveries.add(once, {}, Date.now());
			}
			return Response.json(this.#state());
		}, format);
	}

	export(caller: Caller, form: ExportForm): Promise<Response> {
		return answer(async () => {
			await this.#admission.findOwn(caller);
			const { owner, title, expiresAfterMs, clientTools } = this.#store.session();
			const about = { ...this.#state(), owner, title, expiresAfterMs, clientTools };
			const isThere = () => !this.#isLeaving && this.#store.exists();
			return exportResponse(exportStream(this.#store, about, form, isThere), about.id, form);
		});
	}

	delete(caller: Caller): Promise<Response> {
		return this.#answer(async () => {
			await this.#admission.findOwn(caller);
			await this.#remove();
			return new Response(null, { status: 204 });
		});
	}

	override async alarm(): Promise<void> {
		try {
			this.#wake();
			const { action } = await this.#runner.handleAlarm();
			if (action.type === 'remove') await this.#remove();
			if (action.type === 'clear') await this.#leave();
		} catch (cause) {
			// An alarm that throws is tried a few times only; this one has to come again.
			log('error', 'session.alarm_failed', toFailureFields(cause));
			const pauseMs = isStorageError(cause) ? storageAgainMs : alarmAgainMs;
			// Where this fails, too, the platform tries this one a few times more; then the next request sets it again.
			this.#hasAlarm = false;
			await this.#store.setAlarm(Date.now() + pauseMs);
		}
	}

	/** Takes up what an earlier life of the object left, once. Throws where the storage fails. */
	#wake(): void {
		if (this.#isAwake) return;
		this.#store.open();
		this.#runner.goOn();
		this.#isAwake = true;
	}

	#renewAlarm(): void {
		if (this.#hasAlarm) return;
		this.#hasAlarm = true;
		runInBackground(async () => {
			this.#hasAlarm = await this.#runner.alarm.renew();
		});
	}

	/** The answer to a request, whatever happens. */
	#answer(work: () => Promise<Response>, format?: Format): Promise<Response> {
		return answer(async () => {
			this.#wake();
			this.#renewAlarm();
			return work();
		}, format);
	}

	async #remove(): Promise<void> {
		this.#isLeaving = true;
		try {
			await this.#runner.cancel();
			// Set before it is needed: nobody else comes back for what a removed session owes.
			await this.#store.setAlarm(Date.now() + alarmAgainMs);
			this.#store.erase(Date.now());
			await this.#leave();
		} finally {
			this.#isLeaving = false;
		}
	}

	/** Tells what a removed session still owes; nothing stays of it once that was told. */
	async #leave(): Promise<void> {
		const { outbox } = this.#runner.owner;
		await outbox.send();
		if (this.#store.exists()) return;
		if (!outbox.isEmpty) return this.#store.setAlarm(this.#store.outbox.nextAt());
		await this.#store.setAlarm(undefined);
		await this.ctx.storage.deleteAll();
	}

	/** An operation, if the status allows it (one without a name it always does); one that was taken before gets the answer that it got. */
	#take(
		caller: Caller,
		operation: Operation | undefined | (() => Operation),
		how: Handling & Pick<Input, 'create'>,
		store: () => Stored<LiveRun | Upcoming | undefined>,
		scopes: readonly TokenScope[] = messageScope,
	): Promise<Response> {
		return this.#answer(async () => {
			const { lease } = await this.#admit(caller, scopes, how.create);
			const before = this.#store.exists() ? this.#inbox.deliver(how.once) : undefined;
			if (before !== undefined) return this.#redeliver(before, how, { lease });
			const begin = this.#store.transaction(() => {
				this.#createMissing(how.create);
				const hasOpenCalls = findPending(this.#store).calls?.length !== 0;
				const named = typeof operation === 'function' ? operation() : operation;
				if (named !== undefined) assertAllowed(this.#store.status, named, hasOpenCalls);
				return store();
			});
			const run = begin();
			if (run === undefined) return Response.json(this.#state());
			await this.#accept(run.record);
			return deliver(run, how, { lease });
		}, how.format);
	}

	#refuseEmpty(): Response {
		const text = uiNothing((findPending(this.#store).calls ?? []).length > 0);
		const { headers } = this.#pageFrame();
		return eventStream(new Response(text).body ?? new ReadableStream(), 200, { ...uiHeaders, ...headers });
	}

	#pageFrame({ lease }: Partial<Pass> = {}) {
		const context = { uiHead: (run: number, isContinued: boolean) => findHead(this.#store, run, isContinued) };
		return { status: 200, headers: { 'runlet-session': this.ctx.id.toString() }, context, lease };
	}

	async #accept({ n }: { readonly n: number }): Promise<void> {
		await createCrashPoints(this.#runtime.crashPoint, this.ctx.id.toString(), n)('accepted');
	}

	/** The answer to a request that came before: its run, live, as it is stored, or as it will be. A header says so. */
	#redeliver(before: Outcome, how: Handling, given: Frame = {}): Promise<Response> | Response {
		const { about = () => this.#state(), status = 200 } = given;
		const headers = { ...given.headers, [replayed]: 'true' };
		const run = this.#inbox.redelivered(before);
		if (run === undefined) return Response.json(about(), { status, headers });
		return deliver(run, how, 'begun' in run ? { headers } : { ...given, headers });
	}

	#create(given: CreateInput, once?: Once): void {
		const { agent, model } = given;
		chooseModel(findAgent(this.#runtime.agents, agent), model, config(this.env).model);
		const createdAt = Date.now();
		this.#store.transaction(() => {
			// It is there when a request comes again that is no longer known.
			if (!this.#store.exists()) {
				this.#store.create({ ...given, id: this.ctx.id.toString(), createdAt });
				// They are of no run.
				for (const message of given.history ?? []) this.#store.messages.add(0, message, createdAt, { input: true });
			}
			if (once !== undefined) this.#store.deliveries.add(once, {}, createdAt);
		});
	}

	/** Lets a caller in, also to a session that is not there yet, if this is its owner: `#createMissing` makes it. */
	async #admit(caller: Caller, scopes: readonly TokenScope[], given?: CreateInput, agent?: string): Promise<Pass> {
		const isMissing = () => !this.#isLeaving && !this.#store.exists();
		if (given !== undefined && 'owner' in caller && caller.owner === given.owner && isMissing()) {
			await this.#runner.alarm.announce();
			if (isMissing()) return { assert: () => {} };
		}
		return this.#admission.open(caller, scopes, agent);
	}

	/** Makes a session that is not there yet, in the transaction that stores what it is made for. */
	#createMissing(given: CreateInput | undefined): void {
		if (given !== undefined && !this.#isLeaving && !this.#store.exists()) this.#create(given);
		this.#assertExists();
	}

	/** What a page's answers need. */
	#scopesFor({ answers = [] }: PagePost): readonly TokenScope[] {
		const isOpen = this.#store.status === 'awaiting_tools';
		return toScopes(isOpen ? findOpenAnswers(findPending(this.#store).calls, answers) : []);
	}

	#assertExists(): void {
		if (this.#isLeaving || !this.#store.exists()) throw noSuchSession();
	}

	#state(): Shown<typeof session> {
		const { id, agent, model, metadata, createdAt } = this.#store.session();
		const run = this.#store.runs.get();
		const last = run?.end?.event;
		const { question, calls } = findPending(this.#store);
		const waiting = this.#store.queue.size;
		return {
			id,
			agent,
			model: model ?? this.#runtime.agents.find(({ name }) => name === agent)?.model ?? config(this.env).model,
			status: this.#store.status,
			createdAt: new Date(createdAt).toISOString(),
			metadata,
			...(run !== undefined && { run: { id: run.id, status: run.status } }),
			...(last?.type === 'error' && { error: { code: last.code, message: last.message } }),
			question,
			toolCalls: calls,
			...(waiting > 0 && { waiting }),
			budget: this.#runner.budget(),
		};
	}
}

/** The class that `wrangler.toml` binds as `SESSIONS`: sessions of this runtime's agents. */
export function bindSession(runtime: Runtime) {
	return class extends Session {
		constructor(ctx: DurableObjectState, env: Env) {
			super(ctx, env, runtime);
		}
	};
}
