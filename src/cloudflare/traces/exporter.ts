import type { Env } from '../../core/base/env.ts';
import { parseRetryAfter } from '../../core/chat/model-error.ts';
import { type LogFields, log, toFailureFields } from '../log.ts';
import type { SessionTraces, TracedSession } from '../session/run/trace-exporter.ts';
import type { RunRecord } from '../session/store/runs.ts';
import { isWaiting, sessionStatus } from '../session/store/session-row.ts';
import { type Chain, isOpen, toChains } from '../session/ui/chains.ts';
import { documentEnd, listSpans, openDocument } from '../session/ui/trace.ts';

interface ExporterOptions extends TracedSession {
	/** Returns where the traces go. Returns nothing if they go nowhere. */
	readonly findTarget: (env: Env) => Target | undefined;
	readonly hasContent: boolean;
	readonly service?: string;
}

interface Target {
	readonly url: string;
	readonly headers: Readonly<Record<string, string>>;
}

/** The answer of a target: it took the spans, it never takes them, or they have to be sent again. */
type Outcome =
	| { readonly type: 'taken' | 'refused'; readonly status: number }
	| { readonly type: 'failed'; readonly afterMs: number; readonly fields: LogFields };

/** The time until the first export is due by the alarm, in milliseconds. The alarm of the run comes earlier. */
const firstMs = 12_000;
/** The shortest and the longest pause after a failure, in milliseconds. */
const [shortestMs, longestMs] = [5_000, 3_600_000];
/** How long after its end a trace is exported, in milliseconds. */
const givenUpMs = 3 * 86_400_000;
/** How long after its end a trace is looked at, in milliseconds. Each trace that is given up is noticed in this time. */
const forgottenMs = givenUpMs + 2 * longestMs;
/** How long a target may take, in milliseconds. */
const timeoutMs = 15_000;
/** The longest request, in characters, and the most traces at once. */
const [mostCharacters, mostTraces] = [2_000_000, 100];
/** The longest answer that is read. */
const mostAnswerBytes = 65_536;
/** The statuses that say that a target never takes a request. */
const refusals: ReadonlySet<number> = new Set([400, 413, 415, 422]);

/**
 * Exports the traces of a session to a collector. A trace is exported when its last run has ended. It is made of the stored
 * messages, so it survives the object. Which traces are exported is known in memory, and the next write of a run stores it
 * in its own row. After a crash the next instance may repeat an export, with the same ids.
 *
 * Until an export is done, the object's alarm is set within `longestMs`. So a new instance without such an alarm knows that
 * nothing is left.
 */
export class SessionExporter implements SessionTraces {
	readonly #options: ExporterOptions;
	/** Whether this instance knows which traces are exported. */
	#isKnown = false;
	#hasLooked = false;
	#retryAt = 0;
	#sending: Promise<void> | undefined;

	constructor(options: ExporterOptions) {
		this.#options = options;
	}

	look(isAlarm: boolean): void {
		if (isAlarm) this.#isKnown = true;
		if (this.#hasLooked) return;
		this.#hasLooked = true;
		const { store } = this.#options;
		const newest = store.exists() ? store.runs.get() : undefined;
		// A run without an end was interrupted, so the next write may be far away.
		if (newest === undefined || newest.end === undefined) this.#isKnown = true;
		else if (!this.#isKnown) void this.#readAlarm(newest);
	}

	nextAt(now: number): number | undefined {
		// While a target is down, the runs that wait for it are not read again and again.
		if (this.#retryAt > now) return this.#retryAt;
		if (!this.#isKnown || !this.#hasTarget || !this.#isDue(now)) return undefined;
		return this.#retryAt === 0 ? now + firstMs : now;
	}

	send(now: number): Promise<void> {
		this.#sending ??= this.#send(now).finally(() => {
			this.#sending = undefined;
		});
		return this.#sending;
	}

	async #readAlarm(newest: RunRecord): Promise<void> {
		const { alarm, runs } = this.#options.store;
		const at = await alarm.read().catch(() => Date.now());
		if (!this.#isKnown && (at === undefined || at > Date.now() + longestMs)) {
			let over: RunRecord | undefined = newest;
			while (over !== undefined && !isOver(over)) over = runs.get(over.n - 1);
			runs.noteExported(over?.n ?? 0);
		}
		this.#isKnown = true;
	}

	async #send(first: number): Promise<void> {
		const { store } = this.#options;
		if (!store.exists()) return;
		const { createdAt } = store.session();
		// A deleted session may be made again under its id.
		const isThere = () => store.exists() && store.session().createdAt === createdAt;
		let atOnce = mostTraces;
		for (let now = first; this.#isKnown && isThere() && now >= this.#retryAt; now = Date.now()) {
			const { chains, due } = this.#list(now);
			const late = due.filter((chain) => toAge(chain, now) > givenUpMs);
			for (const { last } of late) log('warn', 'trace.dropped', { 'runlet.run.id': last.id });
			store.runs.noteExported(late.at(-1)?.last.n ?? 0);
			const chosen = due.slice(late.length, late.length + atOnce);
			const done = chosen.at(-1);
			if (done === undefined) return;
			const outcome = await this.#export(chains, chosen);
			if (!isThere()) return;
			const about = { 'runlet.run.id': done.last.id };
			if (outcome.type === 'failed') {
				// The pauses double, because each is as long as the time since the end of the run.
				const age = toAge(chosen[0] ?? done, now);
				const pause = Math.max(shortestMs, age * (1 - Math.random() / 4), outcome.afterMs);
				this.#retryAt = now + Math.round(Math.min(longestMs, pause));
				return log('warn', 'trace.not_sent', { ...about, ...outcome.fields });
			}
			// One trace may be the reason for all. Each then goes in a request of its own.
			if (outcome.type === 'refused' && chosen.length > 1) {
				atOnce = 1;
				continue;
			}
			if (outcome.type === 'refused')
				log('warn', 'trace.dropped', { ...about, 'http.response.status_code': outcome.status });
			this.#retryAt = 0;
			store.runs.noteExported(done.last.n);
		}
	}

