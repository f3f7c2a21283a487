import type { Actor } from '../../../core/base/actor.ts';
import { hashText, toHex } from '../../../core/base/bytes.ts';
import { isRecord } from '../../../core/base/json.ts';
import type { PendingCalls } from '../../../core/chat/call-answers.ts';
import type { CallEdit, OpenCallState, Question } from '../../../core/chat/index.ts';
import { listOpenCalls } from '../../../core/chat/message.ts';
import type { ToolCall } from '../../../core/tool/index.ts';
import type { Decision } from '../../agent/child-decision.ts';
import type { Child } from '../../agent/children.ts';
import { type Amount, nothing, plus } from '../../objects/budget.ts';
import type { Sql } from '../../objects/migrate.ts';
import type { WaitsFor } from '../../objects/outside-call.ts';
import { toJsonText } from '../../objects/storage.ts';
import { type Inbound, joinInbound } from './inbound.ts';
import { findLastReply, type MessageRows } from './messages.ts';
import { type RunRows, restoreText } from './runs.ts';
import type { SessionRecord } from './session-row.ts';
import type { CachingSql } from './tables.ts';

export interface ChildRecord extends Child {
	readonly turn: number;
	/** The whole cost. Missing until it is known. */
	readonly cost?: Amount;
	/** Whether the result of the child is not needed any more. */
	readonly isLeft: boolean;
	readonly createdAt: number;
}

export class ChildRows {
	readonly #sql: CachingSql;
	readonly #all: () => readonly ChildRecord[];

