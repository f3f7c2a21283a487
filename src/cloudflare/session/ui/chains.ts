import type { RunRecord } from '../store/runs.ts';
import { isWaiting, sessionStatus } from '../store/session-row.ts';
import type { SessionStore } from '../store/store.ts';

/** A call that a run waited for: a person had to approve it, or to answer its question. */
export interface Ask {
	readonly kind: 'approval' | 'question';
	readonly callId: string;
	/** Whether a person had to approve it because it would send something out (docs/untrusted-text.md). */
	readonly isFlow?: boolean;
}

/** The facts of a run that a trace needs. Times are in milliseconds since 1970. */
export interface TracedRun
	extends Pick<RunRecord, 'model' | 'n' | 'id' | 'status' | 'firstSeq' | 'createdAt' | 'endedAt' | 'origin'> {
	/** The code of the error that ended the run. */
	readonly errorCode?: string;
	readonly asks: readonly Ask[];
}

/** A run that waited for somebody, and all the runs that continued it, the oldest first. A run alone is a chain, too. */
export interface Chain {
	readonly first: TracedRun;
	readonly last: TracedRun;
	readonly runs: readonly TracedRun[];
}

/** Lists the chains of a session, the oldest first. */
export function listChains({ runs }: Pick<SessionStore, 'runs'>): readonly Chain[] {
	return toChains(listRuns(runs));
}

/** Finds the chain of a run, and the beginning of the next chain. Returns an empty list for an unknown run. */
export function findChain({ runs }: Pick<SessionStore, 'runs'>, id: string): readonly Chain[] {
	let first = runs.find(id);
	if (first === undefined) return [];
	for (let before = runs.get(first.n - 1); before !== undefined && waits(before); before = runs.get(before.n - 1))
		first = before;
	return toChains(listChainAndNext(runs, first));
}

function* listChainAndNext(runs: SessionStore['runs'], first: RunRecord): Generator<RunRecord> {
	let isOver = false;
	for (let record: RunRecord | undefined = first; record !== undefined; record = runs.after(record.n)) {
		yield record;
		if (isOver) return;
		isOver = !waits(record);
	}
}

/** Whether a run waits for somebody, so that the next run continues it. */
function waits({ status }: Pick<RunRecord, 'status'>): boolean {
	return isWaiting(sessionStatus(status));
}

function* listRuns(runs: SessionStore['runs']): Generator<RunRecord> {
	for (let record = runs.after(0); record !== undefined; record = runs.after(record.n)) yield record;
}

/** Joins runs to chains. The runs follow each other, and the first run continues none. */
export function toChains(records: Iterable<RunRecord>): readonly Chain[] {
	const chains: { first: TracedRun; last: TracedRun; runs: TracedRun[] }[] = [];
	for (const record of records) {
		const run = toTraced(record);
		const before = chains.at(-1);
		if (before !== undefined && isOpen(before)) {
			before.runs.push(run);
			before.last = run;
		} else chains.push({ first: run, last: run, runs: [run] });
	}
	return chains;
}

/** Whether a chain waits for somebody, so that the next run continues it. */
export function isOpen({ last }: Chain): boolean {
	return waits(last);
}

function toTraced({ n, id, model, status, firstSeq, createdAt, endedAt, origin, end }: RunRecord): TracedRun {
	const event = end?.event;
	return {
		...{ n, id, model, status, firstSeq, createdAt, endedAt, origin },
		...(event?.type === 'error' && { errorCode: event.code }),
		asks: event?.type === 'awaiting' ? listAsks(event) : [],
	};
}

function listAsks({ question, toolCalls = [] }: Extract<NonNullable<RunRecord['end']>['event'], { type: 'awaiting' }>) {
	const approvals = toolCalls.filter(({ kind }) => kind === 'approval');
	return [
		...approvals.map(({ id, flow }): Ask => ({ kind: 'approval', callId: id, isFlow: flow !== undefined })),
		...(question === undefined ? [] : [{ kind: 'question', callId: question.callId } as const]),
	];
}
