import * as v from 'valibot';
import type { ToolCall } from '../../core/tool/index.ts';
import { asksForApproval } from '../agent/children.ts';
import type { Pending } from '../session/store/calls.ts';
import { toolCall } from '../wire/call.ts';

/** A call that a link can decide about. */
export interface Decidable extends ToolCall {
	/** The call of this session that waits: the same one, or the one that a child works for. */
	readonly waiting: string;
	/** The child whose call it is. */
	readonly child?: { readonly agent: string };
}

const ofChild = v.object({ child: v.object({ agent: v.string() }), call: toolCall });

/** Lists the calls that wait for an approval: the session's own, and that of a child. */
export function listDecidable({ calls = [], question }: Pending): readonly Decidable[] {
	const own = calls.filter(({ kind }) => kind === 'approval');
	const listed = own.map(({ id, name, input }) => ({ waiting: id, id, name, input }));
	const asked = asksForApproval(question) ? v.safeParse(ofChild, question?.options) : undefined;
	if (question === undefined || asked?.success !== true) return listed;
	const { child, call } = asked.output;
	return [...listed, { waiting: question.callId, child, ...call }];
}