	constructor(sql: CachingSql) {
		this.#sql = sql;
		this.#all = sql.cached('child', () =>
			sql.exec<Row>('SELECT * FROM child ORDER BY created_at, turn, call').toArray().map(toRecord),
		);
	}

	list(): readonly ChildRecord[] {
		return this.#all();
	}

	/** Lists the children without a known cost. */
	listOpen(): readonly ChildRecord[] {
		return this.#all().filter(({ cost }) => cost === undefined);
	}

	find(turn: number, callId: string): ChildRecord | undefined {
		return this.#all().find((child) => child.turn === turn && child.callId === callId);
	}

	add({ turn, callId, id, agent, budget, isBackground, createdAt }: Omit<ChildRecord, 'cost' | 'isLeft'>): void {
		// A clock that goes back does not change the order.
		const at = Math.max(createdAt, 1 + (this.#all().at(-1)?.createdAt ?? 0));
		const about = { budget: toJsonText(budget), background: isBackground ? 1 : null };
		this.#sql.insert('child', { turn, call: JSON.stringify(callId), id, agent, ...about, created_at: at });
	}

	/** Stores that the result of a background child is not needed any more. */
	leave(id: string): void {
		this.#sql.write('child', 'UPDATE child SET background = 0 WHERE id = ? AND background = 1', id);
	}

	settle(id: string, { tokens, usd }: Amount): void {
		this.#sql.write('child', 'UPDATE child SET tokens = ?, usd = ? WHERE id = ?', tokens, usd, id);
	}

	sum(): { readonly spent: Amount; readonly reserved: Amount } {
		const addUp = (amounts: readonly Amount[]): Amount => amounts.reduce(plus, nothing);
		return {
			spent: addUp(this.#all().map(({ cost = nothing }) => cost)),
			reserved: addUp(this.listOpen().map(({ budget: { tokens = 0, usd = 0 } = {} }) => ({ tokens, usd }))),
		};
	}
}

type Row = {
	turn: number;
	call: string;
	id: string;
	agent: string;
	budget: string | null;
	tokens: number | null;
	usd: number | null;
	background: number | null;
	created_at: number;
};

function toRecord({ call, budget, tokens, usd, background, created_at: createdAt, ...row }: Row): ChildRecord {
	return {
		...row,
		callId: JSON.parse(call),
		budget: budget === null ? undefined : JSON.parse(budget),
		cost: tokens === null || usd === null ? undefined : { tokens, usd },
		isBackground: background !== null,
		isLeft: background === 0,
		createdAt,
	};
}

export interface CallRecord {
	/**
	 * `asked`: a person has to decide. `allowed`: a person approved the call. `begun`: the tool may have run.
	 * `answered`: the call's question is answered, but the tool has not got the answer yet.
	 */
	readonly state: 'asked' | 'allowed' | 'begun' | 'answered';
	readonly question?: Question;
	/** The data that the tool stored with its question, if the tool itself uses the answer. */
	readonly resume?: ResumeData;
	/** The answer for that tool. */
	readonly answer?: string;
	readonly decision?: Decision;
	/** The origin of the answer. */
	readonly inbound?: Inbound;
	/** The arguments from a person, which replace the model's arguments. */
	readonly ranWith?: CallEdit['input'];
}

/** The data that a tool stores with its question. The value may be `null`. */
interface ResumeData {
	readonly value: unknown;
}

interface CallNote extends Pick<CallRecord, 'question' | 'resume' | 'ranWith'> {
	readonly by?: Actor;
}

export interface CallReply {
	readonly call: ToolCall;
	readonly text: string;
	readonly decision?: Decision;
	readonly by?: Actor;
	/** The origin of a text answer. A decision has none, because a person who approves a call does not ask for it. */
	readonly inbound?: Inbound;
}

const longestQuestion = 100_000;

export class CallRows {
	readonly outside: WaitingCallRows;
	readonly children: ChildRows;
	readonly #sql: CachingSql;
	readonly #askedIds: () => ReadonlySet<string>;

	constructor(sql: CachingSql) {
		this.#sql = sql;
		this.#askedIds = sql.cached('call', () => {
			const rows = sql.exec<{ call: string }>('SELECT call FROM call WHERE asked = 1');
			return new Set(rows.toArray().map(({ call }): string => JSON.parse(call)));
		});
		this.children = new ChildRows(sql);
		this.outside = new WaitingCallRows(sql);
	}

	note(turn: number, call: ToolCall, state: CallRecord['state'], at: number, about: CallNote = {}): void {
		const { question, resume, ranWith, by } = about;
		this.#sql.write(
			'call',
			`INSERT INTO call (turn, call, state, asked, arguments, question, resume, created_at, input, decided_by)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (turn, call) DO UPDATE SET
				state = excluded.state, arguments = excluded.arguments, question = excluded.question,
				resume = excluded.resume, answer = NULL, decision = NULL, input = coalesce(excluded.input, input),
				decided_by = coalesce(excluded.decided_by, decided_by)`,
			...[turn, toKey(call.id), state, state === 'begun' ? 0 : 1, hashArguments(call)],
			toJsonText(question && shortenQuestion(question)),
			...[toJsonText(resume), at, toJsonText(ranWith), toJsonText(by)],
		);
	}

	/** Stores the answer to a call's question, for the call's tool. Keeps the senders of earlier answers as askers. */
	answer(turn: number, { call, text, decision, by, inbound }: CallReply): void {
		const before = this.findInbound(turn, call.id);
		this.#sql.write(
			'call',
			`UPDATE call SET state = 'answered', answer = ?, decision = ?, decided_by = ?, inbound = coalesce(?, inbound)
			WHERE turn = ? AND call = ?`,
			...[text, toJsonText(decision), toJsonText(by), toJsonText(inbound && joinInbound(before, inbound))],
			...[turn, toKey(call.id)],
		);
	}

	/** Returns the origin of the newest answer that the tool of a call got. */
	findInbound(turn: number, callId: string): Inbound | undefined {
		const select = 'SELECT inbound FROM call WHERE turn = ? AND call = ?';
		const [row] = this.#sql.exec<{ inbound: string | null }>(select, turn, toKey(callId)).toArray();
		return row === undefined || row.inbound === null ? undefined : JSON.parse(row.inbound);
	}

	find(turn: number, call: ToolCall): CallRecord | undefined {
		type Row = { state: CallRecord['state']; arguments: string } & Record<
			'question' | 'resume' | 'answer' | 'input' | 'inbound' | 'decision' | 'decided_by',
			string | null
		>;
		const select = 'SELECT * FROM call WHERE turn = ? AND call = ?';
		const [row] = this.#sql.exec<Row>(select, turn, toKey(call.id)).toArray();
		if (row === undefined || row.arguments !== hashArguments(call)) return undefined;
		const { state, question, resume, answer, input, inbound, decision, decided_by: by } = row;
		return {
			state,
			question: question === null ? undefined : JSON.parse(question),
			resume: resume === null ? undefined : JSON.parse(resume),
			answer: answer ?? undefined,
			decision: decision === null ? undefined : { ...JSON.parse(decision), ...(by !== null && { by: JSON.parse(by) }) },
			inbound: inbound === null ? undefined : JSON.parse(inbound),
			ranWith: input === null ? undefined : JSON.parse(input),
		};
	}

	/** Lists the ids of all calls about which a person was asked. */
	listAskedIds(): ReadonlySet<string> {
		return this.#askedIds();
	}
}

export interface Pending extends PendingCalls {
	readonly question: Question | undefined;
	readonly asking?: ToolCall;
}

interface Rows {
	readonly messages: MessageRows;
	readonly runs: RunRows;
	readonly calls: CallRows;
}

/** Finds the unanswered calls and the unanswered question of the newest run. */
export function findPending(store: Rows): Pending {
	const { records } = store.messages.page({ from: store.messages.lastTurn() });
	const turn = records.map(({ message }) => message);
	const run = store.runs.get();
	const last = run?.end?.event;
	if (run === undefined || last?.type !== 'awaiting')
		return { turn, question: undefined, calls: undefined, askedAt: 0 };
	const event = restoreText(last, findLastReply(records, run.n));
	const asked = event.type === 'awaiting' ? event : last;
	const open = new Set(listOpenCalls(turn).map(({ id }) => id));
	const openCalls = findOpenCalls(store);
	const allowed = new Set(listApprovedCalls(openCalls));
	const calls = asked.toolCalls?.filter(({ id, kind }) => open.has(id) && !(kind === 'approval' && allowed.has(id)));
	const asking = openCalls.find(({ call, noted }) => call.id === asked.question?.callId && noted?.resume !== undefined);
	return { turn, question: asked.question, asking: asking?.call, calls, askedAt: run.endedAt ?? 0 };
}