	/** Whether a trace is due. As long as a run goes on, the alarm of that run exports the traces before it. */
	#isDue(now: number): boolean {
		const { runs } = this.#options.store;
		const newest = runs.get();
		if (newest === undefined || newest.n <= runs.exported || newest.status === 'running') return false;
		// This is asked several times a run, so earlier runs are read only during a wait.
		if (isOver(newest)) return !isCopied(newest) && isRemembered(newest, now);
		return this.#list(now).due.length > 0;
	}

	/** Lists the chains that are not exported, and those of them that are over. */
	#list(now: number): { readonly chains: readonly Chain[]; readonly due: readonly Chain[] } {
		// Without a target no run is read: there may be many.
		if (!this.#hasTarget) return { chains: [], due: [] };
		const { runs } = this.#options.store;
		const records: RunRecord[] = [];
		for (const run of runs.newestFirst(runs.exported)) {
			if (isCopied(run) || (isOver(run) && !isRemembered(run, now))) break;
			records.push(run);
		}
		const chains = toChains(records.reverse());
		return { chains, due: chains.filter((chain) => chain.last.status !== 'running' && !isOpen(chain)) };
	}

	get #hasTarget(): boolean {
		try {
			return this.#target !== undefined;
		} catch {
			// The export logs the error.
			return true;
		}
	}

	get #target(): Target | undefined {
		const { findTarget, config } = this.#options;
		return findTarget(config().env);
	}

	/** Sends the spans of the chosen chains, in as few requests as possible. Returns the outcome of the last request. */
	async #export(chains: readonly Chain[], chosen: readonly Chain[]): Promise<Outcome> {
		const { store, labels, hasContent } = this.#options;
		try {
			const target = this.#target;
			let spans: string[] = [];
			let length = 0;
			for (const span of listSpans({ store, words: labels.words, hasContent, chains, chosen })) {
				const text = JSON.stringify(span);
				if (spans.length > 0 && length + text.length > mostCharacters) {
					const outcome = await this.#post(spans, target);
					if (outcome.type !== 'taken') return outcome;
					spans = [];
					length = 0;
				}
				spans.push(text);
				length += text.length;
			}
			return await this.#post(spans, target);
		} catch (cause) {
			return { type: 'failed', afterMs: 0, fields: toFailureFields(cause) };
		}
	}

	async #post(spans: readonly string[], target: Target | undefined): Promise<Outcome> {
		if (target === undefined) return { type: 'taken', status: 204 };
		const response = await fetch(target.url, {
			method: 'POST',
			headers: { 'user-agent': 'runlet', ...target.headers, 'content-type': 'application/json' },
			body: `${openDocument(this.#options.service)}${spans.join(',')}${documentEnd}`,
			redirect: 'manual',
			signal: AbortSignal.timeout(timeoutMs),
		});
		await discard(response);
		const { status, ok } = response;
		if (ok || refusals.has(status)) return { type: ok ? 'taken' : 'refused', status };
		const seconds = parseRetryAfter(response.headers.get('retry-after') ?? '');
		return { type: 'failed', afterMs: (seconds ?? 0) * 1_000, fields: { 'http.response.status_code': status } };
	}
}

/** Reads a short answer, so that the connection stays open for the next request, and breaks off any other answer. */
async function discard(response: Response): Promise<void> {
	const length = Number(response.headers.get('content-length') ?? Number.NaN);
	await (length <= mostAnswerBytes ? response.arrayBuffer() : response.body?.cancel())?.catch(() => undefined);
}

function isOver({ status, end }: RunRecord): boolean {
	return end !== undefined && !isWaiting(sessionStatus(status));
}

function isRemembered({ endedAt = 0 }: RunRecord, now: number): boolean {
	return endedAt >= now - forgottenMs;
}

/** Whether a run is of a copied history. Such runs are not exported. */
function isCopied({ boot }: RunRecord): boolean {
	return boot === '';
}

/** Returns the milliseconds since the end of a chain. */
function toAge({ last: { endedAt, createdAt } }: Chain, now: number): number {
	return now - (endedAt ?? createdAt);
}
