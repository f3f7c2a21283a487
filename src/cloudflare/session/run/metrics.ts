import { type ChatUsage, type RunEvent, resolveRegistration, type TerminalEvent } from '../../../core/chat/index.ts';
import { addUsage } from '../../../core/chat/reply.ts';
import type { Runtime } from '../../agent/runtime.ts';
import type { Config } from '../../config/config.ts';
import type { DataPoint } from '../../config/env.ts';
import { findVariable, type LogFields, log, toFailureFields } from '../../log.ts';
import { formatRequestId } from '../../wire/request-id.ts';
import { replay } from '../events/replay.ts';
import type { RunRecord } from '../store/runs.ts';
import { toRunStatus } from '../store/session-row.ts';
import type { SessionStore } from '../store/store.ts';

/** The totals of a run's events. */
export interface RunTally {
	readonly usage: ChatUsage;
	readonly turns: number;
	/** The number of tool results. */
	readonly toolCalls: number;
	/** The number of tool results that are errors. */
	readonly toolFailures: number;
}

export class RunCounter {
	#usage: ChatUsage = {};
	/** The usage of a turn without a `step` event yet. */
	#open: ChatUsage | undefined;
	#turns = 0;
	#toolCalls = 0;
	#toolFailures = 0;

	constructor(events: readonly RunEvent[] = []) {
		this.add(events);
	}

	get tally(): RunTally {
		const open = this.#open === undefined ? 0 : 1;
		return {
			usage: addUsage(this.#usage, this.#open),
			turns: this.#turns + open,
			toolCalls: this.#toolCalls,
			toolFailures: this.#toolFailures,
		};
	}

	add(events: readonly RunEvent[]): void {
		for (const event of events) this.#add(event);
	}

	#add(event: RunEvent): void {
		switch (event.type) {
			case 'stop':
				this.#open = event.usage ?? {};
				break;
			case 'tool_result':
				this.#toolCalls++;
				if (event.isError) this.#toolFailures++;
				break;
			case 'step':
				this.#close(event.usage);
				break;
			case 'turn.restarted':
				this.#open = undefined;
				break;
			case 'done':
			case 'cancelled':
				this.#close(this.#open);
				this.#usage = event.usage ?? this.#usage;
		}
	}

	/** Ends a turn. The open calls of an earlier run do not count as a turn of this run. */
	#close(usage: ChatUsage | undefined): void {
		if (this.#open === undefined) return;
		this.#turns++;
		this.#usage = addUsage(this.#usage, usage);
		this.#open = undefined;
	}
}

/** OpenTelemetry's names of providers that differ from ours (semantic conventions, "gen_ai.provider.name"). */
const providerNames: ReadonlyMap<string, string> = new Map([
	['xai', 'x_ai'],
	['gemini', 'gcp.gemini'],
	['mistral', 'mistral_ai'],
]);

/** Returns the value of `gen_ai.provider.name`. */
export function toProviderName(provider: string): string {
	return providerNames.get(provider) ?? provider;
}

export interface EndedRun {
	readonly event: TerminalEvent;
	readonly tally: RunTally;
	readonly transport: string | undefined;
	/** The time of the model's first event, in milliseconds since 1970. */
	readonly firstAt?: number;
}

export interface ReportOptions {
	readonly store: SessionStore;
	readonly runtime: Runtime;
	readonly config: () => Config;
}

/**
 * Reports a run after its end was stored: with a line in the log and a point in Analytics Engine. After a crash there
 * may be no report, or two. Never throws: a run does not fail because its report fails.
 */
export function reportRun(options: ReportOptions, run: RunRecord, ended: EndedRun): void {
	try {
		const config = options.config();
		const report = createReport(options, config, run, ended);
		log('info', 'run', toLogLine(report));
		config.metrics?.writeDataPoint(toPoint(report));
	} catch (cause) {
		log('warn', 'run.not_reported', { 'runlet.run.id': run.id, ...toFailureFields(cause) });
	}
}

