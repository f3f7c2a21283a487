import type { Actor } from '../../../core/base/actor.ts';
import { hashText, toHex } from '../../../core/base/bytes.ts';
import { isRecord } from '../../../core/base/json.ts';
import type { PendingCalls } from '../../../core/chat/call-answers.ts';
import type { CallEdit, OpenCallState, Question } from '../../../core/chat/index.ts';
import { listOpenCalls } from '../../../core/chat/message.ts';
import type { ToolCall } from '../../../core/tool/index.ts';
import type { Decision } from '../../agent/child-decision.ts';
import type { Sql } from '../../objects/migrate.ts';
import type { WaitsFor } from '../../objects/outside-call.ts';
import { toJsonText } from '../../objects/storage.ts';
import { ChildRows } from './children.ts';
import { type Inbound, joinInbound } from './inbound.ts';
import { findLastReply, type MessageRows } from './messages.ts';
import { restoreText } from './run-end.ts';
import type { RunRows } from './runs.ts';
import type { SessionRecord } from './session-row.ts';
import type { CachingSql } from './tables.ts';

/** How far a call has come. A call without a record has not begun. */
export interface CallRecord {
	/**
	 * `asked`: a person has to decide. `allowed`: a person has. `begun`: it may have been carried out. `answered`: its
	 * question is answered, and its tool has not taken that answer.
	 */
	readonly state: 'asked' | 'allowed' | 'begun' | 'answered';
	/** The question that its tool asked the person. */
	readonly question?: Question;
	/** The data that the tool keeps with the question, if it takes the answer. */
	readonly resume?: Kept;
	/** The answer, if the tool takes it. */
	readonly answer?: string;
	/** The decision about the call of a child, if the question was about one. */
	readonly decision?: Decision;
	/** Where the answer came from. */
	readonly inbound?: Inbound;
	/** The arguments that a person put in the place of the model's. */
	readonly ranWith?: CallEdit['input'];
}

/** A value that a tool keeps. It may be `null`. */
interface Kept {
	readonly value: unknown;
}

/** A question to store, and what its tool keeps with it. */
interface Asking {
	readonly question?: Question;
	readonly resume?: Kept;
	/** Arguments in the place of the model's. They stay until the call has its result. */
	readonly ranWith?: CallEdit['input'];
	/** Who has allowed it. */
	readonly by?: Actor;
}

/** An answer to the question of a call: its text, and the decision that it is, if a person was asked for one. */
export interface CallReply {
	readonly call: ToolCall;
	readonly text: string;
	readonly decision?: Decision;
	readonly by?: Actor;
	/** Where it came from. A decision is no message: nobody asks for a thing by allowing it. */
	readonly inbound?: Inbound;
}

/** The most characters of a question in a row. */
const longestQuestion = 100_000;

/** How far the calls of each turn have come, which the history does not say. */
export class CallRows {
	/** The calls from outside of runs that wait for a person. */
	readonly outside: WaitingCallRows;
	/** The sessions that carry out calls. */
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

	/** Stores how far a call of a turn has come. */
	note(turn: number, call: ToolCall, state: CallRecord['state'], at: number, about: Asking = {}): void {
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
			question === undefined ? null : JSON.stringify(shortenQuestion(question)),
			...[resume === undefined ? null : JSON.stringify(resume), at, toJsonText(ranWith), toJsonText(by)],
		);
	}

	/** Stores the answer to the question of a call, for its tool. Those who have answered it before have asked for it, too. */
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

	/** Returns where the newest answer came from that the tool of a call was given. */
	findInbound(turn: number, callId: string): Inbound | undefined {
		type Found = { inbound: string | null };
		const select = 'SELECT inbound FROM call WHERE turn = ? AND call = ?';
		const [row] = this.#sql.exec<Found>(select, turn, toKey(callId)).toArray();
		return row === undefined || row.inbound === null ? undefined : JSON.parse(row.inbound);
	}

	/** Returns the record of a call, if it has just these arguments. */
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

	/** Lists the ids of all calls that a person was ever asked about. */
	listAskedIds(): ReadonlySet<string> {
		return this.#askedIds();
	}
}

/** The calls, or the question, that a session waits for. */
export interface Pending extends PendingCalls {
	readonly question: Question | undefined;
	/** The call that asked, if its tool takes the answer. */
	readonly asking?: ToolCall;
}

