import type { Asked } from '../../../core/chat/call-answers.ts';
import type { Question } from '../../../core/chat/index.ts';
import { listOpenCalls } from '../../../core/chat/message.ts';
import { hashText } from '../../../core/ground/hash.ts';
import type { ToolCall } from '../../../core/tool/index.ts';
import type { Sql } from '../../objects/migrate.ts';
import { findLastReply, type MessageRows } from './messages.ts';
import { type RunRows, restoreText } from './runs.ts';

/** How far a call has come. A call without a record has not begun. */
export interface CallRecord {
	/** `asked`: a person has to decide. `allowed`: a person has. `begun`: it may have been carried out. */
	readonly state: 'asked' | 'allowed' | 'begun';
	/** The question that its tool asked the person. */
	readonly question?: Question;
}

/** The most characters of a question in a row. */
const longestQuestion = 100_000;

/** How far the calls of each turn have come, which the history does not say. */
export class CallRows {
	readonly #sql: Sql;

	constructor(sql: Sql) {
		this.#sql = sql;
	}

	/** Stores how far a call of a turn has come. */
	note(turn: number, call: ToolCall, state: CallRecord['state'], at: number, question?: Question): void {
		this.#sql.exec(
			`INSERT INTO call (turn, call, state, asked, arguments, question, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (turn, call) DO UPDATE SET
				state = excluded.state, arguments = excluded.arguments, question = excluded.question`,
			...[turn, toKey(call.id), state, state === 'begun' ? 0 : 1, hashArguments(call)],
			...[question === undefined ? null : JSON.stringify(shortenQuestion(question)), at],
		);
	}

	/** Returns the record of a call, if it has just these arguments. */
	find(turn: number, call: ToolCall): CallRecord | undefined {
		type Row = { state: CallRecord['state']; arguments: string; question: string | null };
		const [row] = this.#sql
			.exec<Row>('SELECT state, arguments, question FROM call WHERE turn = ? AND call = ?', turn, toKey(call.id))
			.toArray();
		if (row === undefined || row.arguments !== hashArguments(call)) return undefined;
		return { state: row.state, question: row.question === null ? undefined : JSON.parse(row.question) };
	}

	/** Lists the ids of all calls that a person was ever asked about. */
	listAskedIds(): ReadonlySet<string> {
		const rows = this.#sql.exec<{ call: string }>('SELECT call FROM call WHERE asked = 1');
		return new Set(rows.toArray().map(({ call }): string => JSON.parse(call)));
	}
}

/** What a session waits for: calls, or the answer to a question. */
export interface Pending extends Asked {
	readonly question: Question | undefined;
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
	const allowed = new Set(listApprovedCalls(store));
	const calls = asked.toolCalls?.filter(({ id, kind }) => open.has(id) && !(kind === 'approval' && allowed.has(id)));
	return { turn, question: asked.question, calls, askedAt: run.endedAt ?? 0 };
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

/** Lists the ids of open calls that a person has allowed with just these arguments. */
export function listApprovedCalls(store: Rows): readonly string[] {
	return findOpenCalls(store).flatMap(({ call, noted }) =>
		noted === undefined || noted.state === 'asked' ? [] : [call.id],
	);
}

/** Lists the questions that open calls have asked. */
export function listQuestions(store: Rows): readonly Question[] {
	return findOpenCalls(store).flatMap(({ noted }) => noted?.question ?? []);
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

/** Hashes what a person allowed or a run began: the tool and the arguments. */
function hashArguments({ name, input }: ToolCall): string {
	return hashText(JSON.stringify([name, input]));
}
