import type { Question } from '../../../core/chat/index.ts';
import { hashText } from '../../../core/ground/hash.ts';
import type { ToolCall } from '../../../core/tool/index.ts';
import type { Sql } from '../../objects/migrate.ts';

/** What the journal says of a call; one that is not in it has not begun. */
export interface CallRecord {
	/** `asked`: put before a person; `allowed` by one; `begun`: it may have been carried out. */
	readonly state: 'asked' | 'allowed' | 'begun';
	/** What it asked the person. */
	readonly question?: Question;
}

/** Characters of a question in a row. */
const longestQuestion = 100_000;

/** The journal of calls, by the place of their turn: what the history does not say. */
export class CallRows {
	readonly #sql: Sql;

	constructor(sql: Sql) {
		this.#sql = sql;
	}

	/** Notes how far a call of a turn has come. */
	note(turn: number, call: ToolCall, state: CallRecord['state'], at: number, question?: Question): void {
		this.#sql.exec(
			`INSERT INTO call (turn, call, state, asked, arguments, question, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (turn, call) DO UPDATE SET
				state = excluded.state, arguments = excluded.arguments, question = excluded.question`,
			...[turn, toKey(call.id), state, state === 'begun' ? 0 : 1, hashArguments(call)],
			...[question === undefined ? null : JSON.stringify(shortenQuestion(question)), at],
		);
	}

	/** What is noted of a call with just these arguments. */
	of(turn: number, call: ToolCall): CallRecord | undefined {
		type Row = { state: CallRecord['state']; arguments: string; question: string | null };
		const [row] = this.#sql
			.exec<Row>('SELECT state, arguments, question FROM call WHERE turn = ? AND call = ?', turn, toKey(call.id))
			.toArray();
		if (row === undefined || row.arguments !== hashArguments(call)) return undefined;
		return { state: row.state, question: row.question === null ? undefined : JSON.parse(row.question) };
	}

	/** The ids of all calls that were ever put before a person. */
	listAskedIds(): ReadonlySet<string> {
		const rows = this.#sql.exec<{ call: string }>('SELECT call FROM call WHERE asked = 1');
		return new Set(rows.toArray().map(({ call }): string => JSON.parse(call)));
	}
}

/** A question that fits a row, as it fits the row of its run's end. */
function shortenQuestion(question: Question): Question {
	if (JSON.stringify(question).length <= longestQuestion) return question;
	return { callId: question.callId, question: question.question.slice(0, 10_000) };
}

/** An id as a key: any text, also one that is no Unicode. */
function toKey(id: string): string {
	return JSON.stringify(id);
}

/** What a person allowed, or a run began, beside the call's id: the tool and the arguments. */
function hashArguments({ name, input }: ToolCall): string {
	return hashText(JSON.stringify([name, input]));
}