export interface OpenCall {
	readonly call: ToolCall;
	readonly noted: CallRecord | undefined;
}

export function findOpenCalls(store: Rows): readonly OpenCall[] {
	const turn = store.messages.lastTurn();
	const messages = store.messages.page({ from: turn }).records.map(({ message }) => message);
	return listOpenCalls(messages).map((call) => ({ call, noted: store.calls.find(turn, call) }));
}

/** Returns a unique key of a call for effects outside of the session. Call ids and session ids alone can repeat. */
export function createCallKey(session: Pick<SessionRecord, 'id' | 'createdAt'>, turn: number, callId: string): string {
	return [session.id, session.createdAt.toString(36), turn, hashText(callId)].join('-');
}

export function listApprovedCalls(open: readonly OpenCall[]): readonly string[] {
	return open.flatMap(({ call, noted }) => (noted === undefined || noted.state === 'asked' ? [] : [call.id]));
}

export function readOpenCalls(open: readonly OpenCall[]): ReadonlyMap<string, OpenCallState> {
	const states = open.flatMap(({ call, noted }): [string, OpenCallState][] => {
		if (noted === undefined) return [];
		const { state, ranWith: input, question, answer = '', resume, decision } = noted;
		const reply = state === 'answered' ? { text: answer, resume: toResume(resume?.value, decision) } : undefined;
		return [[call.id, { isApproved: state !== 'asked', input, question, answer: reply }]];
	});
	return new Map(states);
}

/** Adds the decision about the call of a child to the data of a tool. */
function toResume(data: unknown, decision: Decision | undefined): unknown {
	return decision === undefined || !isRecord(data) ? data : { ...data, decision };
}

function shortenQuestion(question: Question): Question {
	if (JSON.stringify(question).length <= longestQuestion) return question;
	return { callId: question.callId, question: question.question.slice(0, 10_000) };
}

/** Returns an id as a key. An id may be any text, even invalid Unicode. */
function toKey(id: string): string {
	return JSON.stringify(id);
}

/** Hashes a tool and its arguments. It is not feasible to find other arguments with the same hash. */
export async function hashCall(tool: string, input: unknown): Promise<string> {
	const bytes = new TextEncoder().encode(JSON.stringify([tool, input]));
	return toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
}

function hashArguments({ name, input }: ToolCall): string {
	return hashText(JSON.stringify([name, input]));
}

/** How long a call from outside waits for a person, in milliseconds. */
const longestMs = 600_000;

/** The maximum number of waiting calls. A further call replaces the oldest. */
const mostWaiting = 100;

export interface WaitingCallRecord {
	readonly id: string;
	readonly callId: string;
	readonly for: WaitsFor;
	readonly hash: string;
	/** The stored data, as JSON, of a tool that itself uses the answer. Missing if the answer is the call's result. */
	readonly resume?: string;
}

/** The calls from outside of runs that wait for a person. Each can be answered once. */
export class WaitingCallRows {
	readonly #sql: Sql;

	constructor(sql: Sql) {
		this.#sql = sql;
	}

	add({ id, callId, for: waitsFor, hash, resume }: WaitingCallRecord, now: number): void {
		this.#sql.exec('DELETE FROM waiting_call WHERE created_at <= ?', now - longestMs);
		this.#sql.exec(
			'INSERT INTO waiting_call (id, call, waits_for, hash, resume, created_at) VALUES (?, ?, ?, ?, ?, ?)',
			...[id, callId, waitsFor, hash, resume ?? null, now],
		);
		this.#sql.exec(
			'DELETE FROM waiting_call WHERE id NOT IN (SELECT id FROM waiting_call ORDER BY created_at DESC LIMIT ?)',
			mostWaiting,
		);
	}

	/** Removes and returns a waiting call. Returns nothing if it is unknown, answered, or too old. */
	take(id: string, now: number, approvalMs = longestMs): WaitingCallRecord | undefined {
		type Row = { call: string; waits_for: WaitsFor; hash: string; resume: string | null; created_at: number };
		const [row] = this.#sql.exec<Row>('DELETE FROM waiting_call WHERE id = ? RETURNING *', id).toArray();
		if (row === undefined) return undefined;
		const mostMs = row.waits_for === 'approval' ? Math.min(approvalMs, longestMs) : longestMs;
		if (row.created_at <= now - mostMs) return undefined;
		return { id, callId: row.call, for: row.waits_for, hash: row.hash, resume: row.resume ?? undefined };
	}
}
