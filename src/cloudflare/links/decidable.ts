import type { ToolCall } from '../../core/tool/index.ts';
import { findAskedCall } from '../agent/child-decision.ts';
import type { Pending } from '../session/store/calls.ts';

/** A call that a link can decide about. */
export interface Decidable extends ToolCall {
	/** The waiting call of this session: the same call, or that of the child. */
	readonly waiting: string;
	/** The child of the call, and the agents in between. */
	readonly child?: { readonly agent: string; readonly through: readonly string[] };
}

/** Lists the calls that wait for an approval, also of a child. */
export function listDecidable({ calls = [], question }: Pending): readonly Decidable[] {
	const own = calls.filter(({ kind }) => kind === 'approval');
	const listed = own.map(({ id, name, input }) => ({ waiting: id, id, name, input }));
	const asked = findAskedCall(question);
	if (question === undefined || asked === undefined) return listed;
	const { agent, through, call } = asked;
	return [...listed, { waiting: question.callId, child: { agent, through }, ...call }];
}