type RunReport = ReturnType<typeof createReport>;

function createReport(
	{ store, runtime }: ReportOptions,
	config: Config,
	{ n, id: run, model = '', attempt, createdAt, origin }: RunRecord,
	{ event, tally, transport = 'http', firstAt }: EndedRun,
) {
	const { id: session, owner, agent } = store.session();
	const named = resolveRegistration({ model, providers: runtime.providers(config) })?.variant;
	const provider = tally.usage.provider ?? named ?? '';
	return {
		...{ ...tally, session, run, owner, agent, model, event, transport, attempts: attempt },
		request: toLoggedRequest(origin?.requestId, session),
		provider: toProviderName(provider),
		status: toRunStatus(event),
		errorCode: event.type === 'error' ? event.code : undefined,
		usd: store.spending.getRun(n).usd,
		durationMs: Date.now() - createdAt,
		firstEventMs: attempt > 1 || firstAt === undefined ? undefined : firstAt - createdAt,
	};
}

function toLogLine(run: RunReport): LogFields {
	const { usage } = run;
	return {
		'gen_ai.operation.name': 'invoke_agent',
		'gen_ai.agent.name': run.agent,
		'gen_ai.conversation.id': run.session,
		'gen_ai.provider.name': run.provider,
		'gen_ai.request.model': run.model,
		'gen_ai.usage.input_tokens': usage.inputTokens,
		'gen_ai.usage.output_tokens': usage.outputTokens,
		'gen_ai.usage.cache_read.input_tokens': usage.cachedInputTokens,
		'gen_ai.usage.reasoning.output_tokens': usage.reasoningTokens,
		'runlet.request.id': run.request,
		'runlet.run.id': run.run,
		'runlet.run.status': run.status,
		'error.type': run.errorCode,
		'runlet.variable': run.event.type === 'error' ? findVariable(run.event) : undefined,
		'runlet.owner': run.owner,
		'runlet.transport': run.transport,
		'runlet.cost.usd': run.usd,
		'runlet.duration_ms': run.durationMs,
		'runlet.first_event_ms': run.firstEventMs,
		'runlet.run.turns': run.turns,
		'runlet.run.tool_calls': run.toolCalls,
		'runlet.run.tool_failures': run.toolFailures,
		'runlet.run.lives': run.attempts,
	};
}

/**
 * Formats a run as a row of the dataset. The columns are numbered (docs/deploy.md lists them), and rows stay for three
 * months: append columns, and never change a column. An unknown number is 0, and an unknown text is ''.
 */
function toPoint({ usage, ...run }: RunReport): DataPoint {
	return {
		indexes: [run.owner.slice(0, 96)],
		blobs: [run.agent, run.model, run.provider, run.status, run.errorCode ?? '', run.transport],
		doubles: [
			usage.inputTokens ?? 0,
			usage.outputTokens ?? 0,
			usage.cachedInputTokens ?? 0,
			usage.reasoningTokens ?? 0,
			run.usd,
			run.durationMs,
			run.firstEventMs ?? 0,
			run.turns,
			run.toolCalls,
			run.attempts,
			run.toolFailures,
		],
	};
}

export function reportLostRun(options: ReportOptions, { n, firstSeq }: RunRecord): void {
	const { store } = options;
	const record = store.runs.get(n);
	if (record?.end === undefined) return;
	const stored = store.findRunMessages(n, firstSeq);
	const { tally } = new RunCounter(replay(record, stored));
	const { transport } = stored.findLast(({ inbound }) => inbound !== undefined)?.inbound ?? {};
	reportRun(options, record, { event: record.end.event, tally, transport });
}

/** Returns the id of a request as the answer had it. */
export function toLoggedRequest(request: string | undefined, session: string | undefined): string | undefined {
	return request === undefined ? undefined : formatRequestId({ request, session });
}