/** The rows that say what a session waits for. */
interface Rows {
	readonly messages: MessageRows;
	readonly runs: RunRows;
	readonly calls: CallRows;
}

/** Finds what the newest run asked for and nobody has answered since. */
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

/** An open call of the last turn, and how far it has come. */
export interface OpenCall {
	readonly call: ToolCall;
	readonly noted: CallRecord | undefined;
}

/** Finds the open calls of the last turn. */
export function findOpenCalls(store: Rows): readonly OpenCall[] {
	const turn = store.messages.lastTurn();
	const messages = store.messages.page({ from: turn }).records.map(({ message }) => message);
	return listOpenCalls(messages).map((call) => ({ call, noted: store.calls.find(turn, call) }));
}

/**
 * Returns the name of a call of the newest turn for effects outside. Providers number their calls, and a session may be
 * created again under its name, so the id alone is no such name.
 */
export function createCallKey(session: Pick<SessionRecord, 'id' | 'createdAt'>, turn: number, callId: string): string {
	return [session.id, session.createdAt.toString(36), turn, hashText(callId)].join('-');
}

/** Lists the ids of open calls that a person has allowed with just these arguments. */
export function listApprovedCalls(open: readonly OpenCall[]): readonly string[] {
	return open.flatMap(({ call, noted }) => (noted === undefined || noted.state === 'asked' ? [] : [call.id]));
}

/** Returns what people have decided and answered about open calls, by call id. */
export function readOpenCalls(open: readonly OpenCall[]): ReadonlyMap<string, OpenCallState> {
	const states = open.flatMap(({ call, noted }): [string, OpenCallState][] => {
		if (noted === undefined) return [];
		const { state, ranWith: input, question, answer = '', resume, decision } = noted;
		const given = state === 'answered' ? { text: answer, resume: toResume(resume?.value, decision) } : undefined;
		return [[call.id, { isApproved: state !== 'asked', input, question, answer: given }]];
	});
	return new Map(states);
}

/** Returns what a tool has kept with its question, and what was decided about the call of its child. */
function toResume(kept: unknown, decision: Decision | undefined): unknown {
	return decision === undefined || !isRecord(kept) ? kept : { ...kept, decision };
}

/** Shortens a question so that it fits a row, as the end of its run does. */
function shortenQuestion(question: Question): Question {
	if (JSON.stringify(question).length <= longestQuestion) return question;
	return { callId: question.callId, question: question.question.slice(0, 10_000) };
}

/** Turns an id into a key. An id may be any text, even invalid Unicode. */
function toKey(id: string): string {
	return JSON.stringify(id);
}

/** Hashes a tool and its arguments. Nobody can find other arguments with the same hash. */
export async function hashCall(tool: string, input: unknown): Promise<string> {
	const bytes = new TextEncoder().encode(JSON.stringify([tool, input]));
	return toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
}

/** Hashes the tool and the arguments of a call, to compare them with a stored call. */
function hashArguments({ name, input }: ToolCall): string {
	return hashText(JSON.stringify([name, input]));
}

/** How long a call from outside waits for a person, in milliseconds. */
const longestMs = 600_000;

/** The most calls that wait. The oldest is given up for a further one. */
const mostWaiting = 100;

/** A call from outside of a run that waits for a person. */
export interface WaitingCallRecord {
	/** Its name, which nobody can guess. */
	readonly id: string;
	readonly callId: string;
	readonly for: WaitsFor;
	/** A hash of the tool and the arguments. */
	readonly hash: string;
	/** The data that its tool keeps for the answer, as JSON. Missing if the answer is the result. */
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

	/** Returns a call that waits, and removes it. Nothing if it is unknown, answered, or too old. */
	take(id: string, now: number): WaitingCallRecord | undefined {
		type Row = { call: string; waits_for: WaitsFor; hash: string; resume: string | null; created_at: number };
		const [row] = this.#sql.exec<Row>('DELETE FROM waiting_call WHERE id = ? RETURNING *', id).toArray();
		if (row === undefined || row.created_at <= now - longestMs) return undefined;
		return { id, callId: row.call, for: row.waits_for, hash: row.hash, resume: row.resume ?? undefined };
	}
}
